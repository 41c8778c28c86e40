use crate::format::tests::{encrypted, zip_of};
use crate::kind::Kind;
use crate::outcome::Reason;
use crate::text::tests::text_of;

/// A document with this body, and other parts by their role.
fn docx(body: &str, parts: &[(&str, &str)]) -> Vec<u8> {
    let mut relations = String::new();
    let mut files = vec![
        ("[Content_Types].xml".to_owned(), "<Types/>".to_owned()),
        ("_rels/.rels".to_owned(), relation("a", "officeDocument", "word/document.xml")),
        ("word/document.xml".to_owned(), format!("<w:document><w:body>{body}</w:body></w:document>")),
    ];
    for (at, (role, content)) in parts.iter().enumerate() {
        relations.push_str(&relation(&format!("r{at}"), role, &format!("part{at}.xml")));
        files.push((format!("word/part{at}.xml"), format!("<w:part>{content}</w:part>")));
    }
    files.push(("word/_rels/document.xml.rels".to_owned(), format!("<Relationships>{relations}</Relationships>")));
    zip_of(&files.iter().map(|(name, content)| (name.as_str(), content.as_bytes())).collect::<Vec<_>>())
}

fn relation(id: &str, role: &str, target: &str) -> String {
    format!("<Relationship Id=\"{id}\" Type=\"http://schemas.example/{role}\" Target=\"{target}\"/>")
}

fn check(body: &str, wanted: &str) {
    let document = docx(body, &[]);
    assert_eq!(Kind::detect(&mut std::io::Cursor::new(&*document)).ok(), Some(Kind::Docx));
    assert_eq!(text_of(Kind::Docx, &document).as_deref(), Ok(wanted), "{body}");
}

fn p(runs: &str) -> String {
    format!("<w:p>{runs}</w:p>")
}

fn r(text: &str) -> String {
    format!("<w:r><w:t>{text}</w:t></w:r>")
}

#[test]
fn runs_are_joined_and_paragraphs_and_cells_parted() {
    check(&(p(&(r("Hel") + &r("lo &amp; all"))) + &p("") + &p(&r("two"))), "Hello & all\ntwo");
    check(
        &p("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>"),
        "a b c-d",
    );
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", p(&r(text)));
    check(&format!("<w:tbl><w:tr>{}{}</w:tr></w:tbl>", cell("a"), cell("b")), "a\nb");
    check(&p(&("<w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>".to_owned() + &r("a"))), "a");
}

#[test]
fn deletions_instructions_and_hidden_text_are_left_out_and_insertions_read() {
    let runs = [
        r("a"),
        "<w:del><w:r><w:delText>x</w:delText><w:t>x</w:t></w:r></w:del>".to_owned(),
        format!("<w:moveFrom>{}</w:moveFrom>", r("x")),
        format!("<w:ins>{}</w:ins>", r("b")),
        "<w:r><w:fldChar/><w:instrText>PAGE x</w:instrText></w:r>".to_owned(),
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>x</w:t></w:r>".to_owned(),
        "<w:r><w:rPr><w:vanish w:val=\"0\"/></w:rPr><w:t>c</w:t></w:r>".to_owned(),
        "<w:sdt><w:sdtPr><w:text/></w:sdtPr><w:sdtContent><w:r><w:t>d</w:t></w:r></w:sdtContent></w:sdt>".to_owned(),
    ];
    check(&p(&runs.concat()), "abcd");
}

#[test]
fn boxes_come_after_their_paragraph_and_alternatives_are_read_once() {
    let content = format!("<w:txbxContent>{}{}</w:txbxContent>", p(&r("box")), p(&r("of two")));
    let alternatives = format!(
        "<w:r><mc:AlternateContent><mc:Choice><x>{content}</x></mc:Choice><mc:Fallback><y>{content}</y></mc:Fallback>\
         </mc:AlternateContent></w:r>"
    );
    check(&p(&(r("be") + &alternatives + &r("fore"))), "before\nbox\nof two");
    let fallback = format!("<mc:AlternateContent><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>", p(&r("old")));
    check(&fallback, "old");
}

#[test]
fn notes_headers_footers_and_comments_follow_the_body() {
    let part = |text: &str| p(&r(text));
    let parts = [
        ("comments", part("comment")),
        ("header", part("head")),
        ("footer", part("foot")),
        ("footnotes", part("note")),
        ("endnotes", part("end")),
        ("glossaryDocument", part("x")),
    ];
    let parts: Vec<(&str, &str)> = parts.iter().map(|(role, content)| (*role, content.as_str())).collect();
    let document = docx(&p(&r("body")), &parts);
    assert_eq!(text_of(Kind::Docx, &document).as_deref(), Ok("body\nnote\nend\nhead\nfoot\ncomment"));
}

#[test]
fn references_to_the_outside_are_not_followed() {
    let external = "<Relationships><Relationship Id=\"a\" Type=\"x/officeDocument\" Target=\"word/document.xml\"/>\
        <Relationship Id=\"b\" Type=\"x/header\" TargetMode=\"External\" Target=\"http://example.org/word/document.xml\"/></Relationships>";
    let body = format!("<w:document>{}</w:document>", p(&r("a")));
    let document = zip_of(&[
        ("[Content_Types].xml", b""),
        ("_rels/.rels", external.as_bytes()),
        ("word/document.xml", body.as_bytes()),
        ("word/_rels/document.xml.rels", external.as_bytes()),
    ]);
    assert_eq!(text_of(Kind::Docx, &document).as_deref(), Ok("a"));
}

#[test]
fn a_document_that_cannot_be_read_gives_its_reason() {
    let document = docx(&p(&r(&"a ".repeat(1000))), &[]);
    assert_eq!(text_of(Kind::Docx, &document[..document.len() / 2]), Err(Reason::Damaged));
    assert_eq!(text_of(Kind::Docx, &encrypted(&document)), Err(Reason::Encrypted));
    let cut = zip_of(&[("[Content_Types].xml", b""), ("word/document.xml", b"<w:document><w:body><w:p><w:r><w:t>a")]);
    assert_eq!(text_of(Kind::Docx, &cut), Err(Reason::Damaged));
    assert_eq!(
        text_of(Kind::Docx, &zip_of(&[("[Content_Types].xml", b""), ("word/x.xml", b"")])),
        Err(Reason::Damaged)
    );
}

#[test]
fn a_bomb_is_refused_before_it_is_unpacked() {
    let body = p(&r(&" ".repeat(64 << 20)));
    let document = docx(&body, &[]);
    assert!(document.len() < 1 << 20);
    let begun = text_of(Kind::Docx, &document);
    assert_eq!(begun, Err(Reason::Ratio));
}

#[test]
fn embedded_files_are_members() {
    let document = zip_of(&[
        ("[Content_Types].xml", b""),
        ("word/document.xml", b"<w:document/>"),
        ("word/embeddings/sheet.xlsx", b"PK"),
        ("word/embeddings/", b""),
        ("word/media/image.png", b"x"),
    ]);
    assert_eq!(
        crate::format::tests::members_of(Kind::Docx, &document),
        Ok(vec![("word/embeddings/sheet.xlsx".into(), b"PK".to_vec())])
    );
}
