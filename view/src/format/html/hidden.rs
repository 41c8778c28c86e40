//! Finds the end of a hidden element, whose end tag may be omitted.

use super::element::Name;

/// Depth of elements that are followed by name inside a hidden one. Deeper ones are counted.
const DEPTH_MAX: usize = 256;

/// The hidden elements that are open. Elements are only followed inside a hidden one.
#[derive(Default)]
pub(super) struct HiddenElements {
    /// The hidden element, and those that are open in it.
    open: Vec<Name>,
    deeper: usize,
}

impl HiddenElements {
    pub(super) fn is_hidden(&self) -> bool {
        !self.open.is_empty()
    }

    /// Begins an element; true if it is shown.
    pub(super) fn start(&mut self, name: &Name, hides: bool, empty: bool) -> bool {
        let ends = self.open.split_first().is_some_and(|(first, within)| {
            let apart = within.iter().any(|open| holds_its_own(open.bytes()));
            (!apart && ends_before(first.bytes(), name.bytes())) || ends_at(first.bytes(), name.bytes())
        });
        if ends {
            self.open.clear();
            self.deeper = 0;
        }
        if empty {
            return !hides && !self.is_hidden();
        }
        match self.open.len() {
            0 if !hides => return true,
            DEPTH_MAX => self.deeper += 1,
            _ => self.open.push(*name),
        }
        false
    }

    /// Ends an element; true if it was shown.
    pub(super) fn end(&mut self, name: &Name) -> bool {
        let Some(first) = self.open.first().copied() else {
            return true;
        };
        if self.deeper > 0 {
            self.deeper -= 1;
            return false;
        }
        match self.open.iter().rposition(|open| open == name) {
            Some(at) => self.open.truncate(at),
            // The tag ends an element around the hidden one, and with it every element whose end tag may be omitted.
            None if may_lack_its_end(first.bytes()) && name.bytes() != b"br" => {
                self.open.clear();
                return true;
            }
            None => {}
        }
        false
    }
}

fn may_lack_its_end(name: &[u8]) -> bool {
    matches!(
        name,
        b"p" | b"li"
            | b"dt"
            | b"dd"
            | b"td"
            | b"th"
            | b"tr"
            | b"tbody"
            | b"thead"
            | b"tfoot"
            | b"option"
            | b"rp"
            | b"head"
    )
}

/// True if items and cells within an element are its own, and end none around it.
fn holds_its_own(name: &[u8]) -> bool {
    matches!(
        name,
        b"table" | b"ul" | b"ol" | b"menu" | b"dl" | b"select" | b"button" | b"object" | b"svg" | b"template"
    )
}

/// True if a hidden element ends before another.
fn ends_before(hidden: &[u8], next: &[u8]) -> bool {
    match hidden {
        b"p" => {
            super::element::Element::of(next) == super::element::Element::Block
                && !matches!(next, b"option" | b"optgroup" | b"textarea")
        }
        b"li" => next == b"li",
        b"dt" | b"dd" => matches!(next, b"dt" | b"dd"),
        b"td" | b"th" => matches!(next, b"td" | b"th" | b"tr" | b"tbody" | b"tfoot"),
        b"tr" => matches!(next, b"tr" | b"tbody" | b"tfoot"),
        b"tbody" | b"thead" | b"tfoot" => matches!(next, b"tbody" | b"tfoot"),
        b"option" => matches!(next, b"option" | b"optgroup"),
        b"rp" => matches!(next, b"rt" | b"rp"),
        b"head" => !matches!(
            next,
            b"base"
                | b"basefont"
                | b"bgsound"
                | b"link"
                | b"meta"
                | b"title"
                | b"noscript"
                | b"noframes"
                | b"style"
                | b"script"
                | b"template"
        ),
        _ => false,
    }
}

/// True if a hidden element ends at another at any depth.
fn ends_at(hidden: &[u8], next: &[u8]) -> bool {
    hidden == b"head" && next == b"body"
}

/// True if a style hides: `display: none` or `visibility: hidden`.
pub(super) fn by_style(style: &[u8]) -> bool {
    style.split(|&byte| byte == b';').any(|declaration| {
        let mut parts = declaration.splitn(2, |&byte| byte == b':');
        let name = parts.next().unwrap_or_default().trim_ascii();
        let value = parts.next().unwrap_or_default().trim_ascii();
        let value = value.split(|&byte| byte == b'!').next().unwrap_or_default().trim_ascii();
        (name.eq_ignore_ascii_case(b"display") && value.eq_ignore_ascii_case(b"none"))
            || (name.eq_ignore_ascii_case(b"visibility") && value.eq_ignore_ascii_case(b"hidden"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_styles_hide() {
        for (style, hides) in [
            ("", false),
            ("display:none", true),
            (" Display : NONE ; color: red", true),
            ("color: red; display:none!important", true),
            ("visibility: hidden", true),
            ("visibility: visible", false),
            ("display: block", false),
            ("display", false),
            ("display:none-such", false),
            ("background: display:none", false),
            ("opacity: 0", false),
        ] {
            assert_eq!(by_style(style.as_bytes()), hides, "{style}");
        }
    }

    fn name(text: &str) -> Name {
        let mut name = Name::default();
        name.push(text.as_bytes());
        name
    }

    /// Tags in a row: `-x` begins a hidden x, `+x` a shown one, `/x` ends x. True for those that are shown.
    fn shown(tags: &[&str]) -> Vec<bool> {
        let mut elements = HiddenElements::default();
        let step = |tag: &&str| match tag.split_at(1) {
            ("/", tag) => elements.end(&name(tag)),
            (sign, tag) => elements.start(&name(tag), sign == "-", false),
        };
        tags.iter().map(step).collect()
    }

    #[test]
    fn everything_within_a_hidden_element_is_hidden() {
        for (tags, expected) in [
            (&["+p", "/p"][..], &[true, true][..]),
            (&["-div", "+p", "/p", "/div", "+p"], &[false, false, false, false, true]),
            (&["-div", "+div", "/div", "/div", "+p"], &[false, false, false, false, true]),
            // A paragraph ends where the next begins.
            (&["-p", "+p"], &[false, true]),
            (&["-li", "+li"], &[false, true]),
            (&["-head", "+body"], &[false, true]),
        ] {
            assert_eq!(shown(tags), expected, "{tags:?}");
        }
    }
}
