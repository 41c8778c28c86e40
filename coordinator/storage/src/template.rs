//! Templates: tags of chunks, and rows of fine chunks, that later analyses ignore. A scan fixes which of them are in force when
//! it is frozen.
//!
//! A template is the record of a decision: it goes through the journal, and a template that is unmarked stays there as
//! unmarked, since scans refer to it. Its id is made from its method, its tags and its rows, so that marking the same twice is
//! marking it once.

use cognate_fingerprint::{Method, MethodId, Tag};
use cognate_proto::v1;
use cognate_similarity::frame::{FrameRow, ROW_BYTES};

use crate::error::Error;
use crate::store::Store;

/// Tags of one template. It is a row of the store and an event of the journal: a few hundred kilobytes at most.
pub const TAGS_MAX: usize = 16_384;
/// Rows of one template, of 6 bytes each: frames of some 100,000 bytes.
pub const ROWS_MAX: usize = 16_384;

/// All that templates ignore, each once and ascending.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ignored {
    /// Tags of chunks.
    pub tags: Vec<Tag>,
    /// Rows of fine chunks.
    pub rows: Vec<FrameRow>,
}

impl Ignored {
    /// All tags and rows of these templates.
    pub fn of(templates: &[v1::Template]) -> Ignored {
        let mut ignored = Ignored {
            tags: templates.iter().flat_map(|template| split(&template.tags)).collect(),
            rows: templates.iter().flat_map(|template| split_rows(&template.rows)).collect(),
        };
        ignored.tags.sort_unstable();
        ignored.tags.dedup();
        ignored.rows.sort_unstable();
        ignored.rows.dedup();
        ignored
    }

    /// True if nothing is ignored.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.rows.is_empty()
    }

    /// The digest of the set under a method: the same whatever templates it comes from.
    pub fn digest(&self, method_id: MethodId) -> String {
        self.hash(method_id).to_hex().to_string()
    }

    /// The id of a template of these.
    pub fn id(&self, method_id: MethodId) -> u64 {
        let hash = self.hash(method_id);
        let bytes = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
        u64::from_be_bytes(*bytes).max(1)
    }

    fn hash(&self, method_id: MethodId) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"cognate template 2").update(&method_id.0);
        hasher.update(&(self.tags.len() as u64).to_le_bytes());
        for tag in &self.tags {
            hasher.update(&tag.0);
        }
        for row in &self.rows {
            hasher.update(&row.to_bytes());
        }
        hasher.finalize()
    }
}

/// The templates under a method that are in force, by their ids, and all that they ignore.
pub fn in_force(store: &Store, method_id: MethodId) -> Result<(Vec<u64>, Ignored), Error> {
    let mut templates = store.templates()?;
    templates.retain(|template| template.unmarked == 0 && method_of(template) == Some(method_id));
    let ids = templates.iter().map(|template| template.id).collect();
    Ok((ids, Ignored::of(&templates)))
}

/// All that these templates ignore, whether they are in force or not.
pub fn ignored_by(store: &Store, ids: &[u64]) -> Result<Ignored, Error> {
    let templates: Vec<_> = ids.iter().filter_map(|id| store.template(*id).transpose()).collect::<Result<_, _>>()?;
    Ok(Ignored::of(&templates))
}

/// Checks that a method has templates ([`cognate_fingerprint::Capabilities::templates`]).
///
/// # Errors
/// Fails if it has none.
pub fn check_chunks(method: &Method) -> Result<(), Error> {
    let why = || format!("templates are chunks, and `{}` has none: use a scan with tttd or bsw-chunk", method.name());
    if method.capabilities().templates { Ok(()) } else { Err(Error::Refused(why())) }
}

/// The method whose chunks a template lists; none where its id does not have 16 bytes.
pub fn method_of(template: &v1::Template) -> Option<MethodId> {
    template.method.as_ref()?.method_id.as_slice().try_into().ok().map(MethodId)
}

/// Tags as a message has them.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = Tag> {
    bytes.as_chunks().0.iter().map(|tag| Tag(*tag))
}

/// Rows as a message has them.
pub fn split_rows(bytes: &[u8]) -> impl Iterator<Item = FrameRow> {
    bytes.as_chunks::<ROW_BYTES>().0.iter().map(|row| FrameRow::from_bytes(*row))
}

/// Rows for a message.
pub fn joined_rows(rows: &[FrameRow]) -> Vec<u8> {
    rows.iter().flat_map(|row| row.to_bytes()).collect()
}

/// A tag and the length of its chunk.
pub type Chunk = (Tag, u32);

/// Tags and lengths as a message has them.
pub fn joined(chunks: &[Chunk]) -> (Vec<u8>, Vec<u32>) {
    chunks.iter().map(|(tag, length_bytes)| (tag.0, length_bytes)).fold((Vec::new(), Vec::new()), |mut all, chunk| {
        all.0.extend_from_slice(&chunk.0);
        all.1.push(*chunk.1);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: u8) -> Tag {
        Tag([number; 16])
    }

    fn row(number: u8) -> FrameRow {
        FrameRow::from_bytes([number; ROW_BYTES])
    }

    #[test]
    fn a_set_has_one_digest_whatever_its_templates_and_another_under_another_method() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(&folder.path().join("store"), &folder.path().join("journal"), true).unwrap();
        let (method, other) = (MethodId([7; 16]), MethodId([8; 16]));
        let template = |method: MethodId, numbers: &[u8]| {
            let chunks: Vec<Chunk> = numbers.iter().map(|number| (tag(*number), 10)).collect();
            let (tags, lengths) = joined(&chunks);
            let spec = v1::MethodSpec { method_id: method.0.to_vec(), ..v1::MethodSpec::default() };
            let rows = joined_rows(&numbers.iter().map(|number| row(*number)).collect::<Vec<_>>());
            let template = v1::Template { method: Some(spec), tags, lengths, rows, ..v1::Template::default() };
            v1::Template { id: Ignored::of(std::slice::from_ref(&template)).id(method), ..template }
        };
        let ignored = |numbers: &[u8]| Ignored {
            tags: numbers.iter().map(|number| tag(*number)).collect(),
            rows: numbers.iter().map(|number| row(*number)).collect(),
        };
        let record = |store: &Store, time: i64, what| {
            let event = crate::journal::Event { time, by: "anna".to_owned(), what: Some(what) };
            store.record(&event).unwrap();
        };
        let store = open();
        assert_eq!(in_force(&store, method).unwrap(), (vec![], Ignored::default()));
        let (two, three) = (template(method, &[1, 2]), template(method, &[2, 3]));
        for one in [&two, &three, &template(other, &[9])] {
            record(&store, 5, crate::journal::What::Template(one.clone()));
        }
        let (mut ids, found) = in_force(&store, method).unwrap();
        ids.sort_unstable();
        let mut expected = [two.id, three.id];
        expected.sort_unstable();
        assert_eq!((ids.as_slice(), &found), (&expected[..], &ignored(&[1, 2, 3])));
        assert_eq!(found.digest(method), Ignored::of(&[template(method, &[1, 2, 3])]).digest(method));
        assert_ne!(found.digest(method), found.digest(other));
        assert_ne!(found.digest(method), Ignored { rows: Vec::new(), ..found.clone() }.digest(method));
        record(&store, 6, crate::journal::What::TemplateUnmarked(two.id));
        assert_eq!(in_force(&store, method).unwrap(), (vec![three.id], ignored(&[2, 3])));
        // An earlier frozen scan still finds it, in a rebuilt store as well.
        drop(store);
        std::fs::remove_dir_all(folder.path().join("store")).unwrap();
        let store = open();
        assert_eq!(ignored_by(&store, &[two.id]).unwrap(), ignored(&[1, 2]));
        let stored = store.template(two.id).unwrap().unwrap();
        assert_eq!((stored.unmarked, stored.unmarked_by.as_str()), (6, "anna"));
    }
}
