//! The zip archive that a document of an office is: its parts by name, and what refers to what.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::rc::Rc;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::archive::{self, MemberContent};
use crate::budget::Budget;
use crate::format::bounded::{Allowance, Bounded, Counted};
use crate::format::xml::{self, Tag, XmlVisitor};
use crate::limits::Limits;
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::{Stop, broken};

/// Parts of a document at most, and references of one of them.
const PARTS_MAX: usize = 100_000;
/// Size at most of a part that is read into memory.
const PART_BYTES_MAX: u64 = 128 << 20;

/// A document that is a zip archive.
pub(super) struct Package<'s> {
    archive: Archive<'s>,
    read: Rc<Cell<u64>>,
    allowance: Allowance,
    /// A part is broken, or the end of the archive is missing.
    is_damaged: bool,
}

enum Archive<'s> {
    Whole(ZipArchive<Counted<'s>>),
    /// What was found of an archive without its directory.
    Rest(Vec<FoundPart>),
}

/// A part as far as it was found.
struct FoundPart {
    name: String,
    bytes: Vec<u8>,
    /// The reason why there is no more of it.
    failed: Option<Reason>,
}

impl<'s> Package<'s> {
    pub(super) fn open(source: &'s mut dyn Source) -> Result<Package<'s>, Reason> {
        // A second look costs a directory, and only damaged documents need the source again.
        let opened = ZipArchive::new(Counted::new(&mut *source).0).map_err(unzipped);
        let (archive, is_damaged) = match opened {
            Ok(archive) if archive.len() > PARTS_MAX => return Err(Reason::TooMany),
            Ok(_) => (None, false),
            Err(Reason::Damaged) => (Some(Archive::Rest(found_parts(source)?)), true),
            Err(reason) => return Err(reason),
        };
        let (counted, read) = Counted::new(source);
        let archive = match archive {
            Some(archive) => archive,
            None => Archive::Whole(ZipArchive::new(counted).map_err(unzipped)?),
        };
        Ok(Package { archive, read, allowance: Allowance::new(), is_damaged })
    }

    /// The names of all parts, in the order of the archive.
    pub(super) fn names(&self) -> Vec<String> {
        match &self.archive {
            Archive::Whole(archive) => (0..archive.len())
                .filter_map(|at| archive.name_for_index(at))
                .filter_map(|name| name.ok().map(std::borrow::Cow::into_owned))
                .collect(),
            Archive::Rest(parts) => parts.iter().map(|part| part.name.clone()).collect(),
        }
    }

    /// A reader of a part, or `None` if no part has this name.
    pub(super) fn part(&mut self, name: &str) -> Result<Option<Bounded<impl Read>>, Reason> {
        let read_before = self.read.get();
        let file: Box<dyn Read> = match &mut self.archive {
            Archive::Whole(archive) => match archive.by_name(name) {
                Ok(file) => Box::new(file),
                Err(ZipError::FileNotFound) => return Ok(None),
                Err(error) => return Err(unzipped(error)),
            },
            Archive::Rest(parts) => {
                let Some(part) = parts.iter().find(|part| part.name == name) else { return Ok(None) };
                // Its ratio was checked when it was found.
                self.read.set(read_before + part.bytes.len() as u64);
                Box::new(Cursor::new(&part.bytes).chain(FailingEnd(part.failed)))
            }
        };
        Ok(Some(Bounded::new(file, self.allowance.clone(), Rc::clone(&self.read), read_before)))
    }

    /// All bytes of a part, up to a bound.
    pub(super) fn bytes(&mut self, name: &str) -> Result<Vec<u8>, Reason> {
        let mut bytes = Vec::new();
        if let Some(part) = self.part(name)? {
            part.any_bytes().take(PART_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(broken)?;
        }
        if bytes.len() as u64 > PART_BYTES_MAX { Err(Reason::TooLarge) } else { Ok(bytes) }
    }

    /// Walks a part of XML; false if no part has this name. Damage of one part does not keep others from being read: it
    /// comes with [`finish`](Package::finish).
    pub(super) fn walk(&mut self, name: &str, visit: &mut dyn XmlVisitor) -> Result<bool, Reason> {
        let walked = match self.part(name) {
            Ok(Some(part)) => xml::walk(part, visit),
            Ok(None) => return Ok(false),
            Err(reason) => Err(reason),
        };
        match walked {
            Err(Reason::Damaged) => self.is_damaged = true,
            other => other?,
        }
        Ok(true)
    }

    /// The document was read.
    ///
    /// # Errors
    /// If a part of it is damaged or missing.
    pub(super) fn finish(self) -> Result<(), Reason> {
        if self.is_damaged { Err(Reason::Damaged) } else { Ok(()) }
    }

    /// The parts to which a part refers, in order. The package itself is the part without a name.
    pub(super) fn relations(&mut self, part: &str) -> Result<Relations, Reason> {
        let (folder, file) = part.rsplit_once('/').map_or(("", part), |(folder, file)| (folder, file));
        let slash = if folder.is_empty() { "" } else { "/" };
        let mut relations = Relations { folder: folder.to_owned(), all: Vec::new() };
        self.walk(&format!("{folder}{slash}_rels/{file}.rels"), &mut relations)?;
        Ok(relations)
    }
}

/// The parts that are found without a directory, in their order.
fn found_parts(source: &mut dyn Source) -> Result<Vec<FoundPart>, Reason> {
    let budget = Budget::new(&Limits::default(), source.length_bytes());
    let (mut parts, mut left) = (Vec::new(), PART_BYTES_MAX);
    let found = archive::zip(source, &budget, &mut |name, content| {
        let mut bytes = Vec::new();
        let failed = match content {
            MemberContent::Bytes(stream, _) => stream.take(left).read_to_end(&mut bytes).err().map(broken),
            MemberContent::Closed(reason) => Some(reason),
        };
        left = left.checked_sub(bytes.len() as u64).filter(|left| *left > 0).ok_or(Reason::TooLarge)?;
        parts.push(FoundPart { name: name.to_owned(), bytes, failed });
        if parts.len() > PARTS_MAX { Err(Reason::TooMany) } else { Ok(()) }
    });
    match found {
        Err(Reason::Damaged) | Ok(()) if !parts.is_empty() => Ok(parts),
        Err(reason) => Err(reason),
        Ok(()) => Err(Reason::Damaged),
    }
}

/// The end of a part: an error, where there is a reason.
struct FailingEnd(Option<Reason>);

impl Read for FailingEnd {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.map_or(Ok(0), |reason| Err(io::Error::other(Stop(reason))))
    }
}

/// The references of a part.
pub(super) struct Relations {
    folder: String,
    all: Vec<Relation>,
}

struct Relation {
    id: String,
    /// The last word of its type, such as `footnotes`.
    role: String,
    target: String,
}

impl Relations {
    /// The parts with a role, each once, in order.
    pub(super) fn with_role(&self, role: &str) -> Vec<String> {
        let mut targets: Vec<String> = Vec::new();
        for relation in self.all.iter().filter(|relation| relation.role == role) {
            if !targets.contains(&relation.target) {
                targets.push(relation.target.clone());
            }
        }
        targets
    }

    /// The part with an id.
    pub(super) fn with_id(&self, id: &str) -> Option<&str> {
        self.all.iter().find(|relation| relation.id == id).map(|relation| relation.target.as_str())
    }
}

impl XmlVisitor for Relations {
    fn start(&mut self, tag: &Tag<'_>) -> Result<(), Reason> {
        // References out of the document are never followed.
        if tag.name() != "Relationship" || tag.attribute("TargetMode").as_deref() == Some("External") {
            return Ok(());
        }
        if self.all.len() == PARTS_MAX {
            return Err(Reason::TooMany);
        }
        let (Some(kind), Some(target)) = (tag.attribute("Type"), tag.attribute("Target")) else {
            return Ok(());
        };
        let role = kind.rsplit('/').next().unwrap_or_default().to_owned();
        let id = tag.attribute("Id").unwrap_or_default().into_owned();
        self.all.push(Relation { id, role, target: resolved(&self.folder, &target) });
        Ok(())
    }
}

/// The name of a part that is given from a folder.
fn resolved(folder: &str, target: &str) -> String {
    let start = if target.starts_with('/') { "" } else { folder };
    let mut path: Vec<&str> = Vec::new();
    for step in start.split('/').chain(target.split('/')) {
        match step {
            "" | "." => {}
            ".." => {
                path.pop();
            }
            _ => path.push(step),
        }
    }
    path.join("/")
}

/// The reason that a failure of the archive has.
fn unzipped(error: ZipError) -> Reason {
    match error {
        ZipError::InvalidPassword => Reason::Encrypted,
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => Reason::Encrypted,
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => Reason::Unsupported,
        ZipError::Io(error) => broken(error),
        _ => Reason::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;
    use crate::format::tests::{encrypted, zip_of};

    #[test]
    fn targets_are_found_from_the_folder_of_their_part() {
        assert_eq!(resolved("word", "footnotes.xml"), "word/footnotes.xml");
        assert_eq!(resolved("ppt/slides", "../notesSlides/notesSlide1.xml"), "ppt/notesSlides/notesSlide1.xml");
        assert_eq!(resolved("word", "/word/header1.xml"), "word/header1.xml");
        assert_eq!(resolved("", "../../../etc/passwd"), "etc/passwd");
    }

    fn relations_of(xml: &str, part: &str) -> Result<Relations, Reason> {
        let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
        let name = if folder.is_empty() { format!("_rels/{file}.rels") } else { format!("{folder}/_rels/{file}.rels") };
        let archive = zip_of(&[(&name, xml.as_bytes())]);
        Package::open(&mut Cursor::new(archive.as_slice()))?.relations(part)
    }

    #[test]
    fn parts_are_found_by_their_role_in_order_and_by_their_id() {
        let xml = "<Relationships><Relationship Id='1' Type='http://x/y/header' Target='h1.xml'/>\
                   <Relationship Id='2' Type='header' Target='./h2.xml'/>\
                   <Relationship Id='3' Type='z/header' Target='/word/h1.xml'/>\
                   <Relationship Id='4' Type='z/footer' Target='http://example.org/x' TargetMode='External'/>\
                   <Relationship Id='5' Type='z/headers' Target='h5.xml'/><Relationship Id='6' Target='h6.xml'/>\
                   <Relationship Id='7' Type='z/header'/><Other Id='8' Type='z/header' Target='h8.xml'/></Relationships>";
        let relations = relations_of(xml, "word/document.xml").unwrap();
        assert_eq!(relations.with_role("header"), ["word/h1.xml", "word/h2.xml"]);
        assert!(relations.with_role("footer").is_empty(), "what is outside is never followed");
        let ids = ["1", "2", "3", "5", "4", "6", "7", "8", ""].map(|id| relations.with_id(id));
        assert_eq!(ids[..4], [Some("word/h1.xml"), Some("word/h2.xml"), Some("word/h1.xml"), Some("word/h5.xml")]);
        assert_eq!(ids[4..], [None; 5]);
        assert!(relations_of(xml, "other.xml").unwrap().with_id("1") == Some("h1.xml"));
        let cut_off = "<Relationships><Relationship Id='1' Type='z/header' Target='h1.xml'/>";
        assert_eq!(relations_of(cut_off, "a/b").unwrap().with_id("1"), Some("a/h1.xml"), "damage comes at the end");
    }

    #[test]
    fn a_part_that_is_missing_is_none_and_one_that_is_broken_is_damaged() {
        let archive = zip_of(&[("a", b"some text, some text"), ("b", b"")]);
        let read = |bytes: &[u8], name: &str| Package::open(&mut Cursor::new(bytes))?.bytes(name);
        assert_eq!(read(&archive, "a").as_deref(), Ok(&b"some text, some text"[..]));
        assert_eq!((read(&archive, "b"), read(&archive, "c")), (Ok(Vec::new()), Ok(Vec::new())));
        assert_eq!(read(&encrypted(&archive), "a"), Err(Reason::Encrypted));
        let mut broken = archive.clone();
        broken[32] ^= 0xFF;
        assert_eq!(read(&broken, "a"), Err(Reason::Damaged));
        for length in 0..archive.len() {
            let mut source = Cursor::new(&archive[..length]);
            let finished = Package::open(&mut source).and_then(|mut package| {
                package.walk("a", &mut Relations { folder: String::new(), all: Vec::new() })?;
                package.finish()
            });
            assert_eq!(finished, Err(Reason::Damaged), "{length}");
        }
    }

    #[test]
    fn parts_before_the_cut_are_found_without_a_directory() {
        let archive = zip_of(&[("a", b"some text, some text"), ("b", b"other text, other text")]);
        let second = memchr::memmem::rfind(&archive, b"PK\x03\x04").unwrap();
        let mut source = Cursor::new(&archive[..second + 40]);
        let mut package = Package::open(&mut source).unwrap();
        assert_eq!(package.names(), ["a", "b"]);
        assert_eq!(package.bytes("a").as_deref(), Ok(&b"some text, some text"[..]));
        assert_eq!(package.bytes("b"), Err(Reason::Damaged));
        assert_eq!(package.bytes("c").as_deref(), Ok(&b""[..]));
        assert_eq!(package.finish(), Err(Reason::Damaged));
    }

    #[test]
    fn a_part_that_expands_too_far_ends_with_the_reason() {
        let archive = zip_of(&[("bomb", &vec![b'x'; 40 << 20])]);
        let mut source = Cursor::new(archive.as_slice());
        let mut package = Package::open(&mut source).unwrap();
        assert_eq!(package.bytes("bomb"), Err(Reason::Ratio));
        assert_eq!(package.walk("bomb", &mut Relations { folder: String::new(), all: Vec::new() }), Err(Reason::Ratio));
    }

    proptest! {
        #[test]
        fn no_target_leads_out_of_the_archive(folder in "[./a]{0,6}", target in "[./b]{0,12}") {
            let name = resolved(&folder, &target);
            prop_assert!(name.is_empty() || name.split('/').all(|step| !matches!(step, "" | "." | "..")), "{}", name);
        }
    }
}
