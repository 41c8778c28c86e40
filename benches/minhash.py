#!/usr/bin/env python3
"""Near-duplicates by MinHash, as a pipeline of the usual parts does it: for `peers.py`.

usage: minhash.py FOLDER…     (needs the package `datasketch`)

Each file of the folders is read as text, cut into words, and hashed as a set of five words in a row with 128 permutations; an LSH index
with a threshold of 0.5 proposes pairs. Files of fewer than five words have none. Two processes make the signatures.
"""
import os
import re
import sys
from multiprocessing import Pool

from datasketch import MinHash, MinHashLSH

WORDS = 5
PERMUTATIONS = 128
THRESHOLD = 0.5
WORD = re.compile(rb"\w+")


def signature(path):
    """The path, and the signature of its file, or none."""
    try:
        with open(path, "rb") as file:
            words = WORD.findall(file.read())
    except OSError:
        return path, None
    shingles = {b" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)}
    if not shingles:
        return path, None
    made = MinHash(num_perm=PERMUTATIONS)
    made.update_batch(list(shingles))
    return path, made


def files(folders):
    for folder in folders:
        for below, _, names in os.walk(folder):
            yield from (os.path.join(below, name) for name in names)


def main():
    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    signed, partners = 0, 0
    with Pool(2) as pool:
        for path, made in pool.imap_unordered(signature, files(sys.argv[1:]), chunksize=64):
            if made is None:
                continue
            partners += bool(index.query(made))
            index.insert(path, made)
            signed += 1
    print(f"{signed} files with a signature, {partners} with an earlier partner")


if __name__ == "__main__":
    main()
