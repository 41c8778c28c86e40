#!/usr/bin/env python3
"""Makes prefix18.tsv: with which letter the words of English begin, stop words left out.

    pip download --no-deps --only-binary=:all: wordfreq==3.1.1 && python3 -m zipfile -e wordfreq-*.whl unpacked
    pip install msgpack
    make.py unpacked ../src/stop_words.rs > prefix18.tsv

The words and their frequencies are those of `large_en` of the package wordfreq. They are split as the method splits
documents (runs of letters and digits, in lower case), the method's own stop words are dropped, and of the rest each
counts with its frequency for the letter that it begins with. The eight letters that the paper leaves out are
left out; the shares of the others add up to a million.
"""
import gzip
import re
import sys
from pathlib import Path

import msgpack

LEFT_OUT = set("jkquvxyz")
LETTERS = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in LEFT_OUT]


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
    shares = dict.fromkeys(LETTERS, 0.0)
    for word, frequency in words(Path(sys.argv[1])):
        for part in re.findall(r"[^\W_]+", word.lower()):
            if part not in dropped and part[0] in shares:
                shares[part[0]] += frequency
    total = sum(shares.values())
    millionths = {letter: round(share / total * 1_000_000) for letter, share in shares.items()}
    # What rounding leaves goes to the commonest letter.
    millionths[max(millionths, key=millionths.get)] += 1_000_000 - sum(millionths.values())
    for letter, share in millionths.items():
        print(f"{letter}\t{share}")


if __name__ == "__main__":
    main()
