#!/bin/bash
# The exchange in an object store: an S3-compatible server on loopback, which Sail reads by itself. Sourced by `check.sh`.
#
# A scan with the exchange there has the native digest and leaves nothing; one changed bit is refused by name; a bucket that is not there, and
# credentials that the store does not know, are errors that name the address.

objects() {
    "$PYTHON" - "$BUCKET" "$@" << 'END'
import sys, boto3
bucket, action = sys.argv[1:3]
s3 = boto3.client("s3")
if action == "make":
    s3.create_bucket(Bucket=bucket)
keys = [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
if action == "list":
    print("\n".join(keys))
if action == "damage":
    key = next(key for key in sorted(keys) if "/postings/" in key)
    content = bytearray(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    content[5000] ^= 4
    s3.put_object(Bucket=bucket, Key=key, Body=bytes(content))
    print(key)
END
}

if [ -x "$(dirname "$PYTHON")/moto_server" ]; then
    start store "$(realpath "$(dirname "$PYTHON")")/moto_server" -H 127.0.0.1 -p "$STORE_PORT"
    wait_for_port "$STORE_PORT"
    sail_scan="$tree --no-sync --engine spark --spark sc://127.0.0.1:15059 --exchange s3://$BUCKET/x"
    # shellcheck disable=SC2086
    {
        if scan $sail_scan > /dev/null; then fail "a bucket that is not there was used"; fi
        grep -q "s3://$BUCKET/x.*" "$work/launch.log" || fail "the bucket is not named: $(cat "$work/launch.log")"
        pass "no bucket: $(grep -o "\`s3://[^\`]*\`[^:]*" "$work/launch.log" | head -1)"
        objects make
        found=$(scan $sail_scan) || fail "in a store: $(cat "$work/launch.log")"
        [ "$found" = "$native_tree" ] || fail "the digest is $found in a store, $native_tree natively"
        [ -z "$(objects list)" ] || fail "objects are left: $(objects list)"
        pass "an exchange in a store (S3): the same digest, and nothing is left"

        # Sail is stopped between the export and its reading; if it was too fast, once more.
        for _ in 1 2 3 4 5; do
            "$COGNATE" scan launch --yes --wait $sail_scan > "$work/launch.log" 2>&1 &
            launched=$!
            until grep -qs "^exported" "$work"/hub/spark/*/stages; do sleep 0.01; done
            kill -STOP "$(cat "$CLUSTER/sail.pid")"
            part=$(objects damage)
            kill -CONT "$(cat "$CLUSTER/sail.pid")"
            if wait $launched; then continue; fi
            grep -q "the exchange is damaged: .*$(basename "$part")" "$work/launch.log" || fail "the damage is not named: $(cat "$work/launch.log")"
            pass "one bit in a store: $(grep -o "the exchange is damaged[^:]*:[^:]*:[^:]*" "$work/launch.log" | head -1)"
            found=$(scan $sail_scan) || fail "after damage in a store: $(cat "$work/launch.log")"
            [ "$found" = "$native_tree" ] || fail "the digest differs after damage in a store"
            [ -z "$(objects list)" ] || fail "objects are left after damage"
            pass "launched again, that part is made again: the same digest"
            part=
            break
        done
        [ -z "$part" ] || fail "damage in a store was never in time"

        # The store asks who calls from here on, and knows nobody.
        "$PYTHON" -c "import urllib.request; urllib.request.urlopen(urllib.request.Request('$AWS_ENDPOINT/moto-api/reset-auth', data=b'0', headers={'Content-Type': 'text/plain'}, method='POST'))"
        if scan $sail_scan > /dev/null; then fail "a store that knows nobody was used"; fi
        grep -q "s3://$BUCKET/x" "$work/launch.log" || fail "the store is not named: $(cat "$work/launch.log")"
        pass "wrong credentials: $(tail -1 "$work/launch.log" | cut -c1-240)"
        rm -rf "$work"/hub/spark/*
    }
else
    echo "spark: skipped: an object store: moto is not installed (pip install 'moto[server]')"
fi
