#!/bin/bash
# The figures of docs/scale.md: generated postings are joined natively, on the workers of a Spark cluster on loopback, and in SQL by DuckDB;
# time and processor time are printed by stage. Fails if the three do not find the same links.
#
#   cargo build --release -p cognate-similarity --example make_postings
#   cargo build --release --manifest-path coordinator/spark/Cargo.toml --bins --examples
#   PYTHON=venv/bin/python integration-tests/spark/figures.sh [DOCUMENTS ...]
#
# A document has 100 chunks; DOCUMENTS are 100,000, 500,000 and 1,000,000 unless given. The cluster joins the first number once before anything
# is measured, since Java is slow at first. Needs `pip install 'pyspark[connect]==4.0.1' duckdb` and, in WORK (/tmp by default), 300 bytes of
# disk for each posting of the largest number.
set -eu

cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-python3}
target=${CARGO_TARGET_DIR:-target}/release
spark=${CARGO_TARGET_DIR:-coordinator/spark/target}/release
work=$(mktemp -d "${WORK:-/tmp}/cognate-figures.XXXXXX")
# shellcheck source=cluster.sh
. integration-tests/spark/cluster.sh
finish() {
    stop_cluster
    wait
    [ -n "${KEEP:-}" ] || rm -rf "$work"
}
trap finish EXIT
start_cluster "$work/cluster"
[ $# -gt 0 ] || set -- 100000 500000 1000000
"$PYTHON" integration-tests/spark/figures.py "$work" "$target/examples/make_postings" "$spark/examples/generated" "$spark/cognate-spark" \
    "sc://127.0.0.1:$SPARK_PORT" "$@"
