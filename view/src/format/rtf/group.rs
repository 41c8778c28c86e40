//! Groups of RTF: their purposes, and the state within them.

/// The state within a group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) role: Option<Role>,
    /// The group is skipped.
    pub(super) skipped: bool,
    pub(super) skipped_around: bool,
    /// It is to be skipped when its word is not known.
    pub(super) ignorable: bool,
    /// Text is hidden or deleted.
    pub(super) hidden: bool,
    /// Number of characters that replace one that is given by number.
    pub(super) stand_ins: u32,
    pub(super) font: Option<i32>,
}

impl Default for Group {
    fn default() -> Group {
        Group {
            role: None,
            skipped: false,
            skipped_around: false,
            ignorable: false,
            hidden: false,
            stand_ins: 1,
            font: None,
        }
    }
}

impl Group {
    /// A group within this one.
    pub(super) fn inner(&self) -> Group {
        let fonts = if self.role == Some(Role::Fonts) { self.role } else { None };
        // Of several forms of a text, the one in Unicode is read, which is marked as such.
        let skipped = self.skipped || self.role == Some(Role::Alternatives);
        Group { role: fonts, skipped, skipped_around: self.skipped, ignorable: false, ..*self }
    }

    pub(super) fn is_shown(&self) -> bool {
        !self.skipped && !self.hidden
    }
}

/// The purpose of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Nothing of it is text.
    Skipped,
    /// It is the table of fonts.
    Fonts,
    /// It comes after the paragraph around it.
    Aside,
    /// It is paragraphs of its own.
    Apart,
    /// It has the same text in several forms.
    Alternatives,
    /// It is the form in Unicode.
    Unicode,
    /// Its text counts as that of the group around it.
    Transparent,
}

/// The purpose of a group that begins with a word.
pub(super) fn role(word: &[u8]) -> Option<Role> {
    Some(match word {
        b"fonttbl" => Role::Fonts,
        b"colortbl" | b"stylesheet" | b"info" | b"pict" | b"objdata" | b"fldinst" | b"listtext" | b"pntext" | b"xe"
        | b"tc" | b"rxe" | b"sp" | b"sn" | b"sv" | b"nonshppict" | b"atnid" | b"atnauthor" | b"filetbl"
        | b"listtable" | b"revtbl" | b"themedata" | b"datastore" | b"private" | b"bkmkstart" | b"bkmkend" | b"falt"
        | b"fontemb" | b"ftnsep" | b"ftnsepc" | b"aftnsep" | b"aftnsepc" | b"template" | b"generator" => Role::Skipped,
        b"footnote" | b"annotation" | b"shptxt" | b"dptxbxtext" => Role::Aside,
        b"header" | b"headerl" | b"headerr" | b"headerf" | b"footer" | b"footerl" | b"footerr" | b"footerf" => {
            Role::Apart
        }
        b"upr" => Role::Alternatives,
        b"ud" => Role::Unicode,
        b"shpinst" | b"shppict" => Role::Transparent,
        _ => return None,
    })
}

/// The encoding of a code page.
pub(in crate::format) fn encoding_of_page(page: i32) -> Option<&'static encoding_rs::Encoding> {
    Some(match page {
        437 | 850 | 1252 => encoding_rs::WINDOWS_1252,
        866 => encoding_rs::IBM866,
        874 => encoding_rs::WINDOWS_874,
        932 => encoding_rs::SHIFT_JIS,
        936 => encoding_rs::GBK,
        949 => encoding_rs::EUC_KR,
        950 => encoding_rs::BIG5,
        1250 => encoding_rs::WINDOWS_1250,
        1251 => encoding_rs::WINDOWS_1251,
        1253 => encoding_rs::WINDOWS_1253,
        1254 => encoding_rs::WINDOWS_1254,
        1255 => encoding_rs::WINDOWS_1255,
        1256 => encoding_rs::WINDOWS_1256,
        1257 => encoding_rs::WINDOWS_1257,
        1258 => encoding_rs::WINDOWS_1258,
        10000 => encoding_rs::MACINTOSH,
        65001 => encoding_rs::UTF_8,
        _ => return None,
    })
}

/// The encoding of a character set of a font.
pub(super) fn encoding_of_charset(charset: i32) -> Option<&'static encoding_rs::Encoding> {
    encoding_of_page(match charset {
        77 => 10000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_pages_and_character_sets_name_encodings() {
        for (page, name) in [
            (1252, Some("windows-1252")),
            (932, Some("Shift_JIS")),
            (65001, Some("UTF-8")),
            (10000, Some("macintosh")),
            (0, None),
            (-1, None),
        ] {
            assert_eq!(encoding_of_page(page).map(|encoding| encoding.name()), name, "{page}");
        }
        for (charset, name) in
            [(204, Some("windows-1251")), (128, Some("Shift_JIS")), (77, Some("macintosh")), (0, None), (255, None)]
        {
            assert_eq!(encoding_of_charset(charset).map(|encoding| encoding.name()), name, "{charset}");
        }
    }

    #[test]
    fn words_begin_groups_with_their_roles() {
        for (word, expected) in [
            ("fonttbl", Some(Role::Fonts)),
            ("pict", Some(Role::Skipped)),
            ("footnote", Some(Role::Aside)),
            ("headerl", Some(Role::Apart)),
            ("upr", Some(Role::Alternatives)),
            ("ud", Some(Role::Unicode)),
            ("shppict", Some(Role::Transparent)),
            ("b", None),
            ("", None),
        ] {
            assert_eq!(role(word.as_bytes()), expected, "{word}");
        }
    }

    #[test]
    fn a_group_inherits_what_hides_its_text() {
        let plain = Group::default();
        for (outer, skipped, is_shown) in [
            (plain.clone(), false, true),
            (Group { hidden: true, ..plain.clone() }, false, false),
            (Group { skipped: true, ..plain.clone() }, true, false),
            (Group { role: Some(Role::Alternatives), ..plain.clone() }, true, false),
            (Group { ignorable: true, ..plain.clone() }, false, true),
        ] {
            let inner = outer.inner();
            assert_eq!((inner.skipped, inner.is_shown()), (skipped, is_shown), "{outer:?}");
            assert_eq!((inner.skipped_around, inner.ignorable), (outer.skipped, false));
        }
        assert_eq!(Group { role: Some(Role::Fonts), ..plain }.inner().role, Some(Role::Fonts));
    }
}
