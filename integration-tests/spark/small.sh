#!/bin/bash
# A coordinator with 512 MiB of memory and a small disk: natively, a scan of 10 million chunks waits for room; with the join on the workers of a
# Spark cluster it completes, and once there is room, the native scan has the same digest.
#
#   COGNATE=target/release/cognate SPARK_PROGRAM=coordinator/spark/target/release/cognate-spark PYTHON=venv/bin/python \
#       integration-tests/spark/small.sh
#
# Mounts a file system in memory for the scans and one for the jobs, and makes a control group, so that it needs root on Linux. DOCUMENTS (30,000 of
# 32 kB each), ROOM (bytes for scans, 100 MB) and WORK (a folder with room for three times the documents) are its sizes.
set -eu

cd "$(dirname "$0")/../.."
HUB_PORT=${HUB_PORT:-17643}
# shellcheck source=cluster.sh
. integration-tests/spark/cluster.sh
# shellcheck source=federation.sh
. integration-tests/spark/federation.sh
DOCUMENTS=${DOCUMENTS:-30000}
ROOM=${ROOM:-100000000}
MEMORY=$((512 << 20))

not_checked() {
    echo "NOT CHECKED: a small coordinator with Spark: $1" >&2
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
fail() {
    echo "spark: FAILED: $1" >&2
    echo "0 passed, 1 failed"
    exit 1
}
absent=$(missing)
[ -z "$absent" ] || not_checked "$absent"

work=$(mktemp -d "${WORK:-/tmp}/cognate-spark-small.XXXXXX")
group=
finish() {
    stop_federation
    umount --lazy "$work/hub/scans" "$work/hub/spark" 2> /dev/null || true
    [ -z "$group" ] || rmdir "$group" 2> /dev/null || true
    [ -n "${KEEP:-}" ] || rm -rf "$work"
}
trap finish EXIT

# A control group with so much memory: of version 2, or of version 1.
make_group() {
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        group=/sys/fs/cgroup/cognate-small-$$
        limit=$group/memory.max
    else
        group=/sys/fs/cgroup/memory/cognate-small-$$
        limit=$group/memory.limit_in_bytes
    fi
    mkdir "$group" && echo "$MEMORY" > "$limit"
}
make_group 2> /dev/null || { group= && not_checked "no control group can be made"; }
mkdir -p "$work/hub/scans" "$work/hub/spark"
chmod 700 "$work/hub"

# Documents of which each second one is a copy of the one before it, at the other site, with a tenth of its lines replaced.
"$PYTHON" - "$work/trees" "$DOCUMENTS" << 'END'
import os, random, sys
random.seed(512)
folder, documents = sys.argv[1], int(sys.argv[2])
for site in "ab":
    os.makedirs(f"{folder}/{site}")
lines = []
for number in range(documents):
    if number % 2 == 0:
        text = random.randbytes(16000).hex()
        lines = [text[at:at + 80] for at in range(0, len(text), 80)]
    else:
        for at in random.sample(range(len(lines)), len(lines) // 10):
            lines[at] = random.randbytes(40).hex()
    with open(f"{folder}/{'ab'[number % 2]}/{number:06}.txt", "w") as file:
        file.write("\n".join(lines))
END

start_cluster "$work/cluster"
make_coordinator 64MiB << END
servers = ["sc://127.0.0.1:$SPARK_PORT"]
exchanges = ["file://$work/exchange"]
join = "workers"
END
mount -t tmpfs -o "size=$ROOM,mode=700" tmpfs "$work/hub/scans" 2> /dev/null || not_checked "no file system can be mounted"
mount -t tmpfs -o "size=$ROOM,mode=700" tmpfs "$work/hub/spark"
start_coordinator "$group"
for site in a b; do start_site "$site" "tree=$work/trees/$site"; done

# Seconds of processor time of the coordinator and of the programs that it has waited for.
processor() {
    awk -v hertz="$(getconf CLK_TCK)" '{print ($14 + $15 + $16 + $17) / hertz}' "/proc/$coordinator/stat"
}
# Whole chunks alone: what follows, pair by pair at the sites, is the same with either engine, and takes the longer part of the time.
options="--repositories a/tree,b/tree --view raw --chunk-bytes 100 --precision coarse"

# shellcheck disable=SC2086
{
    "$COGNATE" scan launch --yes --wait $options > "$work/native.log" 2>&1 &
    launched=$!
    until [ -n "$(field waiting 2> /dev/null)" ]; do
        kill -0 $launched 2> /dev/null || fail "natively, the scan did not wait for room: $(cat "$work/native.log")"
        sleep 0.5
    done
    echo "spark: natively: $(field waiting | sed "s|$work||g")"
    "$COGNATE" scan cancel latest > /dev/null
    wait $launched || true

    before=$(processor)
    begun=$(date +%s)
    "$COGNATE" scan launch --yes --wait $options --no-sync --engine spark > "$work/spark.log" 2>&1 &
    launched=$!
    scans=0
    jobs=0
    while kill -0 $launched 2> /dev/null; do
        now=$(du -sb "$work/hub/scans" | cut -f1)
        [ "$now" -gt "$scans" ] && scans=$now
        now=$(du -sb "$work/hub/spark" | cut -f1)
        [ "$now" -gt "$jobs" ] && jobs=$now
        sleep 0.2
    done
    wait $launched || fail "the scan on Spark: $(cat "$work/spark.log")"
    spark=$(field digest)
    echo "spark: on Spark: $(($(date +%s) - begun)) s, $("$PYTHON" -c "print(round($(processor) - $before, 1))") s of the coordinator's processor," \
        "$((scans / 1000000)) MB of scans and $((jobs / 1000000)) MB of jobs at most, $(grep VmHWM "/proc/$coordinator/status" | tr -s '\t ' ' ') of $((MEMORY >> 20)) MiB"

    # What is in a file system in memory counts as memory of the group.
    echo $((MEMORY + 20 * ROOM)) > "$limit"
    mount -o "remount,size=$((20 * ROOM))" "$work/hub/scans"
    "$COGNATE" scan launch --yes --wait $options --no-sync > "$work/native.log" 2>&1 || fail "natively, with room: $(cat "$work/native.log")"
    [ "$(field digest)" = "$spark" ] || fail "the digest is $spark on Spark, $(field digest) natively"
    echo "spark: natively, with room: $(grep '"message":"compared"' "$work/coordinator.log" | grep -o '"spilled_bytes":[0-9]*' | tail -1 | cut -d: -f2) bytes of spill"
}
echo "spark: ok: a small coordinator completes on Spark what waits for room natively: the same digest, $spark"
echo "1 passed, 0 failed"
