use crate::kind::Kind;
use crate::outcome::Reason;
use crate::text::tests::text_of;

/// A document with one page for each content.
fn pdf(contents: &[&str]) -> Vec<u8> {
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";
    let kids: String = (0..contents.len()).map(|at| format!("{} 0 R ", 4 + 2 * at)).collect();
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        format!("<</Type/Pages/Count {}/Kids[{kids}]>>", contents.len()),
        font.to_owned(),
    ];
    for (at, content) in contents.iter().enumerate() {
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {} 0 R/Resources<</Font<</F 3 0 R>>>>>>",
            5 + 2 * at
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

fn check(contents: &[&str], wanted: &str) {
    let document = pdf(contents);
    assert_eq!(Kind::detect(&mut std::io::Cursor::new(&*document)).ok(), Some(Kind::Pdf));
    assert_eq!(text_of(Kind::Pdf, &document).as_deref(), Ok(wanted), "{contents:?}");
}

#[test]
fn words_lines_and_paragraphs_are_put_together() {
    check(
        &["BT /F 12 Tf 50 700 Td (Hello you) Tj 0 -14 Td (and me.) Tj 0 -40 Td (Next) Tj ET"],
        "Hello you and me.\nNext",
    );
    check(&["BT /F 12 Tf 50 700 Td [(Wo) 20 (rd) -500 (gap)] TJ ET"], "Word gap");
    check(&["BT /F 12 Tf 50 700 Td (E = mc) Tj 5 Ts /F 7 Tf (2) Tj ET"], "E = mc2");
}

#[test]
fn a_word_that_is_parted_at_the_end_of_a_line_is_whole() {
    check(
        &["BT /F 12 Tf 50 700 Td (docu-) Tj 0 -14 Td (ments of UTF-) Tj 0 -14 Td (8 are) Tj ET"],
        "documents of UTF- 8 are",
    );
    check(&["BT /F 12 Tf 50 700 Td (docu\\255) Tj 0 -14 Td (Ments) Tj ET"], "docuMents");
}

#[test]
fn pages_end_paragraphs_and_columns_are_read_one_after_the_other() {
    check(&["BT /F 12 Tf 50 700 Td (one) Tj ET", "BT /F 12 Tf 50 700 Td (two) Tj ET"], "one\ntwo");
    let columns = "BT /F 12 Tf 50 700 Td (a1) Tj 0 -14 Td (a2) Tj 300 14 Td (b1) Tj 0 -14 Td (b2) Tj ET";
    check(&[columns], "a1 a2\nb1 b2");
}

#[test]
fn what_is_drawn_twice_to_look_bold_is_read_once() {
    check(&["BT /F 12 Tf 2 Tr 50 700 Td (bold) Tj ET"], "bold");
    check(&["BT /F 12 Tf 1 0 0 1 50 700 Tm (b) Tj 1 0 0 1 50.3 700 Tm (b) Tj ET"], "b");
}

#[test]
fn text_that_is_turned_is_read_in_its_own_direction() {
    check(&["BT /F 12 Tf 0 1 -1 0 100 100 Tm (up we) Tj ( go) Tj ET"], "up we go");
}

#[test]
fn pages_without_text_have_none_and_what_is_no_pdf_is_damaged() {
    check(&["0 0 m 10 10 l S"], "");
    assert_eq!(text_of(Kind::Pdf, b"%PDF-1.4\nnothing"), Err(Reason::Damaged));
}
