//! Where a hidden element ends: tags that need not be written are taken into account.

use super::element::Name;

/// How deep elements are told apart by name inside of a hidden one. Deeper ones are counted.
const DEPTH_MAX: usize = 256;

/// Whether what comes is hidden. Elements are only followed while something is.
#[derive(Default)]
pub(super) struct Hidden {
    /// The hidden element, and those that are open in it.
    open: Vec<Name>,
    deeper: usize,
}

impl Hidden {
    pub(super) fn is_hidden(&self) -> bool {
        !self.open.is_empty()
    }

    /// An element begins. Tells whether it is shown.
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

    /// An element ends. Tells whether it was shown.
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
            // What is not open in here is open around it, and ends what need not be ended.
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

/// Whether items and cells within an element are its own, and end none around it.
fn holds_its_own(name: &[u8]) -> bool {
    matches!(
        name,
        b"table" | b"ul" | b"ol" | b"menu" | b"dl" | b"select" | b"button" | b"object" | b"svg" | b"template"
    )
}

/// Whether a hidden element ends before another.
fn ends_before(hidden: &[u8], next: &[u8]) -> bool {
    match hidden {
        b"p" => {
            super::Element::of(next) == super::Element::Block && !matches!(next, b"option" | b"optgroup" | b"textarea")
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

/// Whether a hidden element ends at another wherever that stands.
fn ends_at(hidden: &[u8], next: &[u8]) -> bool {
    hidden == b"head" && next == b"body"
}

/// Whether a style hides: `display: none` or `visibility: hidden`.
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
