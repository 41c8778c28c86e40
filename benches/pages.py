#!/usr/bin/env python3
"""Times every list of the pages over HTTP, at a coordinator that runs, as docs/performance.md has them.

usage: pages.py make FOLDER [CLUSTERS]                  writes generated documents for two sites: FOLDER/paris, FOLDER/tokyo
       pages.py measure [--rounds 5] [--max-ms 300] OPERATOR_FILE SCAN

`make` writes, for each of 100,000 clusters, two or three versions of a text of 3 kB and an identical copy of the first, from a seed. The sites of the scan must be called paris and tokyo, and their repositories kb. `measure`
signs in with `cognate operator login` (the program of the variable COGNATE, or of the path), and asks each page to its last byte. It prints the
slowest answer of each page after one that is not counted, with the median, and fails if the median takes longer than `--max-ms`. For
lists with labels, give some before: cognate verdict label SCAN --filter path=paper+00 --tag legal --assign "Anna Berger"
"""
import argparse
import http.client
import os
import random
import re
import subprocess
import sys
import time
import urllib.parse


def make(folder, clusters):
    chance = random.Random(7)
    words = ["".join(chance.choice("aeioutnsrhldcmp") for _ in range(chance.randint(2, 9))) for _ in range(40_000)]
    paragraph = lambda: " ".join(chance.choices(words, k=60))
    for cluster in range(clusters):
        text = [paragraph() for _ in range(8)]
        for version in range(3 if cluster % 10 == 0 else 2):
            parts = list(text)
            parts[chance.randrange(8)] = paragraph()
            place = f"{cluster // 1000:03}/{cluster // 50 % 20:02}"
            sites = [("paris" if version % 2 == 0 else "tokyo", "papers")] + ([("tokyo", "copies")] if version == 0 else [])
            for site, top in sites:
                path = f"{folder}/{site}/{top}/{place}"
                os.makedirs(path, exist_ok=True)
                with open(f"{path}/paper {cluster:06} v{version}.txt", "w") as out:
                    out.write("\n".join(parts))


class Pages:
    """A person who is signed in, over one connection."""

    def __init__(self, operator):
        program = os.environ.get("COGNATE", "cognate")
        login = [program, "operator", "login", "--operator", operator]
        address = urllib.parse.urlsplit(subprocess.run(login, check=True, capture_output=True, text=True).stdout.split()[-1])
        self.connection = http.client.HTTPConnection(address.hostname, address.port)
        code = urllib.parse.parse_qs(address.query or address.fragment)["code"][0]
        headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
        self.connection.request("POST", "/sign-in", urllib.parse.urlencode({"code": code}), headers)
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = "; ".join(value.split(";")[0] for name, value in answer.getheaders() if name.lower() == "set-cookie")

    def get(self, path):
        """The page, and the milliseconds to its last byte."""
        began = time.monotonic()
        self.connection.request("GET", path, headers={"cookie": self.cookie})
        answer = self.connection.getresponse()
        body = answer.read()
        spent = (time.monotonic() - began) * 1000
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status}")
        return body.decode(), spent


def addresses(pages, scan):
    """Every page: its name, and its path."""
    top = f"/scans/{scan}"
    clusters, documents = f"{top}/clusters", f"{top}/documents"
    listed, _ = pages.get(clusters)
    first = re.search(rf'href="({clusters}/[^"]+)"', listed)[1].replace("&amp;", "&")
    orders = re.findall(r'<option value="([^"]+)"', re.search(r'<select id="f-sort".*?</select>', listed)[0])
    last = max([int(page) for page in re.findall(r"[?&;]page=(\d+)", listed)] or [1])
    identical, _ = pages.get(f"{top}/identical")
    a_set = re.search(rf'href="({top}/identical/[^"]+)"', identical)
    documents_page, _ = pages.get(documents)
    last_document = max([int(page) for page in re.findall(r"[?&;]page=(\d+)", documents_page)] or [1])
    yield "overview", "/"
    yield "scans", "/scans"
    yield "the scan", top
    yield "result", f"{top}/result"
    for order in orders:
        yield f"clusters by {order}", f"{clusters}?sort={order}"
        other = order[1:] if order.startswith("-") else f"-{order}"
        yield f"clusters by {other}", f"{clusters}?sort={other}"
    filters = ["site=paris", "site=paris&site=tokyo", "across=1", "frame=yes", "frame=no", "least=80", "least_max=80", "mean=80", "mean_max=80",
               "contains=80", "relation=pair", "relation=group", "size=4KB", "size_max=1MB", "members=3", "members_max=2", "path=none-of-them",
               "path=paper+00", "path=paper", "path=*/05/*7+v1.txt", "from=2020-01-01", "to=2020-01-01", "verdict=open", "verdict=any",
               "verdict=changed", "tag=legal", "tag=none", "tag=legal&assignee=Anna+Berger", "assignee=none", "site=paris&across=1&least=60&contains=20&path=paper&verdict=open&sort=-path"]
    for query in filters:
        yield f"clusters with {query}", f"{clusters}?{query}"
    yield "clusters, the last page", f"{clusters}?page={last}"
    yield "one cluster", first
    yield "review", f"{top}/review"
    yield "a rule for all below a folder", f"{top}/review/rule?rule=below&verdict=duplicate&place=paris/kb/papers"
    yield "a rule: all but the newest", f"{top}/review/rule?rule=newest"
    yield "decisions", f"{top}/verdicts"
    yield "folders", f"{top}/folders"
    for site in ("paris", "tokyo"):
        yield f"tree of {site}", f"{top}/tree/{site}/kb"
        yield f"tree of {site}, a folder", f"{top}/tree/{site}/kb?folder={b'papers/005/'.hex()}"
    queries = ["", "status=near", "status=identical", "site=paris", "path=paper+000", "path=paper", "sort=size", "sort=-size", f"page={last_document // 2}",
               f"page={last_document}", f"sort=size&page={last_document // 2}"]
    for query in queries:
        yield f"documents with {query or 'no filter'}", f"{documents}?{query}"
    for query in ["", "across=1", "site=paris", "path=paper+00"]:
        yield f"identical sets with {query or 'no filter'}", f"{top}/identical?{query}"
    if a_set:
        yield "one identical set", a_set[1].replace("&amp;", "&")
    for rule in ["keep=newest", "keep=shortest-path", "keep=longest-path", "keep=prefer:paris/kb&keep=newest"]:
        yield f"plan with {rule}", f"{top}/plan?{rule}"
    for name in ["find", "find/hashes", "watches", "cases", "sites", "schedules", "templates", "people", "audit", "glossary", "scans/new"]:
        yield name, f"/{name}"


def measure(operator, scan, rounds, max_ms):
    pages = Pages(operator)
    slow, rows = [], []
    for name, path in addresses(pages, scan):
        body, _ = pages.get(path)
        spent = sorted(pages.get(path)[1] for _ in range(rounds))
        median = spent[len(spent) // 2]
        rows.append((median, spent[-1], len(body.encode()) / 1000, name))
        if median > max_ms:
            slow.append(name)
    for median, slowest, size, name in sorted(rows, reverse=True):
        print(f"{median:7.0f} ms {slowest:7.0f} ms {size:7.0f} kB  {name}")
    print(f"{len(rows)} pages, median and slowest of {rounds} each; median longer than {max_ms} ms: {', '.join(slow) or 'none'}")
    sys.exit(1 if slow else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("folder")
    maker.add_argument("clusters", nargs="?", type=int, default=100_000)
    meter = commands.add_parser("measure")
    meter.add_argument("--rounds", type=int, default=5)
    meter.add_argument("--max-ms", type=float, default=300)
    meter.add_argument("operator")
    meter.add_argument("scan")
    given = parser.parse_args()
    if given.command == "make":
        make(given.folder, given.clusters)
    else:
        measure(given.operator, given.scan, given.rounds, given.max_ms)


if __name__ == "__main__":
    main()
