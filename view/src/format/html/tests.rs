use crate::kind::Kind;
use crate::text::tests::text_of;

fn check(page: &str, wanted: &str) {
    assert_eq!(text_of(Kind::Html, page.as_bytes()).as_deref(), Ok(wanted), "{page}");
}

#[test]
fn blocks_and_cells_are_paragraphs_and_inline_elements_part_nothing() {
    check("<p>one<p>two <b>th</b>ree<br>four", "one\ntwo three four");
    check("<table><tr><td>a<td>b</table>c", "a\nb\nc");
    check("<ul><li>x<ul><li>y</ul></ul>", "x\ny");
    check("<div>a<div>b</div>c</div>", "a\nb\nc");
    check("<pre>a\n  b</pre>", "a b");
}

#[test]
fn hidden_elements_are_left_out() {
    for hidden in [
        "<script>if (a < b) document.write('<p>x</p>')</script>",
        "<style>p > b {}</style>",
        "<template><p>x</template>",
        "<noscript><p>x</p></noscript>",
        "<!-- x --><!-- <p>x -->",
        "<title>x</title>",
        "<iframe>x</iframe>",
        "<video><p>x</p></video>",
        "<img alt=x>",
        "<input type=hidden value=x>",
        "<div hidden>x<div>x</div>x</div>",
        "<div style='color: red; DISPLAY : none !important'>x<p>x<p>x</div>",
        "<span style=visibility:hidden>x</span>",
        "<dialog>x</dialog>",
        "<textarea hidden>x</textarea>",
        "<select hidden><option>x<option>x</select>",
    ] {
        check(&format!("<html><body>a{hidden}b</body></html>"), "ab");
    }
}

#[test]
fn elements_that_only_look_hidden_are_shown() {
    check("<p style='display:block'>a</p><p data-hidden>b</p><dialog open>c</dialog>", "a\nb\nc");
    check("<div hidden=until-found>a</div>", "a");
    check("<textarea>a <b></textarea>", "a <b>");
}

#[test]
fn hidden_elements_without_an_end_tag_end_where_the_next_begins() {
    check("<ul><li hidden>x<b>x</b><li>a</ul>b", "a\nb");
    check("<ul><li>a<li hidden>x</ul>b", "a\nb");
    check("<p hidden>x<p>a", "a");
    check("<p hidden>x<div>a</div>", "a");
    check("<table><tr><td hidden>x<td>a<tr hidden><td>x<tr><td>b</table>", "a\nb");
    check("<div hidden><p hidden>x</div>a", "a");
    check("<head><title>x</title><p>a", "a");
    check("<html><head><meta name=a><script>x</script><body>a", "a");
}

#[test]
fn the_depth_of_hidden_elements_is_bounded() {
    let page = format!("<div hidden>{}x{}</div>a", "<i>".repeat(1000), "</i>".repeat(1000));
    check(&page, "a");
}

#[test]
fn entities_are_characters_and_no_others_are_followed() {
    check("&lt;a&gt; &amp;amp; &eacute;&#233;&#xE9; &nbsp;&hellip; &unknown;", "<a> &amp; ééé ... &unknown;");
    check("<!DOCTYPE html [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><p>&x;", "]>\n&x;");
}

#[test]
fn the_encoding_that_a_page_declares_is_used() {
    let latin = |meta: &str| {
        let page = format!("<html><head>{meta}</head><body>\u{E9}\u{A4}</body></html>");
        page.chars().map(|c| u8::try_from(u32::from(c)).expect("latin")).collect::<Vec<_>>()
    };
    for (meta, wanted) in [
        ("<meta charset=iso-8859-15>", "é€"),
        ("<META HTTP-EQUIV='Content-Type' CONTENT=\"text/html; CharSet = windows-1251\">", "й¤"),
        ("<meta name=x content='no charset'><meta charset='koi8-r'>", "Ия"),
    ] {
        let text = text_of(Kind::Html, &latin(meta)).expect("a page");
        assert_eq!(text.chars().next(), wanted.chars().next(), "{meta}");
    }
    let page = "<html><body>naïve Größe</body></html>";
    check(page, "naïve Größe");
    let wide: Vec<u8> = format!("\u{FEFF}{page}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(text_of(Kind::Html, &wide).as_deref(), Ok("naïve Größe"));
    let latin: Vec<u8> = page.chars().map(|c| u8::try_from(u32::from(c)).expect("latin")).collect();
    assert_eq!(text_of(Kind::Html, &latin).as_deref(), Ok("naïve Größe"), "undeclared");
}

#[test]
fn xhtml_is_read_by_the_rules_of_xml() {
    check(
        "<?xml version='1.0'?><html><head><script src='x'/><title/></head><body><p>a<![CDATA[<b>]]></p></body></html>",
        "a<b>",
    );
}

#[test]
fn pieces_of_any_size_give_the_same_text() {
    let page = format!("<p>{}</p>", "größer als ein Stück ".repeat(10_000));
    check(&page, "größer als ein Stück ".repeat(10_000).trim_end());
}
