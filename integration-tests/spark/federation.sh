#!/bin/bash
# A federation of two sites on loopback whose coordinator may use a Spark cluster. Sourced by `check.sh` and `small.sh`, which set `work`, the
# folder for everything, and HUB_PORT; the coordinator takes that port and the one after it.

PYTHON=${PYTHON:-python3}
COGNATE=$(realpath "${COGNATE:-target/release/cognate}")
SPARK_PROGRAM=$(realpath -m "${SPARK_PROGRAM:-coordinator/spark/target/release/cognate-spark}")
# Everything that is to be ended with the script.
pids=()

# Says why the cluster cannot be had, if it cannot.
missing() {
    if ! command -v java > /dev/null; then
        echo "there is no Java (17 or newer)"
    elif ! "$PYTHON" -c 'import pyspark.sql.connect, grpc' 2> /dev/null; then
        echo "there is no pyspark: pip install 'pyspark[connect]==4.0.1'"
    elif ! [ -x "$SPARK_PROGRAM" ]; then
        echo "there is no $SPARK_PROGRAM: cargo build --release --manifest-path coordinator/spark/Cargo.toml"
    fi
}

# Ends the federation and the cluster, without the words of the shell about each process.
stop_federation() {
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2> /dev/null || true
    stop_cluster
    wait 2> /dev/null
}

# Waits until a daemon is healthy; the process must live until then.
wait_until_healthy() {
    local kind=$1 name=$2 process=$3
    until "$COGNATE" "$kind" health --config "$work/$name.toml" > /dev/null 2>&1; do
        kill -0 "$process" 2> /dev/null || fail "the $kind does not run: $(cat "$work/$name.log")"
        sleep 0.2
    done
}

# Makes the coordinator with this budget of memory; the rows below `[spark]` come on standard input, apart from `program`.
make_coordinator() {
    mkdir -p "$work/exchange"
    cat > "$work/coordinator.toml" << END
state_dir = "$work/hub"
listen = "127.0.0.1:$HUB_PORT"
http_listen = "127.0.0.1:$((HUB_PORT + 1))"
names = ["127.0.0.1"]
memory_budget = "$1"
[spark]
program = "$SPARK_PROGRAM"
$(cat)
END
    "$COGNATE" coordinator init --config "$work/coordinator.toml" > /dev/null
    export COGNATE_OPERATOR=$work/hub/operator.toml
}

# Starts the coordinator, in a control group if there is one: `coordinator` is its process.
start_coordinator() {
    (
        [ -z "${1:-}" ] || echo "$BASHPID" > "$1/cgroup.procs"
        exec "$COGNATE" coordinator run --config "$work/coordinator.toml" --log-level info 2> "$work/coordinator.log"
    ) &
    coordinator=$!
    pids+=("$coordinator")
    wait_until_healthy coordinator coordinator "$coordinator"
}

# Starts the worker of a site: a name, and NAME=FOLDER for each repository.
start_site() {
    local site=$1 repository
    shift
    {
        echo "state_dir = \"$work/site-$site\""
        echo "one_party = true"
        for repository in "$@"; do
            printf '[[repository]]\nname = "%s"\npath = "%s"\n' "${repository%%=*}" "$(realpath "${repository#*=}")"
        done
    } > "$work/$site.toml"
    "$COGNATE" site invite "$site" | "$COGNATE" worker enroll - --config "$work/$site.toml" > /dev/null
    "$COGNATE" worker run --config "$work/$site.toml" 2> "$work/$site.log" &
    pids+=($!)
    wait_until_healthy worker "$site" $!
}

# A field of the newest scan.
field() {
    "$COGNATE" scan show latest --format json | "$PYTHON" -c "import json, sys; print(json.load(sys.stdin).get('$1') or '')"
}
