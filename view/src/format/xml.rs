//! XML, walked tag by tag: no reference is followed, only the five entities are known, and no tree is built.

use std::borrow::Cow;
use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::events::{BytesStart, Event};

use crate::outcome::Reason;
use crate::stop::reason;

/// Depth of elements within each other at most.
const DEPTH_MAX: usize = 10_000;

/// Is shown each tag and each text.
pub(super) trait XmlVisitor {
    /// An element begins.
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        let _ = tag;
        Ok(())
    }

    /// An element ends, by its name without the prefix.
    fn end(&mut self, name: &str) -> Result<(), Reason> {
        let _ = name;
        Ok(())
    }

    /// Text, in as many pieces as it comes in.
    fn text(&mut self, text: &str) -> Result<(), Reason> {
        let _ = text;
        Ok(())
    }
}

/// The beginning of an element.
pub(super) struct Tag<'x>(&'x BytesStart<'x>);

impl Tag<'_> {
    /// Its name without the prefix.
    pub(super) fn name(&self) -> &str {
        local(self.0.name().into_inner())
    }

    /// Its name with the prefix.
    pub(super) fn full_name(&self) -> &str {
        self.0.name().into_inner()
    }

    /// The value of an attribute, by its name without the prefix.
    pub(super) fn attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        self.value(|key| local(key) == name)
    }

    /// The value of an attribute, by its name with the prefix.
    pub(super) fn full_attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        self.value(|key| key == name)
    }

    /// The id of a part that it refers to: the attribute `id` that has a prefix, whichever.
    pub(super) fn reference(&self) -> Option<Cow<'_, str>> {
        self.value(|key| key.ends_with(":id"))
    }

    fn value(&self, wanted: impl Fn(&str) -> bool) -> Option<Cow<'_, str>> {
        let mut attributes = self.0.attributes();
        let attributes = attributes.with_checks(false);
        let attribute = attributes.filter_map(Result::ok).find(|attribute| wanted(attribute.key.into_inner()))?;
        Some(match attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0) {
            Ok(value) => Cow::Owned(value.into_owned()),
            Err(_) => Cow::Owned(attribute.value.into_owned()),
        })
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Walks XML to its end.
pub(super) fn walk(input: impl BufRead, visit: &mut dyn XmlVisitor) -> Result<(), Reason> {
    let mut reader = Reader::from_reader(input);
    let mut buffer = Vec::new();
    let mut depth = 0usize;
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).map_err(parsed)? {
            Event::Start(tag) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(Reason::TooDeep);
                }
                visit.start(&Tag(&tag))?;
            }
            Event::Empty(tag) => {
                visit.start(&Tag(&tag))?;
                visit.end(local(tag.name().into_inner()))?;
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                visit.end(local(tag.name().into_inner()))?;
            }
            Event::Text(text) => visit.text(&text)?,
            Event::CData(text) => visit.text(&text)?,
            Event::GeneralRef(reference) => visit.text(referred(&reference, &mut [0; 4]))?,
            Event::Eof if depth > 0 => return Err(Reason::Damaged),
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// The character of a reference: of entities only the five that XML defines itself.
fn referred<'b>(name: &str, buffer: &'b mut [u8; 4]) -> &'b str {
    let character = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => name.strip_prefix('#').and_then(|code| {
            let hexadecimal = code.strip_prefix('x').map(|code| u32::from_str_radix(code, 16));
            char::from_u32(hexadecimal.unwrap_or_else(|| code.parse()).ok()?)
        }),
    };
    character.map_or("", |character| character.encode_utf8(buffer))
}

fn parsed(error: Error) -> Reason {
    match error {
        Error::Io(error) => reason(&*error),
        _ => Reason::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorder(String);

    impl XmlVisitor for Recorder {
        fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
            let value = tag.attribute("v").unwrap_or_default();
            self.0.push_str(&format!("<{} {value}>", tag.name()));
            Ok(())
        }

        fn end(&mut self, name: &str) -> Result<(), Reason> {
            self.0.push_str(&format!("</{name}>"));
            Ok(())
        }

        fn text(&mut self, text: &str) -> Result<(), Reason> {
            self.0.push_str(text);
            Ok(())
        }
    }

    fn recorded(xml: &str) -> Result<String, Reason> {
        let mut recorder = Recorder::default();
        walk(xml.as_bytes(), &mut recorder)?;
        Ok(recorder.0)
    }

    #[test]
    fn tags_and_text_are_shown_without_prefixes() {
        let xml = "<?xml version='1.0'?><w:a x:v='1&amp;2'><b/>t&lt;&#x41;<![CDATA[<c>]]><!-- no --></w:a>";
        assert_eq!(recorded(xml).as_deref(), Ok("<a 1&2><b ></b>t<A<c></a>"));
    }

    #[test]
    fn declared_entities_are_never_followed() {
        let xml = "<!DOCTYPE a [<!ENTITY x 'boom'><!ENTITY y SYSTEM 'file:///etc/passwd'>]><a>1&x;&y;2</a>";
        assert_eq!(recorded(xml).as_deref(), Ok("<a >12</a>"));
    }

    #[test]
    fn truncated_or_ill_formed_markup_is_damaged() {
        for xml in ["<a><b></b>", "<a></b>", "<a", "<a>x</a", "<a>&"] {
            assert_eq!(recorded(xml), Err(Reason::Damaged), "{xml}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        assert_eq!(recorded(&"<a>".repeat(DEPTH_MAX + 1)), Err(Reason::TooDeep));
    }
}
