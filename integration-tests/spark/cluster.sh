#!/bin/bash
# A Spark cluster on loopback, to try scans with `--engine spark` and to test them: a standalone master, two workers of one core each, and
# a Spark Connect server. Sourced by `check.sh`; alone it starts the cluster and waits:
#
#   PYTHON=/path/to/venv/bin/python integration-tests/spark/cluster.sh FOLDER
#
# The environment needs Java 17 and `pip install 'pyspark[connect]==4.0.1'`; SPARK_PORT is that of the server, 15002.
# STREAM_SECONDS is the time after which the server ends a stream of answers, and the client has to ask for the rest.
set -eu

SPARK_PORT=${SPARK_PORT:-15002}
MASTER_PORT=${MASTER_PORT:-17077}
EXECUTOR_MEMORY=${EXECUTOR_MEMORY:-2g}
STREAM_SECONDS=${STREAM_SECONDS:-120}

# Starts one program of the cluster in the background; its id goes to FOLDER/NAME.pid.
start() {
    local name=$1
    shift
    (cd "$CLUSTER" && exec setsid "$@" > "$CLUSTER/$name.log" 2>&1) &
    echo $! > "$CLUSTER/$name.pid"
}

# Waits until a port of loopback accepts connections.
wait_for_port() {
    for _ in $(seq 600); do
        if (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; then return 0; fi
        sleep 0.2
    done
    echo "nothing listens on port $1: see $CLUSTER/*.log" >&2
    return 1
}

start_worker() {
    SPARK_LOCAL_DIRS=$CLUSTER/local SPARK_WORKER_DIR=$CLUSTER/worker$1 start "worker$1" "$SPARK_HOME/bin/spark-class" \
        org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --webui-port 0 --cores 1 --memory 3g "spark://127.0.0.1:$MASTER_PORT"
}

start_server() {
    start server "$SPARK_HOME/bin/spark-submit" --master "spark://127.0.0.1:$MASTER_PORT" \
        --class org.apache.spark.sql.connect.service.SparkConnectServer --name cognate \
        --conf spark.connect.grpc.binding.address=127.0.0.1 --conf "spark.connect.grpc.binding.port=$SPARK_PORT" \
        --conf "spark.connect.execute.reattachable.senderMaxStreamDuration=${STREAM_SECONDS}s" \
        --conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1 --conf spark.driver.memory=1g \
        --conf "spark.executor.memory=$EXECUTOR_MEMORY" --conf spark.executor.cores=1 --conf spark.ui.enabled=false \
        --conf "spark.local.dir=$CLUSTER/local" --conf "spark.sql.warehouse.dir=$CLUSTER/warehouse" spark-internal
    wait_for_port "$SPARK_PORT"
}

start_cluster() {
    CLUSTER=$1
    mkdir -p "$CLUSTER/local"
    SPARK_HOME=$("$PYTHON" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
    export SPARK_HOME SPARK_LOCAL_IP=127.0.0.1
    start master "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.master.Master \
        --host 127.0.0.1 --port "$MASTER_PORT" --webui-port 0
    wait_for_port "$MASTER_PORT"
    start_worker 1
    start_worker 2
    start_server
}

# Ends every program that was started, with those that it started: each has a session of its own.
stop_cluster() {
    local file
    for file in "${CLUSTER:-}"/*.pid; do
        [ -e "$file" ] || continue
        kill -9 -- "-$(cat "$file")" 2> /dev/null || true
    done
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    PYTHON=${PYTHON:-python3}
    start_cluster "$(realpath "$1")"
    trap stop_cluster EXIT
    echo "sc://127.0.0.1:$SPARK_PORT"
    wait
fi
