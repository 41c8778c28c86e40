#!/usr/bin/env python3
"""Compares what `cognate text` reads of the files in some folders with what other programs read of them, word by word.

    readers.py [--cognate PROGRAM] [--files-max N] [--formats LIST] [--worst N] [--keep FOLDER] FOLDER...

| format | other readers |
|---|---|
| PDF | poppler (`pdftotext`), and MuPDF where the Python package `pymupdf` is installed |
| DOC, DOCX, RTF, ODT | LibreOffice, and for DOC `catdoc`, for DOCX `docx2txt`, for ODT `odt2txt` |
| XLS, XLSX, XLSB, ODS | LibreOffice (all sheets), and for XLS `xls2csv`, for XLSX the package `openpyxl`, for ODS `odt2txt` |
| PPT, PPTX, ODP | LibreOffice and poppler, by way of PDF, and `python-pptx`, of others than PPTX by way of LibreOffice |
| mail | Python's `email` |
| MSG | the package `extract-msg`, and `msgconvert` |
| PST | `readpst` |
| TNEF | the package `tnefparse` |
| HTML | `lynx` and `w3m` |

Readers that are not installed are left out.

The truth of a file is what all its other readers agree on, as a multiset of words: letters and digits with a letter among them,
of two characters at least; of Chinese, Japanese and Korean each pair of neighbours. A file of fewer than eight words, and one
that no other reader reads, is left out. For each format: the files, the share of the words that is found (of all words
together, and of the file at the tenth percentile), the same of all words with those of files that were named as not read, these
files, the files that lose more than a fifth of their words and have the outcome `text` or `recognised`, and the words that no
other reader has, as a share of the truth, at the ninetieth percentile.

A file counts for the format of its ending if it begins as that format does. Files are chosen by a fixed seed where a format has
more than `--files-max`. `--keep` keeps what the other readers read, for the next run. Nothing is changed in the folders.
"""
import argparse
import collections
import email
import email.policy
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unicodedata
from html.parser import HTMLParser

WORDS_MIN = 8
LOST_MAX = 0.2
MISSING_SHOWN = 8
FILES_AT_ONCE = 15
MEMORY_BYTES_MAX = 6 << 30
WRITTEN_BYTES_MAX = 16 << 20
ROWS_MAX, COLUMNS_MAX = 5_000, 100
SHEETS = "csv:Text - txt - csv (StarCalc):9,34,76,1,,0,false,true,false,false,false,-1"
FORMATS = {
    "pdf": "pdf", "doc": "text", "docx": "text", "rtf": "text", "odt": "text", "xls": "sheets", "xlsx": "sheets",
    "xlsb": "sheets", "ods": "sheets", "ppt": "slides", "pptx": "slides", "odp": "slides", "eml": "mail", "msg": "outlook", "pst": "store",
    "tnef": "tnef", "html": "page",
}
COMPOUND, PACKAGE = b"\xd0\xcf\x11\xe0", b"PK\x03\x04"
BEGINNINGS = {
    "doc": COMPOUND, "xls": COMPOUND, "ppt": COMPOUND, "msg": COMPOUND, "docx": PACKAGE, "xlsx": PACKAGE, "xlsb": PACKAGE,
    "pptx": PACKAGE, "odt": PACKAGE, "ods": PACKAGE, "odp": PACKAGE, "rtf": b"{\\rt", "pst": b"!BDN",
}
UNREAD = ("unextractable", "not_opened", "pictures")
EAST = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
INVISIBLE = re.compile(r"[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
ERRORS = {"Err", "VALUE", "NAME", "MACRO", "REF", "DIV", "NUM", "TRUE", "FALSE"}
WORD = re.compile(r"[^\W_]{2,}")
NUMBER = re.compile(r"\d+(?:[eE]\d*)?")


def words(text):
    """The words of a text, each with its number."""
    text = unicodedata.normalize("NFKC", INVISIBLE.sub("", text))
    text = re.sub(r"[-\u2010]\s*\n\s*", "", text)
    found = collections.Counter(
        # The number of a note stands at its word in some programs, and a cell that cannot be calculated has a sign of its own.
        word.rstrip("0123456789")
        for word in WORD.findall(EAST.sub(" ", text))
        if not NUMBER.fullmatch(word) and word not in ERRORS
    )
    for run in re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+", re.sub(r"\s+", "", text)):
        found.update(a + b for a, b in zip(run, run[1:]))
    return found


def run(command, timeout=120):
    """The output of a program, or nothing if it fails."""
    return try_run(command, timeout) or ""


def try_run(command, timeout):
    """The output of a program; None if it comes to no end. A sheet may claim a million rows, and whoever prints them needs all the memory."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limit, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=timeout)
        return output.decode("utf-8", "replace") if process.returncode >= 0 else None
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None


def poppler(path):
    return run(["pdftotext", "-q", path, "-"])


def mupdf(path):
    try:
        import pymupdf
    except ImportError:
        return None
    try:
        pymupdf.TOOLS.mupdf_display_errors(False)
        with pymupdf.open(path) as document:
            return "\n".join(page.get_text() for page in document)
    except Exception:
        return ""


class Visible(HTMLParser):
    """The words of a page outside of its scripts and styles."""

    def __init__(self):
        super().__init__()
        self.hidden, self.text = 0, []

    def handle_starttag(self, tag, _):
        self.hidden += tag in ("script", "style", "title")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "title") and self.hidden > 0

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)


def python_slides(content):
    """The words of slides and notes, or None without the package."""
    try:
        import pptx
    except ImportError:
        return None
    import io

    text = []

    def walk(shapes):
        for shape in shapes:
            if shape.has_text_frame:
                text.append(shape.text_frame.text)
            if getattr(shape, "has_table", False) and shape.has_table:
                text.extend(cell.text for row in shape.table.rows for cell in row.cells)
            if getattr(shape, "has_chart", False) and shape.has_chart:
                chart = shape.chart
                text.extend(str(name) for plot in chart.plots for name in [*plot.categories, *(series.name for series in plot.series)])
                if chart.has_title and chart.chart_title.has_text_frame:
                    text.append(chart.chart_title.text_frame.text)
            if hasattr(shape, "shapes"):
                walk(shape.shapes)

    try:
        for slide in pptx.Presentation(io.BytesIO(content)).slides:
            walk(slide.shapes)
            if slide.has_notes_slide:
                walk(slide.notes_slide.shapes)
    except Exception:
        return ""
    return "\n".join(text)


def python_mail(path):
    try:
        with open(path, "rb") as file:
            message = email.message_from_binary_file(file, policy=email.policy.default)
        body = message.get_body(("plain", "html"))
        text = body.get_content()
        people = " ".join(str(value) for name in ("subject", "from", "to", "cc") for value in message.get_all(name, []))
        if body.get_content_type() == "text/html":
            page = Visible()
            page.feed(text)
            text = " ".join(page.text)
        return text, people
    except Exception:
        return "", ""


def python_sheets(path):
    """The words of the cells of a workbook, or None without the package."""
    try:
        import openpyxl
    except ImportError:
        return None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        # A workbook may claim to have a million rows of sixteen thousand cells.
        cells = {"max_row": ROWS_MAX, "max_col": COLUMNS_MAX, "values_only": True}
        rows = (row for sheet in book.worksheets for row in sheet.iter_rows(**cells))
        return "\n".join(" ".join(str(cell) for cell in row if cell is not None) for row in rows)
    except Exception:
        return ""


def python_outlook(path):
    """The body of a message of Outlook and what stands around it, or None without the package."""
    try:
        import extract_msg
    except ImportError:
        return None
    try:
        with extract_msg.openMsg(path) as message:
            people = " ".join(str(getattr(message, name, "") or "") for name in ("subject", "sender", "to", "cc", "bcc"))
            return message.body or "", people
    except Exception:
        return "", ""


def python_tnef(path):
    """The body of a message in transport encapsulation, or None without the package."""
    try:
        import tnefparse
    except ImportError:
        return None
    try:
        with open(path, "rb") as file:
            message = tnefparse.TNEF(file.read())
        body = message.body or ""
        if not body and message.htmlbody:
            page = Visible()
            page.feed(str(message.htmlbody))
            body = " ".join(page.text)
        return body.decode("cp1252", "replace") if isinstance(body, bytes) else str(body)
    except Exception:
        return ""


def converted_outlook(path, folder):
    """A message of Outlook that `msgconvert` made a mail of, as Python reads it."""
    place = os.path.join(folder, "message.eml")
    if os.path.exists(place):
        os.remove(place)
    run(["msgconvert", "--outfile", place, path])
    return python_mail(place) if os.path.exists(place) else ("", "")


def store(path, folder):
    """The messages of a store that `readpst` wrote, each as Python reads it."""
    place = os.path.join(folder, "store")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    run(["readpst", "-e", "-q", "-o", place, path])
    texts = [
        python_mail(os.path.join(at, name)) for at, _, names in sorted(os.walk(place)) for name in sorted(names) if name.endswith(".eml")
    ]
    return "\n".join(text for text, _ in texts), " ".join(people for _, people in texts)


def office(paths, target, folder):
    """What LibreOffice makes of files: for each the files that it wrote."""
    written = {}

    def convert(some, timeout):
        names = {}
        inputs = os.path.join(folder, "in")
        outputs = os.path.join(folder, "out")
        for place in (inputs, outputs):
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place)
        for at, path in enumerate(some):
            name = f"f{at}"
            names[name] = path
            shutil.copyfile(path, os.path.join(inputs, name + os.path.splitext(path)[1].lower()))
        profile = f"-env:UserInstallation=file://{folder}/profile"
        files = [os.path.join(inputs, name) for name in sorted(os.listdir(inputs))]
        done = try_run(["soffice", profile, "--headless", "--convert-to", target, "--outdir", outputs, *files], timeout)
        for name in sorted(os.listdir(outputs)):
            source = names.get(re.split(r"[-.]", name)[0])
            if source:
                with open(os.path.join(outputs, name), "rb") as file:
                    written.setdefault(source, []).append((name, file.read(WRITTEN_BYTES_MAX)))
        return done is not None

    for start in range(0, len(paths), FILES_AT_ONCE):
        some = paths[start : start + FILES_AT_ONCE]
        if not convert(some, 90):
            # One file ended or held it: the others are converted one by one.
            for path in some:
                if path not in written:
                    convert([path], 20)
    return written


def read_alone(kind, path, folder):
    """What the readers that take one file read of it, and what stands around it."""
    texts, around = [], []

    def add(read):
        if read is not None:
            texts.append(read[0] if isinstance(read, tuple) else read)
            around.extend(read[1:] if isinstance(read, tuple) else [])

    if kind == "pdf":
        add(poppler(path))
        add(mupdf(path))
    elif kind == "mail":
        add(python_mail(path))
    elif kind == "outlook":
        add(python_outlook(path))
        if shutil.which("msgconvert"):
            add(converted_outlook(path, folder))
    elif kind == "store":
        add(store(path, folder))
    elif kind == "tnef":
        add(python_tnef(path))
    elif kind == "page":
        for command in (["lynx", "-dump", "-nolist", "-force_html", "-display_charset=utf-8"], ["w3m", "-dump", "-T", "text/html", "-O", "UTF-8"]):
            if shutil.which(command[0]):
                add(run([*command, path]))
    return texts, " ".join(around)


def by_office(kind, paths, folder):
    """What LibreOffice reads of files, and one more reader each."""
    texts, around = collections.defaultdict(list), {}
    if kind == "slides":
        for path, files in office(paths, "pdf", folder).items():
            for _, content in files:
                place = os.path.join(folder, "slides.pdf")
                with open(place, "wb") as file:
                    file.write(content)
                texts[path].append(poppler(place))
                around[path] = texts[path][0]
        changed = [path for path in paths if not path.lower().endswith(".pptx")]
        packed = {path: files[0][1] for path, files in office(changed, "pptx", folder).items()}
        for path in paths:
            if path.lower().endswith(".pptx"):
                with open(path, "rb") as file:
                    packed[path] = file.read()
            text = python_slides(packed.get(path, b""))
            if text is not None:
                texts[path].append(text)
        return texts, around
    target = SHEETS if kind == "sheets" else "txt:Text (encoded):UTF8"
    for path, files in office(paths, target, folder).items():
        texts[path].append("\n".join(content.decode("utf-8", "replace") for _, content in files))
    # What is printed around the text, names of sheets and comments.
    for path, files in office(paths, "pdf", folder).items():
        for _, content in files:
            place = os.path.join(folder, "printed.pdf")
            with open(place, "wb") as file:
                file.write(content)
            around[path] = poppler(place)
    if kind == "sheets":
        for path, files in office(paths, "html:HTML (StarCalc)", folder).items():
            page = Visible()
            page.feed(" ".join(content.decode("utf-8", "replace") for _, content in files))
            around[path] = around.get(path, "") + " ".join(page.text)
    for path in paths:
        ending = path.rsplit(".", 1)[-1].lower()
        command = {
            "doc": ["catdoc", "-d", "utf-8", path], "xls": ["xls2csv", "-d", "utf-8", path], "docx": ["docx2txt", path, "-"],
            "odt": ["odt2txt", "--encoding=UTF-8", "--width=-1", path], "ods": ["odt2txt", "--encoding=UTF-8", "--width=-1", path],
        }.get(ending)
        text = run(command) if command and shutil.which(command[0]) else None
        if ending == "xlsx":
            text = python_sheets(path)
        if text:
            texts[path].append(text)
    return texts, around


def other_readers(kind, paths, folder):
    """For each file, what other readers read of it, and what else is printed with it."""
    if kind in ("text", "sheets", "slides"):
        return by_office(kind, paths, folder)
    texts, around = {}, {}
    for path in paths:
        texts[path], around[path] = read_alone(kind, path, folder)
    return texts, around


def kept(keep, ending, paths, folder):
    """The same, from the folder `keep` where an earlier run kept it."""
    place = os.path.join(keep, f"{ending}.json") if keep else None
    known = {}
    if place and os.path.exists(place):
        with open(place) as file:
            known = json.load(file)
    missing = [path for path in paths if path not in known]
    if missing:
        texts, around = other_readers(FORMATS[ending], missing, folder)
        known.update({path: [texts.get(path, []), around.get(path, "")] for path in missing})
        if place:
            os.makedirs(keep, exist_ok=True)
            with open(place, "w") as file:
                json.dump(known, file)
    return known


def read_by_cognate(program, paths):
    """For each file, its own part and those inside of it."""
    parts = collections.defaultdict(list)
    for start in range(0, len(paths), FILES_AT_ONCE):
        lines = run([program, "text", "--format", "ndjson", "--", *paths[start : start + FILES_AT_ONCE]], 900)
        for line in lines.splitlines():
            part = json.loads(line)
            parts[part["path"].split("!/")[0]].append(part)
    return parts


def percentile(numbers, share):
    return sorted(numbers)[min(len(numbers) - 1, int(share * len(numbers)))]


def main():
    parser = argparse.ArgumentParser(description="Compares `cognate text` with other readers.")
    parser.add_argument("--cognate", default="cognate")
    parser.add_argument("--files-max", type=int, default=400, help="files of each format")
    parser.add_argument("--formats", help="only these endings, with commas between them")
    parser.add_argument("--keep", help="a folder that keeps what other readers read")
    parser.add_argument("--worst", type=int, default=0, help="name this many of the worst files of each format, with words that they lack")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    by_format = collections.defaultdict(set)
    for folder in options.folders:
        for place, _, names in os.walk(folder):
            for name in names:
                ending = os.path.splitext(name)[1][1:].lower()
                path = os.path.join(place, name)
                if ending in FORMATS and os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        if file.read(4).startswith(BEGINNINGS.get(ending, b"")):
                            by_format[ending].add(path)
    print("| format | files | words found | tenth percentile | named as not read | found with those | lose a fifth, silently | more words (p90) |")
    print("|---|---|---|---|---|---|---|---|")
    worst = []
    chosen = options.formats.split(",") if options.formats else FORMATS
    for ending in chosen:
        paths = sorted(by_format[ending])
        if len(paths) > options.files_max:
            paths = sorted(random.Random(1).sample(paths, options.files_max))
        if not paths:
            continue
        with tempfile.TemporaryDirectory() as folder:
            truth = kept(options.keep, ending, paths, folder)
        parts = read_by_cognate(options.cognate, paths)
        words_read = words_unread = words_found = files_unread = lost = 0
        shares, extras, rows = [], [], []
        for path in paths:
            texts, around = truth[path]
            read_by = len(texts)
            texts = [words(text) for text in texts if text.strip()]
            # A page of slides parts words where its layout does: without a second reader nobody knows which.
            if not texts or (FORMATS[ending] == "slides" and read_by > len(texts)):
                continue
            agreed = texts[0].copy()
            for text in texts[1:]:
                agreed &= text
            total = sum(agreed.values())
            if total < WORDS_MIN:
                continue
            own = parts[path][-1] if parts[path] else {"text": "", "outcome": "none"}
            messages = [part["text"] for part in parts[path][:-1] if part["kind"] in ("mail", "msg")]
            is_held = own["outcome"] == "container" or FORMATS[ending] == "store"
            if own["outcome"] in UNREAD and not (is_held and messages):
                words_unread += total
                files_unread += 1
                rows.append((0, own["outcome"], path, ""))
                continue
            # Messages that begin as those of a mailbox do, and those of a store, of which a part may be damaged.
            text = "\n".join(messages) if is_held else own["text"]
            read = words(text)
            found = sum((agreed & read).values())
            known = words(around)
            for text in texts:
                known |= text
            words_read += total
            words_found += found
            shares.append(found / total)
            extras.append(sum((read - known).values()) / total)
            is_silent = own["outcome"] in ("text", "recognised", "container")
            lost += is_silent and found < (1 - LOST_MAX) * total
            missing = " ".join(word for word, _ in (agreed - read).most_common(MISSING_SHOWN))
            rows.append((found / total, own["outcome"], path, missing))
        if shares:
            tenth, more = percentile(shares, 0.1), percentile(extras, 0.9)
            figures = f"{words_found / words_read:.4f} | {tenth:.4f} | {files_unread} | {words_found / (words_read + words_unread):.4f} | {lost} | {more:.3f}"
            print(f"| {ending.upper()} | {len(shares) + files_unread} | {figures} |")
            sys.stdout.flush()
            worst.extend((ending, *row) for row in sorted(rows)[: options.worst])
    for ending, share, outcome, path, missing in worst:
        print(f"{ending} {share:.3f} {outcome} {path}: {missing}")


if __name__ == "__main__":
    main()
