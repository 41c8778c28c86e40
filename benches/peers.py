#!/usr/bin/env python3
"""Times Cognate and its neighbours over the same folders, and writes the tables and the picture of docs/performance.md.

usage: peers.py --cognate BINARY --trees NAME=FOLDER,FOLDER … [--rounds 3] [--limit-seconds 900] [--minhash PYTHON] [--write FILE]

Each round runs every program that is installed once, in turn, over the two folders; a first run that is not counted warms the page cache.
The table has the least time of the rounds, because other work on a machine only adds, and the ratio to b3sum on all cores. A program that
takes more than a minute runs once; one that takes longer than the limit is stopped and has no figures. `--minhash` names a Python that has the package `datasketch`. With `--write`, the
text between the two marks of a Markdown file is replaced, and `peers.svg` is drawn next to it; without, all goes to the standard output.

Other programs: b3sum, fclones (crates.io), jdupes, rmlint (Debian). None of them finds documents that are alike and not identical; the
signatures of MinHash find no parts.
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

BEGIN, END = "<!-- peers: made by benches/peers.py -->\n", "<!-- peers: end -->\n"
ONCE_SECONDS = 60
HERE = pathlib.Path(__file__).parent
COLORS = ["#1b6ca8", "#6aaed6", "#555555", "#b5651d", "#2e8b57", "#8e44ad", "#c0392b"]


def commands(cognate, minhash):
    """Name, shell words with {} for the folders, and what its output finds."""
    threads = str(os.cpu_count())
    compare = [cognate, "compare", "first={0}", "second={1}", "--format", "json", "--output", "{out}", "--force"]
    hashing = f'find "$0" "$1" -type f -print0 | xargs -0 -P{threads} -n 500 b3sum --num-threads 1 > {{out}}'
    known = [
        ("b3sum, all cores", ["sh", "-c", hashing, "{0}", "{1}"], "b3sum", "a hash of each file"),
        ("cognate, coarse", compare + ["--precision", "coarse"], cognate, "identical, alike in whole chunks, parts, folders"),
        ("cognate, default", compare, cognate, "the same, exact shares, text of office files"),
        ("fclones", ["fclones", "group", "--hidden", "--no-ignore", "--min", "1", "-o", "{out}", "{0}", "{1}"], "fclones", "identical files"),
        ("jdupes", ["sh", "-c", 'jdupes -r -q "$0" "$1" > {out}', "{0}", "{1}"], "jdupes", "identical files"),
        ("rmlint", ["rmlint", "-T", "df", "--hidden", "-o", "json:{out}", "{0}", "{1}"], "rmlint", "identical files"),
    ]
    if minhash:
        known.append(("MinHash (datasketch)", [minhash, str(HERE / "minhash.py"), "{0}", "{1}"], minhash, "files alike as a whole"))
    return [one for one in known if shutil.which(one[2])]


def run(words, folders, out, limit_seconds):
    """Seconds by the clock, seconds of processor time, and the greatest resident memory of one process in MB; or none if it took too long."""
    words = [word.replace("{0}", folders[0]).replace("{1}", folders[1]).replace("{out}", out) for word in words]
    with tempfile.TemporaryFile() as errors:
        begun = time.monotonic()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begun > limit_seconds:
                os.killpg(process.pid, 9)
                os.wait4(process.pid, 0)
                return None
            time.sleep(0.005)
        seconds = time.monotonic() - begun
        code = os.waitstatus_to_exitcode(status)
        # Exit code 3 of `cognate compare`: complete but for documents that could not be read.
        if code not in (0, 3):
            errors.seek(0)
            sys.exit(f"`{' '.join(words)}` ended with {code}: {errors.read()[-500:].decode(errors='replace')}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def size_of(folders):
    """Files and bytes."""
    count, size_bytes = 0, 0
    for folder in folders:
        for below, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(below, name)
                if not os.path.islink(path):
                    count, size_bytes = count + 1, size_bytes + os.path.getsize(path)
    return count, size_bytes


def measure(arguments):
    """Of each tree: name, files, bytes, and by program the row of its table."""
    trees = []
    for tree in arguments.trees:
        name, _, folders = tree.partition("=")
        folders = folders.split(",")
        if len(folders) != 2:
            sys.exit(f"`{tree}` needs two folders: NAME=FOLDER,FOLDER")
        programs = commands(arguments.cognate, arguments.minhash)
        runs = {program[0]: [] for program in programs}
        with tempfile.TemporaryDirectory() as folder:
            for number in range(arguments.rounds + 1):
                for label, words, _, _ in programs:
                    if runs[label] is None:
                        continue
                    if number == 0 and label != programs[0][0]:
                        continue  # Hashing all files warms the page cache.
                    if runs[label] and runs[label][0][0] > ONCE_SECONDS:
                        continue
                    limit_seconds = arguments.limit_seconds if number > 0 else math.inf  # The disk may be slow.
                    found = run(words, folders, os.path.join(folder, "out"), limit_seconds)
                    print(f"{name}: {label}: {found}", file=sys.stderr)
                    if found is None:
                        runs[label] = None
                    elif number > 0:
                        runs[label].append(found)
        trees.append((name, *size_of(folders), runs, {program[0]: program[3] for program in programs}))
    return trees


def table(trees):
    lines = []
    for name, files, size_bytes, runs, finds in trees:
        base = min((one[0] for one in runs.get("b3sum, all cores") or []), default=None)
        lines += [f"**{name}**: {files:,} files, {size_bytes / 1e6:,.0f} MB", ""]
        lines += ["| program | seconds | of b3sum | processor seconds | peak MB of a process | finds |", "|---|---|---|---|---|---|"]
        for label, found in runs.items():
            if found is None:
                lines.append(f"| {label} | stopped at the limit | | | | {finds[label]} |")
                continue
            seconds, busy, memory = (min(column) for column in zip(*found))
            ratio = f"{seconds / base:.1f}" if base else ""
            lines.append(f"| {label} | {seconds:.2f} | {ratio} | {busy:.1f} | {memory:.0f} | {finds[label]} |")
        lines.append("")
    return "\n".join(lines)


def picture(trees):
    """Seconds and memory of each program against the bytes and the documents of the trees, all axes logarithmic."""
    width, height, left, top, gap = 420, 260, 60, 40, 70
    labels = list(dict.fromkeys(label for tree in trees for label in tree[3]))
    charts = [("MB of content", 2, 1e6, "seconds", 0), ("files", 1, 1, "seconds", 0), ("MB of content", 2, 1e6, "peak MB", 2), ("files", 1, 1, "peak MB", 2)]
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {2 * (width + gap) + left} {2 * (height + gap) + top + 30}' font-family='sans-serif' font-size='12'>",
        "<style>.grid{stroke:#ddd}</style><rect width='100%' height='100%' fill='white'/>",
    ]
    for number, (across, field, unit, up, column) in enumerate(charts):
        x0, y0 = left + number % 2 * (width + gap), top + number // 2 * (height + gap)
        points = {
            label: sorted((tree[field] / unit, min(one[column] for one in tree[3][label])) for tree in trees if tree[3].get(label))
            for label in labels
        }
        every = [point for line in points.values() for point in line]
        (x_low, x_high), (y_low, y_high) = ((math.floor(math.log10(min(axis))), math.ceil(math.log10(max(axis)) + 1e-9)) for axis in zip(*every))
        place = lambda x, y: (x0 + (math.log10(x) - x_low) / max(1, x_high - x_low) * width, y0 + height - (math.log10(y) - y_low) / max(1, y_high - y_low) * height)
        out.append(f"<text x='{x0}' y='{y0 - 10}' font-weight='bold'>{up} against {across}</text>")
        for power in range(x_low, x_high + 1):
            x, _ = place(10**power, 10**y_low)
            out.append(f"<path d='M{x:.1f} {y0}V{y0 + height}' class='grid'/><text x='{x:.1f}' y='{y0 + height + 16}' text-anchor='middle'>{10**power:,g}</text>")
        for power in range(y_low, y_high + 1):
            _, y = place(10**x_low, 10**power)
            out.append(f"<path d='M{x0} {y:.1f}H{x0 + width}' class='grid'/><text x='{x0 - 6}' y='{y + 4:.1f}' text-anchor='end'>{10**power:,g}</text>")
        for label, color in zip(labels, COLORS):
            line = [place(*point) for point in points[label]]
            out.append(f"<polyline points='{' '.join(f'{x:.1f},{y:.1f}' for x, y in line)}' fill='none' stroke='{color}' stroke-width='2'/>")
            out += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{color}'/>" for x, y in line]
    y = top + 2 * (height + gap) + 10
    for number, (label, color) in enumerate(zip(labels, COLORS)):
        x = left + number * 132
        out.append(f"<circle cx='{x}' cy='{y - 4}' r='5' fill='{color}'/><text x='{x + 9}' y='{y}'>{label}</text>")
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(usage=re.search(r"usage: (.*)", __doc__).group(1))
    parser.add_argument("--cognate", required=True)
    parser.add_argument("--trees", nargs="+", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-seconds", type=float, default=900)
    parser.add_argument("--minhash")
    parser.add_argument("--write", type=pathlib.Path)
    arguments = parser.parse_args()
    trees = measure(arguments)
    if not arguments.write:
        print(table(trees))
        return
    text = arguments.write.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"`{arguments.write}` needs the lines `{BEGIN.strip()}` and `{END.strip()}` once, where the table goes")
    before, rest = text.split(BEGIN)
    arguments.write.write_text(f"{before}{BEGIN}\n{table(trees)}\n{END}{rest.split(END)[1]}")
    (arguments.write.parent / "peers.svg").write_text(picture(trees))


if __name__ == "__main__":
    main()
