#!/usr/bin/env python3
"""Counts the lines of Rust of each crate of the workspace, as a table: `integration-tests/lines.py [FOLDER]`.

Code is what is neither blank, nor a comment, nor generated, nor a test: files of tests and `#[cfg(test)]` items are tests. Files and
functions are measured with their comments; of functions the lines of the body.
"""

import re
import subprocess
import sys
from pathlib import Path

GENERATED = "/generated/"
TEST_FILE = re.compile(r"(^|/)(tests?|benches)(/|\.rs$)|/test_support\.rs$")
TEST_ITEM = re.compile(r"^(\s*)#\[cfg\((all\()?test\b")
FUNCTION = re.compile(r"^(\s*)(pub(\([a-z ]+\))? )?(const |async |unsafe |extern \"C\" )*fn \w+")
PUBLIC = re.compile(r"^\s*pub (const |async |unsafe )*(fn|struct|enum|trait|mod|type|const|static|use) ")


def without_tests(lines):
    """The lines outside of `#[cfg(test)]` items, and the number of those inside."""
    kept, place = [], 0
    while place < len(lines):
        match = TEST_ITEM.match(lines[place])
        if not match:
            kept.append(lines[place])
            place += 1
            continue
        # The item ends with the first line at its own depth that closes it.
        end = place + 1
        while end < len(lines) and not lines[end].rstrip().endswith((";", "{", ",")):
            end += 1
        if end < len(lines) and lines[end].rstrip().endswith("{"):
            close = match.group(1) + "}"
            while end < len(lines) and not lines[end].startswith(close):
                end += 1
        place = end + 1
    return kept, len(lines) - len(kept)


def is_code(line):
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("//")


def functions(lines):
    """The lines of the bodies of functions."""
    for place, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match or "{" not in "".join(lines[place : place + 12]):
            continue
        close = match.group(1) + "}"
        for end in range(place + 1, min(place + 2000, len(lines))):
            if lines[end].startswith(close):
                opened = next((at for at in range(place, end) if lines[at].rstrip().endswith("{")), place)
                yield end - opened - 1
                break


def percentile(values, of_hundred):
    values = sorted(values)
    return values[min(len(values) - 1, len(values) * of_hundred // 100)] if values else 0


def main():
    top = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    listed = subprocess.run(["git", "-C", str(top), "ls-files", "*.rs", "*Cargo.toml"], check=True, capture_output=True, text=True)
    names = listed.stdout.split()
    crates = sorted((name.removesuffix("Cargo.toml").rstrip("/") for name in names if name.endswith("Cargo.toml")), key=len, reverse=True)
    rows, files, bodies = {}, [], []
    for name in (name for name in names if name.endswith(".rs") and GENERATED not in "/" + name):
        crate = next(crate for crate in crates if crate == "" or name.startswith(crate + "/"))
        lines = (top / name).read_text().split("\n")
        row = rows.setdefault(crate, [0, 0, 0])
        # The crate of the tests between processes has nothing else.
        if TEST_FILE.search(name) or crate == "integration-tests":
            row[1] += sum(map(is_code, lines))
            continue
        kept, _ = without_tests(lines)
        code = sum(map(is_code, kept))
        row[0] += code
        row[1] += sum(map(is_code, lines)) - code
        row[2] += sum(1 for line in kept if PUBLIC.match(line))
        files.append(len(lines))
        bodies.extend(functions(kept))
    print(f"{'crate':<28}{'code':>9}{'tests':>9}{'public':>9}")
    for crate, row in sorted(rows.items()):
        print(f"{crate or '.':<28}" + "".join(f"{number:>9,}" for number in row))
    print(f"{'all':<28}" + "".join(f"{sum(row[column] for row in rows.values()):>9,}" for column in range(3)))
    print("lines of a file, median, 90th percentile, most:", *(percentile(files, part) for part in (50, 90)), max(files))
    print("lines of a function, median, 90th, 98th percentile:", *(percentile(bodies, part) for part in (50, 90, 98)))


if __name__ == "__main__":
    main()
