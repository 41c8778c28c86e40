use crate::format::tests::zip_of;
use crate::kind::Kind;
use crate::text::tests::text_of;

fn slide(paragraphs: &[&str]) -> String {
    let all: String = paragraphs.iter().map(|text| format!("<a:p><a:r><a:t>{text}</a:t></a:r></a:p>")).collect();
    format!("<p:sld>{all}<a:p><a:fld type='slidenum'><a:t>7</a:t></a:fld></a:p></p:sld>")
}

#[test]
fn slides_are_read_in_their_order_with_their_notes_and_comments() {
    let presentation = b"<p:presentation><p:sldIdLst><p:sldId id='256' r:id='b'/><p:sldId id='257' r:id='a'/></p:sldIdLst></p:presentation>";
    let relations = b"<Relationships><Relationship Id='a' Type='x/slide' Target='slides/slide1.xml'/>\
        <Relationship Id='b' Type='x/slide' Target='slides/slide2.xml'/></Relationships>";
    let of_slide = b"<Relationships><Relationship Id='c' Type='x/comments' Target='../comments/c.xml'/>\
        <Relationship Id='n' Type='x/notesSlide' Target='../notesSlides/n.xml'/></Relationships>";
    let document = zip_of(&[
        ("[Content_Types].xml", b""),
        ("ppt/presentation.xml", presentation),
        ("ppt/_rels/presentation.xml.rels", relations),
        ("ppt/slides/slide1.xml", slide(&["second", "and more"]).as_bytes()),
        ("ppt/slides/slide2.xml", slide(&["first<a:br/>x"]).replace("<a:br/>x", "").as_bytes()),
        ("ppt/slides/_rels/slide2.xml.rels", of_slide),
        ("ppt/notesSlides/n.xml", slide(&["a note"]).as_bytes()),
        ("ppt/comments/c.xml", b"<p:cmLst><p:cm><p:text>a comment</p:text></p:cm></p:cmLst>"),
    ]);
    assert_eq!(text_of(Kind::Pptx, &document).as_deref(), Ok("first\na note\na comment\nsecond\nand more"));
}
