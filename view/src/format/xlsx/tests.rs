use crate::format::tests::zip_of;
use crate::kind::Kind;
use crate::outcome::Reason;
use crate::text::tests::text_of;

const TYPES: (&str, &[u8]) = ("[Content_Types].xml", b"<Types/>");
const RELATIONS: &[u8] = b"<Relationships>\
    <Relationship Id='s' Type='x/sharedStrings' Target='sharedStrings.xml'/>\
    <Relationship Id='1' Type='x/worksheet' Target='worksheets/first.xml'/>\
    <Relationship Id='2' Type='x/worksheet' Target='/xl/worksheets/second.xml'/></Relationships>";

#[test]
fn sheets_are_read_in_their_order_row_by_row() {
    let book = b"<workbook><sheets><sheet name='Zahlen &amp; mehr' sheetId='7' r:id='2'/><sheet name='Text' sheetId='1' r:id='1'/></sheets></workbook>";
    let shared = b"<sst><si><t>zero</t></si><si><r><t>o</t></r><r><t>ne</t></r><rPh><t>x</t></rPh></si></sst>";
    let first = b"<worksheet><sheetData><row><c t='s'><v>1</v></c><c t='s'><v>0</v></c><c t='s'><v>99</v></c></row>\
        <row><c t='inlineStr'><is><t>in line</t></is></c></row></sheetData></worksheet>";
    let second = b"<worksheet><row><c><v>1.50</v></c><c t='b'><v>1</v></c><c t='str'><f>A1</f><v>result</v></c><c t='e'><v>#N/A</v></c></row></worksheet>";
    let relations =
        b"<Relationships><Relationship Id='c' Type='x/comments' Target='../comments1.xml'/></Relationships>";
    let comments = b"<comments><authors><author>x</author></authors><commentList><comment><text><r><t>no</t></r><r><t>te</t></r></text></comment></commentList></comments>";
    let document = zip_of(&[
        TYPES,
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
        ("xl/sharedStrings.xml", shared),
        ("xl/worksheets/first.xml", first),
        ("xl/worksheets/second.xml", second),
        ("xl/worksheets/_rels/second.xml.rels", relations),
        ("xl/comments1.xml", comments),
    ]);
    let wanted = "Zahlen & mehr\n1.5 TRUE result #N/A\nnote\nText\none zero\nin line";
    assert_eq!(text_of(Kind::Xlsx, &document).as_deref(), Ok(wanted));
}

#[test]
fn a_binary_workbook_that_is_cut_is_damaged() {
    let relations =
        b"<Relationships><Relationship Id='a' Type='x/officeDocument' Target='xl/workbook.bin'/></Relationships>";
    let document = zip_of(&[TYPES, ("_rels/.rels", relations), ("xl/workbook.bin", b"\x83\x01")]);
    assert_eq!(text_of(Kind::Xlsx, &document), Err(Reason::Damaged));
}

/// A workbook of one sheet with these rows, and these shared texts.
fn book(rows: &str, shared: &str) -> Vec<u8> {
    zip_of(&[
        TYPES,
        ("xl/workbook.xml", b"<workbook><sheets><sheet name='S' r:id='1'/></sheets></workbook>"),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
        ("xl/sharedStrings.xml", format!("<sst>{shared}</sst>").as_bytes()),
        ("xl/worksheets/first.xml", format!("<worksheet>{rows}</worksheet>").as_bytes()),
    ])
}

fn check(rows: &str, shared: &str, wanted: &str) {
    assert_eq!(text_of(Kind::Xlsx, &book(rows, shared)).as_deref(), Ok(wanted), "{rows} {shared}");
}

#[test]
fn a_cell_that_names_no_shared_text_is_empty() {
    for number in ["2", "-1", "18446744073709551616", "x", "", "1.0", "&#x30;&#x30;7"] {
        check(&format!("<row><c t='s'><v>{number}</v></c><c><v>9</v></c></row>"), "<si><t>a</t></si><si/>", "S\n9");
    }
    check("<row><c t='s'><v> 0\n</v></c><c t='s'><v>1</v></c></row>", "<si><t>a</t></si><si/>", "S\na");
    check("<row><c t='s'/><c/><c t='b'/></row>", "", "S");
}

#[test]
fn the_kind_of_a_cell_does_not_pass_on_to_the_next() {
    check(
        "<row><c t='b'><v>0</v></c><c><v>1</v></c><c t='s'><v>0</v></c><c><v>0</v></c><c t='b'><v>7</v></c></row>",
        "<si><t>a</t></si>",
        "S\nFALSE 1 a 0 7",
    );
}

#[test]
fn reading_aids_are_left_out_in_cells_and_in_shared_texts() {
    let shared = "<si><t>東京</t><rPh sb='0'><t>とうきょう</t></rPh><phoneticPr/></si><si><r><t>a</t></r><rPh><t>x</t></rPh><r><t>b</t></r></si>";
    check("<row><c t='s'><v>0</v></c><c t='s'><v>1</v></c></row>", shared, "S\n東京 ab");
    check("<row><c t='inlineStr'><is><t>a</t><rPh><t>x</t></rPh><r><t>b</t></r></is></c></row>", "", "S\nab");
}

#[test]
fn a_workbook_without_its_parts_is_damaged_and_one_without_a_sheet_has_its_name_alone() {
    assert_eq!(text_of(Kind::Xlsx, &zip_of(&[TYPES])), Err(Reason::Damaged));
    let named = b"<workbook><sheet name='A' r:id='1'/><sheet name='B' r:id='9'/><sheet/></workbook>";
    let alone = zip_of(&[TYPES, ("xl/workbook.xml", named)]);
    assert_eq!(text_of(Kind::Xlsx, &alone).as_deref(), Ok("A\nB"));
    let cut = b"<worksheet><row><c><v>1</v></c>";
    let book = zip_of(&[
        TYPES,
        ("xl/workbook.xml", named),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
        ("xl/worksheets/first.xml", cut),
    ]);
    assert_eq!(text_of(Kind::Xlsx, &book), Err(Reason::Damaged));
}

#[test]
fn numbers_have_the_digits_that_are_shown() {
    let cases = [
        ("0.10000000000000001", "0.1"),
        ("1E-3", "0.001"),
        ("2.343434343E9", "2343434343"),
        ("45000", "45000"),
        ("x", "x"),
    ];
    for (stored, wanted) in cases {
        let text = text_of(Kind::Xlsx, &book(&format!("<row><c><v>{stored}</v></c></row>"), ""));
        assert_eq!(text.as_deref(), Ok(format!("S\n{wanted}").as_str()), "{stored}");
    }
    let text = text_of(Kind::Xlsx, &book("<row><c t='str'><v>1.50</v></c></row>", ""));
    assert_eq!(text.as_deref(), Ok("S\n1.50"));
}

#[test]
fn headers_and_footers_of_pages_are_read() {
    let sheet = "<row><c><v>1</v></c></row><headerFooter><oddHeader>&amp;L&amp;\"Arial\"Secret&amp;RPage &amp;P</oddHeader></headerFooter>";
    assert_eq!(text_of(Kind::Xlsx, &book(sheet, "")).as_deref(), Ok("S\n1\nSecret\nPage"));
}
