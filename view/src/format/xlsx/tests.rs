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
    let wanted = "Zahlen & mehr\n1.50 TRUE result #N/A\nnote\nText\none zero\nin line";
    assert_eq!(text_of(Kind::Xlsx, &document).as_deref(), Ok(wanted));
}

#[test]
fn binary_workbooks_are_not_supported() {
    let relations =
        b"<Relationships><Relationship Id='a' Type='x/officeDocument' Target='xl/workbook.bin'/></Relationships>";
    let document = zip_of(&[TYPES, ("_rels/.rels", relations), ("xl/workbook.bin", b"\x83\x01")]);
    assert_eq!(text_of(Kind::Xlsx, &document), Err(Reason::Unsupported));
}
