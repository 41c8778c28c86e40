//! Speed of reading text out of documents, and of the normaliser alone. The bench makes its inputs.

use std::io::{Cursor, Write as _};

use cognate_fuzzing::Dice;
use cognate_view::{Kind, Normaliser, Reason, Text, extract};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

const BYTES: usize = 8 << 20;

/// Takes text and normalises it, as a worker does, in bounded memory.
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
    let (mut text, mut dice) = (String::with_capacity(BYTES + 64), Dice::new(1));
    for count in 1.. {
        if text.len() >= BYTES {
            break;
        }
        text.push_str(words[dice.below(words.len())]);
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

/// A text document: its XML, and the archive that it is.
fn docx() -> (String, Vec<u8>) {
    let mut body = String::from("<?xml version=\"1.0\"?><w:document xmlns:w=\"w\"><w:body>");
    for paragraph in english().split("\n\n") {
        if body.len() >= BYTES {
            break;
        }
        body.push_str("<w:p w:rsidR=\"00A77427\"><w:pPr><w:pStyle w:val=\"BodyText\"/></w:pPr>");
        for line in paragraph.lines() {
            let run = "<w:r><w:rPr><w:lang w:val=\"en-GB\"/></w:rPr><w:t xml:space=\"preserve\">";
            body.push_str(&format!("{run}{line} </w:t></w:r>"));
        }
        body.push_str("</w:p>");
    }
    body.push_str("</w:body></w:document>");
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("[Content_Types].xml", "<Types/>"), ("word/document.xml", body.as_str())] {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).expect("a file");
        writer.write_all(content.as_bytes()).expect("its content");
    }
    (body, writer.finish().expect("an archive").into_inner())
}

/// A PDF of many pages, its contents not compressed.
fn pdf() -> Vec<u8> {
    let text = english();
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let pages: Vec<&[&str]> = lines.chunks(50).take(400).collect();
    let kids: String = (0..pages.len()).map(|at| format!("{} 0 R ", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Count {}/Kids[{kids}]>>", pages.len()),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    for (at, page) in pages.iter().enumerate() {
        let shown: String = page.iter().map(|line| format!("({line}) Tj 0 -14 Td\n")).collect();
        let content = format!("BT /F 10 Tf 50 750 Td\n{shown}ET");
        let contents = 5 + 2 * at;
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {contents} 0 R/Resources<</Font<</F 3 0 R>>>>>>"
        ));
        objects.push(format!("<</Length {}>>stream\n{content}\nendstream", content.len()));
    }
    let (mut file, mut offsets) = (String::from("%PDF-1.4\n"), Vec::new());
    for (at, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let start = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1));
    offsets.iter().for_each(|offset| file.push_str(&format!("{offset:010} 00000 n \n")));
    file.push_str(&format!("trailer<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n", offsets.len() + 1));
    file.into_bytes()
}

fn extracts(bencher: Bencher<'_, '_>, kind: Kind, document: &[u8]) {
    bencher.counter(BytesCount::of_slice(document)).bench_local(|| {
        let mut text = Normalised::default();
        extract(kind, &mut Cursor::new(document), &mut text).expect("it has text");
        text.bytes
    });
}

#[divan::bench(sample_count = 10)]
fn docx_by_its_xml(bencher: Bencher<'_, '_>) {
    let (body, document) = docx();
    bencher.counter(BytesCount::of_str(&body)).bench_local(|| {
        let mut text = Normalised::default();
        extract(Kind::Docx, &mut Cursor::new(&*document), &mut text).expect("it has text");
        text.bytes
    });
}

#[divan::bench(sample_count = 10)]
fn pdf_by_its_file(bencher: Bencher<'_, '_>) {
    extracts(bencher, Kind::Pdf, &pdf());
}

#[divan::bench(sample_count = 10)]
fn rtf(bencher: Bencher<'_, '_>) {
    let body = english().replace("\n\n", "\\par\n").replace(" hold ", " {\\b hold} ");
    extracts(bencher, Kind::Rtf, format!("{{\\rtf1\\ansi {body}}}").as_bytes());
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
            normalised.push(paragraph).expect("it is collected");
            normalised.end_paragraph().expect("it is collected");
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
