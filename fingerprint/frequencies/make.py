#!/usr/bin/env python3
"""Makes prefixes.tsv: with which letter the words of English begin, stop words left out.

    pip download --no-deps --only-binary=:all: wordfreq==3.1.1 && python3 -m zipfile -e wordfreq-*.whl unpacked
    pip install msgpack
    make.py unpacked ../src/stop_words.rs > prefixes.tsv

The words and their frequencies are those of `large_en` of the package wordfreq. They are split as the method splits
documents (runs of letters and digits, in lower case), the method's own stop words are dropped, and of the rest each
counts with its frequency for the letter that it begins with, and within it for two halves: words whose second letter
comes before m, and all others. The unit is a millionth of the words that begin with one of the paper's 18 letters; those of
the eight letters that it leaves out come on top of the million.
"""
import gzip
import re
import sys
from pathlib import Path

import msgpack

LEFT_OUT = set("jkquvxyz")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def stop_words(source: Path) -> set[str]:
    text = re.search(r'STOP_WORDS: &str = "(.*?)";', source.read_text(encoding="utf-8"), re.S)
    return set(text.group(1).split())


def words(unpacked: Path):
    """Every word with its frequency; the n-th list holds the words of frequency 10^(-n/100)."""
    with gzip.open(unpacked / "wordfreq" / "data" / "large_en.msgpack.gz") as file:
        _, *lists = msgpack.load(file, raw=False, strict_map_key=False)
    for place, listed in enumerate(lists):
        for word in listed:
            yield word, 10 ** (-place / 100)


def main() -> None:
    dropped = stop_words(Path(sys.argv[2]))
    shares = {letter: [0.0, 0.0] for letter in LETTERS}
    for word, frequency in words(Path(sys.argv[1])):
        for part in re.findall(r"[^\W_]+", word.lower()):
            if part not in dropped and part[0] in shares:
                shares[part[0]]["a" > part[1:2] or part[1:2] >= "m"] += frequency
    total = sum(sum(halves) for letter, halves in shares.items() if letter not in LEFT_OUT)
    millionths = {letter: round(sum(halves) / total * 1_000_000) for letter, halves in shares.items()}
    # What rounding leaves goes to the commonest letter.
    of_paper = sum(share for letter, share in millionths.items() if letter not in LEFT_OUT)
    millionths[max(millionths, key=millionths.get)] += 1_000_000 - of_paper
    for letter, share in millionths.items():
        first = round(shares[letter][0] / total * 1_000_000)
        print(f"{letter}\t{first}\t{share - first}")


if __name__ == "__main__":
    main()
