#!/bin/bash
# The check of scans on Spark as a tier of its own, apart from `.ci/run`: it builds both programs, installs pyspark and Sail in a folder of
# its own, and runs `check.sh`. Without Java, Python or `protoc` it says what was not checked, and fails only where CI=true.
#
#   integration-tests/spark/ci.sh [FOLDER-A FOLDER-B]
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_INCREMENTAL=0
spark=${SPARK_ENV:-${TMPDIR:-/tmp}/cognate-spark-env}

not_checked() {
    echo "NOT CHECKED: scans on Spark: $1" >&2
    echo "0 passed, 0 failed, 1 skipped"
    [ "${CI:-false}" != true ] && exit 0
    exit 1
}
for program in java protoc python3; do
    command -v "$program" > /dev/null || not_checked "there is no $program (Debian: openjdk-17-jre-headless, protobuf-compiler, python3-venv)"
done
[ -x "$spark/bin/python" ] || python3 -m venv "$spark"
"$spark/bin/pip" install --quiet 'pyspark[connect]==4.0.1' 'pysail==0.7.2' 'moto[server]==5.2.5' || not_checked "pyspark cannot be installed"

manifest=coordinator/spark/Cargo.toml
cargo fmt --manifest-path $manifest --check
cargo clippy --manifest-path $manifest --all-targets -- -D warnings
cargo test --manifest-path $manifest
cargo build --release --manifest-path $manifest
cargo build --release
COGNATE=${CARGO_TARGET_DIR:-target}/release/cognate SPARK_PROGRAM=${CARGO_TARGET_DIR:-coordinator/spark/target}/release/cognate-spark \
    PYTHON=$spark/bin/python integration-tests/spark/check.sh "$@"
