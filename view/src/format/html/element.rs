//! The effects of elements on the text in them.

/// The effect of an element on the text in and around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    /// Nothing.
    Inline,
    /// Begins and ends paragraphs.
    Block,
    /// Parts words, and is empty.
    Space,
    /// Nothing, and is empty.
    Void,
    /// Is not shown.
    Hidden,
}

impl Element {
    pub(super) fn of(name: &[u8]) -> Element {
        match name {
            b"a" | b"b" | b"code" | b"em" | b"i" | b"span" | b"strong" | b"tt" => Element::Inline,
            b"address" | b"article" | b"aside" | b"blockquote" | b"body" | b"caption" | b"center" | b"colgroup"
            | b"dd" | b"details" | b"dialog" | b"dir" | b"div" | b"dl" | b"dt" | b"fieldset" | b"figcaption"
            | b"figure" | b"footer" | b"form" | b"frameset" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6"
            | b"header" | b"hgroup" | b"hr" | b"html" | b"legend" | b"li" | b"listing" | b"main" | b"menu" | b"nav"
            | b"ol" | b"optgroup" | b"option" | b"p" | b"plaintext" | b"pre" | b"search" | b"section" | b"select"
            | b"summary" | b"table" | b"tbody" | b"td" | b"textarea" | b"tfoot" | b"th" | b"thead" | b"tr" | b"ul"
            | b"xmp" => Element::Block,
            b"br" => Element::Space,
            b"area" | b"base" | b"basefont" | b"bgsound" | b"col" | b"embed" | b"frame" | b"img" | b"input"
            | b"keygen" | b"link" | b"meta" | b"param" | b"source" | b"track" | b"wbr" => Element::Void,
            b"annotation" | b"annotation-xml" | b"audio" | b"canvas" | b"datalist" | b"defs" | b"desc" | b"head"
            | b"iframe" | b"map" | b"metadata" | b"noembed" | b"noframes" | b"noscript" | b"rp" | b"script"
            | b"style" | b"template" | b"title" | b"video" => Element::Hidden,
            _ => Element::Inline,
        }
    }

    pub(super) fn is_void(self) -> bool {
        matches!(self, Element::Void | Element::Space)
    }

    pub(super) fn is_hidden(self) -> bool {
        self == Element::Hidden
    }
}

/// The name of an element. What is longer than any name of HTML is cut off.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Name {
    bytes: [u8; 15],
    length: u8,
}

impl Name {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            let Some(place) = self.bytes.get_mut(usize::from(self.length)) else {
                return;
            };
            *place = byte;
            self.length += 1;
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_their_effects() {
        for (names, element) in [
            (&["a", "em", "unknown", "", "x-custom"][..], Element::Inline),
            (&["p", "td", "li", "h1", "option", "tr"], Element::Block),
            (&["br"], Element::Space),
            (&["img", "input", "wbr", "meta"], Element::Void),
            (&["script", "style", "title", "head", "noscript"], Element::Hidden),
        ] {
            for name in names {
                assert_eq!(Element::of(name.as_bytes()), element, "{name}");
                assert_eq!(element.is_void(), matches!(element, Element::Space | Element::Void));
                assert_eq!(element.is_hidden(), element == Element::Hidden);
            }
        }
    }

    #[test]
    fn a_long_name_is_cut_and_remains_no_name_of_html() {
        let mut name = Name::default();
        name.push(b"annotation");
        name.push(b"-xmlxxxxxxxxx");
        assert_eq!(name.bytes(), b"annotation-xmlx");
        assert_eq!(Element::of(name.bytes()), Element::Inline);
    }
}
