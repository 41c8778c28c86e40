//! How fast text comes out of documents: plain text, HTML, and the normaliser alone. Inputs are made here.

use std::io::Cursor;

use cognate_view::{Kind, Normaliser, Reason, Text, extract};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

const BYTES: usize = 8 << 20;

/// Takes text and normalises it, as a worker does, in a bounded room.
#[derive(Default)]
struct Normalised {
    normaliser: Normaliser,
    out: String,
    bytes: usize,
}

impl Normalised {
    fn count(&mut self) {
        if self.out.len() > 1 << 16 {
            self.bytes += self.out.len();
            self.out.clear();
        }
    }
}

impl Text for Normalised {
    fn push(&mut self, text: &str) -> Result<(), Reason> {
        self.normaliser.push(text, &mut self.out);
        self.count();
        Ok(())
    }

    fn end_paragraph(&mut self) -> Result<(), Reason> {
        self.normaliser.end_paragraph(&mut self.out);
        Ok(())
    }
}

/// Words of a few lengths, in lines and paragraphs, without repeating soon.
fn prose(words: &[&str]) -> String {
    let (mut text, mut state) = (String::with_capacity(BYTES + 64), 1u32);
    for count in 1.. {
        if text.len() >= BYTES {
            break;
        }
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.push_str(words[state as usize % words.len()]);
        text.push_str(match count {
            _ if count % 120 == 0 => ".\n\n",
            _ if count % 12 == 0 => "\n",
            _ => " ",
        });
    }
    text
}

fn english() -> String {
    prose(&["the", "of", "documents", "that", "several", "sites", "hold", "in", "common", "without", "any", "leaving"])
}

fn german() -> String {
    prose(&["die", "Größe", "für", "über", "Maßnahme", "und", "Verträge", "der", "natürlich", "hätte", "ist", "nicht"])
}

fn chinese() -> String {
    prose(&["文件", "在", "多个", "站点", "之间", "共享", "内容", "而不", "离开", "任何", "地方", "。"])
}

/// A page as documentation has them: more marks than text.
fn page() -> String {
    let mut page =
        String::from("<!DOCTYPE html><html><head><title>x</title><style>p { margin: 0 }</style></head><body>");
    for (at, paragraph) in english().split("\n\n").enumerate() {
        if page.len() >= BYTES {
            break;
        }
        page.push_str(&format!(
            "<div class=\"section\" id=\"part-{at}\"><h2><a href=\"#part-{at}\">Part {at}</a></h2>\n<p>"
        ));
        for line in paragraph.lines() {
            let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
            page.push_str(&format!("<code class=\"literal\"><span class=\"pre\">{first}</span></code> {rest} &amp;\n"));
        }
        page.push_str("</p><script>if (a < b) { run() }</script></div>\n");
    }
    page
}

fn extracts(bencher: Bencher<'_, '_>, kind: Kind, document: &[u8]) {
    bencher.counter(BytesCount::of_slice(document)).bench_local(|| {
        let mut text = Normalised::default();
        extract(kind, &mut Cursor::new(document), &mut text).expect("it has text");
        text.bytes
    });
}

#[divan::bench(sample_count = 10)]
fn html(bencher: Bencher<'_, '_>) {
    extracts(bencher, Kind::Html, page().as_bytes());
}

#[divan::bench(sample_count = 10)]
fn plain_ascii(bencher: Bencher<'_, '_>) {
    extracts(bencher, Kind::Text, english().as_bytes());
}

#[divan::bench(sample_count = 10)]
fn plain_latin_1(bencher: Bencher<'_, '_>) {
    let bytes: Vec<u8> = german().chars().map(|c| u8::try_from(u32::from(c)).expect("latin")).collect();
    extracts(bencher, Kind::Text, &bytes);
}

fn normalises(bencher: Bencher<'_, '_>, text: &str) {
    bencher.counter(BytesCount::of_str(text)).bench_local(|| {
        let mut normalised = Normalised::default();
        for paragraph in text.split("\n\n") {
            normalised.push(paragraph).expect("it is kept");
            normalised.end_paragraph().expect("it is kept");
        }
        normalised.bytes
    });
}

#[divan::bench(sample_count = 10)]
fn normalise_ascii(bencher: Bencher<'_, '_>) {
    normalises(bencher, &english());
}

#[divan::bench(sample_count = 10)]
fn normalise_german(bencher: Bencher<'_, '_>) {
    normalises(bencher, &german());
}

#[divan::bench(sample_count = 10)]
fn normalise_chinese(bencher: Bencher<'_, '_>) {
    normalises(bencher, &chinese());
}
