use crate::format::tests::zip_of;
use crate::kind::Kind;
use crate::outcome::Reason;
use crate::text::tests::text_of;

fn document(kind: &str, body: &str, styles: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    );
    let styles = format!(
        "<office:document-styles><office:master-styles><text:p>x</text:p>{styles}</office:master-styles></office:document-styles>"
    );
    zip_of(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("content.xml", content.as_bytes()),
        ("styles.xml", styles.as_bytes()),
        ("META-INF/manifest.xml", b"<manifest:manifest/>"),
    ])
}

fn check(kind: &str, body: &str, wanted: &str) {
    assert_eq!(text_of(Kind::OpenDocument, &document(kind, body, "")).as_deref(), Ok(wanted), "{body}");
}

#[test]
fn headings_and_paragraphs_are_read_with_their_spaces() {
    check(
        "text",
        "<text:h>One</text:h><text:p>a<text:s text:c='3'/>b<text:tab/>c<text:line-break/>d<text:span>e</text:span></text:p>",
        "One\na b c de",
    );
    let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    check(
        "text",
        &format!(
            "<table:table table:name='x'><table:table-row>{}{}</table:table-row></table:table>",
            cell("a"),
            cell("b")
        ),
        "a\nb",
    );
}

#[test]
fn notes_annotations_and_boxes_come_after_their_paragraph() {
    let note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p></text:note-body></text:note>";
    let annotation =
        "<office:annotation><dc:creator>x</dc:creator><dc:date>x</dc:date><text:p>remark</text:p></office:annotation>";
    let frame = "<draw:frame><draw:text-box><text:p>box</text:p><text:p>two</text:p></draw:text-box><svg:title>x</svg:title></draw:frame>";
    check(
        "text",
        &format!("<text:p>be{note}{annotation}{frame}fore</text:p><text:p>next</text:p>"),
        "before\nnote\nremark\nbox\ntwo\nnext",
    );
}

#[test]
fn deletions_are_left_out() {
    check(
        "text",
        "<text:tracked-changes><text:changed-region><text:p>x</text:p></text:changed-region></text:tracked-changes><text:p>a</text:p>",
        "a",
    );
}

#[test]
fn rows_of_sheets_are_paragraphs_under_the_name_of_the_sheet() {
    let row = "<table:table-row><table:table-cell office:value='1.5'><text:p>1,50</text:p></table:table-cell>\
        <table:table-cell><office:annotation><text:p>remark</text:p></office:annotation><text:p>b</text:p><text:p>c</text:p></table:table-cell></table:table-row>";
    check(
        "spreadsheet",
        &format!("<table:table table:name='Tabelle 1'>{row}{row}</table:table>"),
        "Tabelle 1\n1,50 b c\nremark\n1,50 b c\nremark",
    );
}

#[test]
fn headers_and_footers_follow_and_other_parts_of_styles_do_not() {
    let styles = "<style:header><text:p>head <text:page-number>3</text:page-number></text:p></style:header><style:footer><text:p>foot</text:p></style:footer>";
    assert_eq!(
        text_of(Kind::OpenDocument, &document("text", "<text:p>a</text:p>", styles)).as_deref(),
        Ok("a\nhead\nfoot")
    );
}

#[test]
fn flat_files_are_read_too() {
    let flat = b"<?xml version='1.0'?><office:document><office:meta><dc:title>x</dc:title></office:meta>\
        <office:body><office:text><text:p>a<draw:image><office:binary-data>eA==</office:binary-data></draw:image></text:p></office:text></office:body></office:document>";
    assert_eq!(Kind::detect(&mut std::io::Cursor::new(&flat[..])).ok(), Some(Kind::OpenDocument));
    assert_eq!(text_of(Kind::OpenDocument, flat).as_deref(), Ok("a"));
}

#[test]
fn a_document_with_a_password_is_distinguished_from_a_damaged_one() {
    let manifest = b"<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>";
    let locked = zip_of(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("content.xml", b"\x12\x34"),
        ("META-INF/manifest.xml", manifest),
    ]);
    assert_eq!(text_of(Kind::OpenDocument, &locked), Err(Reason::Encrypted));
    let damaged = zip_of(&[("mimetype", b"application/vnd.oasis.opendocument.text"), ("content.xml", b"\x12\x34")]);
    assert_eq!(text_of(Kind::OpenDocument, &damaged).as_deref(), Ok(""));
}
