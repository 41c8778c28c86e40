#!/bin/bash
# Scans with `--engine spark` on a real cluster: each has the digest of the native engine, also when a worker dies in the middle; damage in
# the exchange is refused by name; a cancelled scan leaves nothing. The workers join; with JOIN=coordinator, they only group.
#
#   COGNATE=target/release/cognate SPARK_PROGRAM=coordinator/spark/target/release/cognate-spark PYTHON=venv/bin/python \
#       integration-tests/spark/check.sh [FOLDER-A FOLDER-B]
#
# The two folders are compared with a mean of 100 bytes; without them, samples/ are. Skips, and says so, where Java or pyspark is missing.
# Sail is tested as well where `pysail` is installed with pyspark, and an object store where `moto` is: Sail reads S3 by itself, Spark needs
# `hadoop-aws`, which PyPI does not have. Takes some minutes; WORK is its folder, /tmp by default.
set -eu

cd "$(dirname "$0")/../.."
HUB_PORT=${HUB_PORT:-17443}
# Shorter than any statement of a pass takes, so that the answers to each come in several streams.
STREAM_SECONDS=1
passed=0
# shellcheck source=cluster.sh
. integration-tests/spark/cluster.sh
# shellcheck source=federation.sh
. integration-tests/spark/federation.sh

absent=$(missing)
[ -z "$absent" ] || {
    echo "spark: skipped: $absent"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

BUCKET=cognate-exchange
STORE_PORT=${STORE_PORT:-15061}
work=$(mktemp -d "${WORK:-/tmp}/cognate-spark.XXXXXX")
finish() {
    stop_federation
    [ -n "${KEEP:-}" ] || rm -rf "$work"
}
trap finish EXIT

fail() {
    echo "spark: FAILED: $1" >&2
    echo "$passed passed, 1 failed"
    exit 1
}
pass() {
    passed=$((passed + 1))
    echo "spark: ok: $1"
}

# Documents with three common headers, of 2,000, 8,000 and 20,000 of them, and some near copies.
make_hubs() {
    "$PYTHON" - "$1" << 'END'
import os, random, sys
random.seed(18)
text = lambda size: random.randbytes(size // 2).hex().encode()
for site, first, count in (("a", 0, 15000), ("b", 15000, 15000)):
    os.makedirs(f"{sys.argv[1]}/{site}")
headers = [(text(3000), share) for share in (2000, 8000, 20000)]
for number in range(30000):
    header = headers[0 if number % 15 == 0 else 1 if number % 15 in (1, 2, 3, 4) else 2][0]
    body = old if number % 25 == 1 else text(5000)
    old = body
    with open(f"{sys.argv[1]}/{'ab'[number % 2]}/{number:05}.txt", "wb") as file:
        file.write(header + body + (b"." * (number % 7)))
END
}

# Runs a scan to its end; prints its digest.
scan() {
    "$COGNATE" scan launch --yes --wait --format json -o "$work/report.json" "$@" > "$work/launch.log" 2>&1 || return 1
    field digest
}

# The processes that do the work of the cluster.
executors() {
    pgrep -f "CoarseGrainedExecutorBackend.*127.0.0.1" -s "$(cat "$CLUSTER/worker1.pid"),$(cat "$CLUSTER/worker2.pid")"
}

# Waits until the cluster was asked to group.
wait_until_asked() {
    for _ in $(seq 1500); do
        if grep -qs "^attempt" "$work"/hub/spark/*/stages; then return 0; fi
        sleep 0.1
    done
    fail "the cluster was not asked: $(cat "$work/launch.log")"
}

is_clean() {
    [ -z "$(ls -A "$work/exchange")" ] && [ -z "$(ls -A "$work/hub/spark" 2> /dev/null)" ]
}

mkdir "$work/trees"
if [ $# = 2 ]; then
    ln -s "$(realpath "$1")" "$work/trees/a"
    ln -s "$(realpath "$2")" "$work/trees/b"
else
    ln -s "$PWD/samples/paris" "$work/trees/a"
    ln -s "$PWD/samples/tokyo" "$work/trees/b"
fi
make_hubs "$work/hubs"
# What the coordinator and the engines need to reach a store, in its own tools' words.
export AWS_ACCESS_KEY_ID=cognate AWS_SECRET_ACCESS_KEY=cognate AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
export AWS_ENDPOINT=http://127.0.0.1:$STORE_PORT AWS_ENDPOINT_URL=http://127.0.0.1:$STORE_PORT
start_cluster "$work/cluster"
make_coordinator "${BUDGET:-512MiB}" << END
servers = ["sc://127.0.0.1:$SPARK_PORT", "sc://127.0.0.1:15059", "sc://127.0.0.1:1", "sc://127.0.0.1:$SPARK_PORT/;x-cluster=one"]
exchanges = ["file://$work/exchange", "s3://$BUCKET/x"]
join = "${JOIN:-auto}"
END
start_coordinator
for site in a b; do start_site "$site" "tree=$work/trees/$site" "hubs=$work/hubs/$site"; done

tree="--repositories a/tree,b/tree --view raw --chunk-bytes 100"
hubs="--repositories a/hubs,b/hubs --view raw --chunk-bytes 500"

for name in tree hubs; do
    options=${!name}
    begun=$(date +%s.%N)
    # shellcheck disable=SC2086
    native=$(scan $options) || fail "$name: the native scan: $(cat "$work/launch.log")"
    between=$(date +%s.%N)
    # shellcheck disable=SC2086
    spark=$(scan $options --no-sync --engine spark) || fail "$name: the scan on Spark: $(cat "$work/launch.log")"
    ended=$(date +%s.%N)
    [ "$native" = "$spark" ] || fail "$name: the digest is $spark on Spark, $native natively"
    is_clean || fail "$name: files are left in the exchange"
    pass "$name: the same digest, $native ($("$PYTHON" -c "print(f'{$between - $begun:.1f} s with the sync, {$ended - $between:.1f} s on Spark')"))"
    declare "native_$name=$native"
done
place=workers
[ "${JOIN:-auto}" = coordinator ] && place=coordinator
grep -q "where the engine joins.*$place" "$work/coordinator.log" || fail "the engine did not join at the $place"
pass "the engine joins at the $place"

# A worker and its executor are killed while one of its tasks runs: where the workers join, while its program is there.
# shellcheck disable=SC2086,SC2154
{
    "$COGNATE" scan launch --yes --wait $tree --no-sync --engine spark > "$work/launch.log" 2>&1 &
    launched=$!
    if [ $place = workers ]; then
        until pgrep -s "$(cat "$CLUSTER/worker2.pid")" -f "cognate-spark.* work " > /dev/null; do
            kill -0 $launched 2> /dev/null || fail "no program ran on the second worker: $(cat "$work/launch.log")"
            sleep 0.02
        done
    else
        wait_until_asked
        sleep 1
    fi
    kill -9 -- "-$(cat "$CLUSTER/worker2.pid")"
    wait $launched || fail "after a worker was killed: $(cat "$work/launch.log")"
    [ "$(field digest)" = "$native_tree" ] || fail "the digest differs after a worker was killed"
    lost=$(grep -cE "Lost task .*ExecutorLostFailure|while it was being computed, its executor exited" "$CLUSTER/server.log" || true)
    [ $place = coordinator ] || [ "$lost" -gt 0 ] || fail "no task was lost with the worker"
    pass "a worker is killed in the middle, with $lost of its tasks: the same digest"
    start_worker 2
    until [ "$(executors | wc -l)" = 2 ]; do sleep 0.2; done
}

# One bit of the exchange is changed before the cluster reads it.
# shellcheck disable=SC2086
{
    kill -STOP $(executors)
    "$COGNATE" scan launch --yes --wait $tree --no-sync --engine spark > "$work/launch.log" 2>&1 &
    launched=$!
    wait_until_asked
    part=$(ls "$work"/exchange/*/{blocks,postings}/*.parquet 2> /dev/null | head -1)
    "$PYTHON" -c "
import sys
with open(sys.argv[1], 'r+b') as file:
    file.seek(5000); byte = file.read(1)[0]; file.seek(5000); file.write(bytes([byte ^ 4]))" "$part"
    kill -CONT $(executors)
    if wait $launched; then fail "a damaged exchange was not noticed"; fi
    grep -q "the exchange is damaged: .*$(basename "$part")" "$work/launch.log" || fail "the damage is not named: $(cat "$work/launch.log")"
    pass "one bit: $(grep -o "the exchange is damaged.*" "$work/launch.log" | head -1 | sed "s|$work||")"
    again=$(scan $tree --no-sync --engine spark) || fail "after the damage: $(cat "$work/launch.log")"
    [ "$again" = "$native_tree" ] || fail "the digest differs after the damage"
    is_clean || fail "files are left after the damage"
    pass "launched again, it continues with the parts that are whole: the same digest"
}

# A table that a pass on the workers left is changed before the passes after it are done: one of them reads it again.
# shellcheck disable=SC2086
[ $place = coordinator ] || {
    "$COGNATE" scan launch --yes --wait $tree --no-sync --engine spark > "$work/launch.log" 2>&1 &
    launched=$!
    until grep -qs "^pass tags" "$work"/hub/spark/*/stages; do sleep 0.02; done
    kill -STOP $(executors)
    "$PYTHON" - "$work"/exchange/*/tags-*/kind=5/*.parquet << 'END'
import sys
for name in sys.argv[1:]:
    with open(name, "r+b") as file:
        file.seek(0, 2); middle = file.tell() // 2
        file.seek(middle); byte = file.read(1)[0]; file.seek(middle); file.write(bytes([byte ^ 4]))
END
    kill -CONT $(executors)
    if wait $launched; then fail "damage of what a pass left was not noticed"; fi
    grep -q "/tags-[0-9]*/" "$work/launch.log" || fail "the damage is not named: $(cat "$work/launch.log")"
    pass "one bit of what a pass left: $(tail -1 "$work/launch.log" | sed "s|$work||g" | cut -c1-200)"
    again=$(scan $tree --no-sync --engine spark) || fail "after that damage: $(cat "$work/launch.log")"
    [ "$again" = "$native_tree" ] || fail "the digest differs after that damage"
    is_clean || fail "files are left after that damage"
    pass "launched again, the pass is made again: the same digest"
}

# Parameters of an address go to the server as headers.
# shellcheck disable=SC2086
{
    again=$(scan $tree --no-sync --engine spark --spark "sc://127.0.0.1:$SPARK_PORT/;x-cluster=one") || fail "with a header: $(cat "$work/launch.log")"
    [ "$again" = "$native_tree" ] || fail "the digest differs with a header"
    pass "an address with a header: the same digest"
}

# A scan is cancelled while the cluster works.
# shellcheck disable=SC2086
{
    kill -STOP $(executors)
    "$COGNATE" scan launch --yes --wait $tree --no-sync --engine spark > "$work/launch.log" 2>&1 &
    launched=$!
    wait_until_asked
    "$COGNATE" scan show latest > "$work/show.log"
    "$COGNATE" scan cancel latest > /dev/null
    kill -CONT $(executors)
    wait $launched && fail "a cancelled scan has a result"
    is_clean || fail "a cancelled scan leaves files"
    pass "cancelled while the cluster works: nothing is left"
}

# Places that are wrong, or not allowed.
# shellcheck disable=SC2086
for case in \
    "--spark sc://10.9.8.7:15002|is not in .spark.servers." \
    "--exchange file:///etc|is not below one of .spark.exchanges." \
    "--spark sc://127.0.0.1:1|the server .sc://127.0.0.1:1. is not reached"; do
    if "$COGNATE" scan launch --yes --wait $tree --no-sync --engine spark ${case%%|*} > "$work/launch.log" 2>&1; then
        fail "${case%%|*} was taken"
    fi
    grep -q "${case#*|}" "$work/launch.log" || fail "${case%%|*}: $(cat "$work/launch.log")"
    pass "${case%%|*} is refused: $(grep -o "[^:]*${case#*|}.*" "$work/launch.log" | head -1)"
done
rm -rf "$work"/hub/spark/*

# Sail speaks Spark Connect as well.
if [ -x "$(dirname "$PYTHON")/sail" ]; then
    start sail "$(realpath "$(dirname "$PYTHON")")/sail" spark server --ip 127.0.0.1 --port 15059
    wait_for_port 15059
    # shellcheck disable=SC2086
    for name in tree hubs; do
        native=native_$name
        sail=$(scan ${!name} --no-sync --engine spark --spark sc://127.0.0.1:15059) || fail "$name on Sail: $(cat "$work/launch.log")"
        [ "$sail" = "${!native}" ] || fail "$name: the digest is $sail on Sail, ${!native} natively"
        pass "$name: the same digest on Sail"
    done
    # shellcheck source=store.sh
    . integration-tests/spark/store.sh
else
    echo "spark: skipped: Sail, which is not installed"
fi
echo "$passed passed, 0 failed"
