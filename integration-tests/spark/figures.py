"""Joins generated postings natively, on the workers of a cluster, and in DuckDB; prints time and processor time by stage.

Started by `figures.sh`, which has the conditions. A line is a row of a table: postings, engine, stage, seconds by the clock, seconds of
processor time of the process here, and of the cluster.
"""

import json
import os
import shutil
import subprocess
import sys
import time

CHUNKS = 100
MEMORY = "512MiB"
THREADS = 2
HERTZ = os.sysconf("SC_CLK_TCK")
# Of the SQL: the same steps as those of the engine, as far as links. Clusters, families and omitted figures would follow.
SQL = {
    "tags": """CREATE TABLE several AS SELECT * FROM (SELECT tag_high, tag_low, length, content, n,
          count(*) OVER (PARTITION BY tag_high, tag_low, length) holders
        FROM (SELECT tag_high, tag_low, length, content, count(*) n FROM postings GROUP BY tag_high, tag_low, length, content))
        WHERE holders > 1""",
    "prefixes": """CREATE TABLE prefix AS SELECT *, rest >= least AND total >= least AS looks FROM (
        SELECT several.*, payload, greatest(1, least(16384, CAST(ceil(payload / 2.0) AS BIGINT))) AS least,
          sum(CAST(length AS BIGINT) * n) OVER (PARTITION BY content ORDER BY holders DESC, tag_high DESC, tag_low DESC, length DESC) rest,
          sum(CAST(length AS BIGINT) * n) OVER (PARTITION BY content) total
        FROM several JOIN (SELECT content, sum(CAST(length AS BIGINT)) payload FROM postings GROUP BY content) USING (content))""",
    "components": """CREATE TABLE pairs AS SELECT DISTINCT a.content a, b.content b, a.least FROM prefix a JOIN prefix b
        USING (tag_high, tag_low, length) WHERE a.looks AND (b.payload, b.content) > (a.payload, a.content)""",
    "join": """CREATE TABLE links AS SELECT a, b, sum(CAST(x.length AS BIGINT) * least(x.n, y.n)) shared FROM pairs
        JOIN several x ON x.content = a
        JOIN several y ON y.content = b AND y.tag_high = x.tag_high AND y.tag_low = x.tag_low AND y.length = x.length
        GROUP BY a, b, pairs.least HAVING shared >= pairs.least""",
}


def row(*cells):
    print("| " + " | ".join(f"{cell:.1f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |", flush=True)


def ticks(pid, last):
    """Processor time of a process, and with `last` 15 that of its children that have ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return sum(int(word) for word in words[11:last])


def cluster_seconds(folder):
    sessions = [open(f"{folder}/{name}").read().strip() for name in os.listdir(folder) if name.endswith(".pid")]
    pids = subprocess.run(["pgrep", "-s", ",".join(sessions)], capture_output=True, text=True).stdout.split()
    return sum(ticks(pid, 15) for pid in pids) / HERTZ


def written(folder):
    """The newest published stage of a job."""
    try:
        with open(f"{folder}/stages") as file:
            lines = [line.split() for line in file.read().splitlines()]
    except OSError:
        return None
    done = ["export" if line[0] == "exported" else line[1] for line in lines if line[0] in ("exported", "pass")]
    return done[-1] if done else None


def on_cluster(program, folder, cluster):
    """Runs a job; returns a list of (stage, clock, here, cluster), and the peak of memory."""
    with open(f"{folder}/output", "w") as output:
        child = subprocess.Popen([program, "group", folder], stdin=subprocess.PIPE, stdout=output)
        last = (time.time(), 0.0, cluster_seconds(cluster))
        stages, stage, most = [], None, 0
        while True:
            ended, status, used = os.wait4(child.pid, os.WNOHANG)
            here = used.ru_utime + used.ru_stime if ended else ticks(child.pid, 13) / HERTZ
            found = written(folder)
            if ended or found != stage:
                now = (time.time(), here, cluster_seconds(cluster))
                stages.append(("collect" if ended else found, *(after - before for before, after in zip(last, now))))
                last, stage = now, found
            if ended:
                if status:
                    sys.exit(f"cognate-spark failed: {status}: {open(output.name).read()[-500:]}")
                return stages, used.ru_maxrss
            time.sleep(0.02)


def natively(program, folder, which=("analyse", "all", MEMORY, str(THREADS))):
    command, *rest = which
    child = subprocess.Popen([program, command, folder, *rest], stdout=subprocess.PIPE, text=True)
    text = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{command} failed")
    *stages, found = [json.loads(line) for line in text.splitlines()]
    return stages, found, used.ru_maxrss


def as_parquet(postings, folder):
    import numpy
    import pyarrow
    import pyarrow.parquet

    os.makedirs(folder)
    rows = numpy.memmap(postings, dtype=[("high", ">i8"), ("low", ">i8"), ("length", "<u4"), ("content", "<u4")], mode="r")
    for number, at in enumerate(range(0, len(rows), 1 << 22)):
        part = rows[at : at + (1 << 22)]
        columns = {
            "tag_high": part["high"].astype("i8"),
            "tag_low": part["low"].astype("i8"),
            "content": part["content"].astype("i4"),
            "length": part["length"].astype("i4"),
        }
        pyarrow.parquet.write_table(pyarrow.table(columns), f"{folder}/part-{number:04}.parquet", compression="none")


def in_duckdb(folder, scratch, memory):
    """Prints a line of JSON for each stage, and one with the number of links."""
    import duckdb

    database = duckdb.connect(f"{scratch}/duckdb")
    database.execute(f"SET threads={THREADS}; SET memory_limit='{memory}'; SET temp_directory='{scratch}/temporary'")
    database.execute(f"CREATE VIEW postings AS SELECT * FROM '{folder}/*.parquet'")
    for stage, statement in SQL.items():
        clock, used = time.time(), os.times()
        database.execute(statement)
        now = os.times()
        seconds = now.user + now.system - used.user - used.system
        print(json.dumps({"stage": stage, "seconds": time.time() - clock, "processor_seconds": seconds}), flush=True)
    print(json.dumps({"links": database.execute("SELECT count(*) FROM links").fetchone()[0]}))


def figures(work, programs, server, documents):
    make, generated, spark = programs
    postings, folder = f"{work}/postings", f"{work}/job"
    for place in (postings, folder):
        shutil.rmtree(place, ignore_errors=True)
    subprocess.run(
        [make, "--documents", str(documents), "--chunks", str(CHUNKS), "--out", postings], check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run(
        [generated, "job", postings, folder, server, f"file://{work}/exchange", MEMORY, str(THREADS), "workers"], check=True
    )
    count = documents * CHUNKS

    def table(engine, stages, memory):
        for stage, *seconds in stages:
            row(count, engine, stage, *seconds)
        row(count, engine, "all", *(sum(column) for column in zip(*(stage[1:] for stage in stages))), f"{memory // 1000} MB")

    stages, native, memory = natively(generated, folder)
    table("native", [(stage["stage"], stage["seconds"], stage["processor_seconds"]) for stage in stages], memory)
    stages, memory = on_cluster(spark, folder, f"{work}/cluster")
    _, joined, _ = natively(generated, folder, ("found",))
    table("workers", stages, memory)
    row(count, "spilled natively", native["spilled_bytes"], "digest", native["digest"])
    if joined["digest"] != native["digest"]:
        sys.exit(f"the digest is {joined['digest']} on the workers, {native['digest']} natively")
    shutil.rmtree(folder)
    # In a process of its own: the memory of this one counts for those that it starts.
    subprocess.run([sys.executable, __file__, "parquet", postings, f"{work}/parquet"], check=True)
    os.remove(postings)
    scratch = f"{work}/scratch"
    os.makedirs(scratch)
    child = subprocess.Popen(
        [sys.executable, __file__, "duckdb", f"{work}/parquet", scratch, os.environ.get("DUCKDB_MEMORY", "4GB")],
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [json.loads(line) for line in child.stdout]
    _, status, used = os.wait4(child.pid, 0)
    stages = [line for line in lines if "stage" in line]
    table("duckdb", [(stage["stage"], stage["seconds"], stage["processor_seconds"]) for stage in stages], used.ru_maxrss)
    if status:
        row(count, "duckdb", f"ended with {status} after {len(stages)} stages")
    elif lines[-1]["links"] != native["links"]:
        sys.exit(f"DuckDB finds {lines[-1]['links']} links, the engine {native['links']}")
    shutil.rmtree(scratch)
    shutil.rmtree(f"{work}/parquet")


def main():
    if sys.argv[1] == "duckdb":
        return in_duckdb(*sys.argv[2:])
    if sys.argv[1] == "parquet":
        return as_parquet(*sys.argv[2:])
    work, make, generated, spark, server, *documents = sys.argv[1:]
    os.makedirs(f"{work}/exchange")
    # Once before: Java compiles what it runs often.
    postings, folder = f"{work}/postings", f"{work}/job"
    subprocess.run([make, "--documents", documents[0], "--chunks", str(CHUNKS), "--out", postings], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([generated, "job", postings, folder, server, f"file://{work}/exchange", MEMORY, str(THREADS), "workers"], check=True)
    on_cluster(spark, folder, f"{work}/cluster")
    for number in documents:
        figures(work, (make, generated, spark), server, int(number))


main()
