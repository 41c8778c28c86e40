//! Files that are attached to a document, or to a place on a page.

use std::collections::HashSet;
use std::io::Cursor;

use hayro_syntax::Pdf;
use hayro_syntax::object::dict::keys::{AF, ANNOTS, EF, EMBEDDED_FILES, F, FS, KIDS, NAMES, SUBTYPE, UF};
use hayro_syntax::object::{Array, Dict, Name, Object, ObjectIdentifier, Stream, String as PdfString};

use super::{load, strings};
use crate::format::embedding::VisitEmbedded;
use crate::outcome::Reason;
use crate::source::Source;

/// Depth of the tree of names at most.
const DEPTH_MAX: usize = 32;
/// The annotation that is a file.
const FILE_ATTACHMENT: &[u8] = b"FileAttachment";

/// Visits the attached files, each once.
pub(in crate::format) fn members(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    let pdf = load(source)?;
    let mut files = Files::default();
    if let Some(catalog) = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()) {
        if let Some(tree) = catalog.get::<Dict<'_>>(NAMES).and_then(|names| names.get::<Dict<'_>>(EMBEDDED_FILES)) {
            files.tree(&tree, DEPTH_MAX);
        }
        files.list(catalog.get::<Array<'_>>(AF).as_ref());
    }
    files.pages(&pdf);
    for (at, file) in files.found.iter().enumerate() {
        let name = match name(&file.specification) {
            Some(name) => name,
            None => (at + 1).to_string(),
        };
        let bytes = file.stream.decoded_data().map_err(|_| Reason::Damaged)?;
        each(&name, &mut Cursor::new(&*bytes))?;
    }
    Ok(())
}

#[derive(Default)]
struct Files<'a> {
    found: Vec<Attachment<'a>>,
    seen: HashSet<ObjectIdentifier>,
}

struct Attachment<'a> {
    specification: Dict<'a>,
    stream: Stream<'a>,
}

impl<'a> Files<'a> {
    /// The files of a tree of names.
    fn tree(&mut self, node: &Dict<'a>, depth: usize) {
        let names = node.get::<Array<'_>>(NAMES);
        for file in names.iter().flat_map(|names| names.iter::<Object<'_>>()).filter_map(Object::into_dict) {
            self.add(file);
        }
        let children = node.get::<Array<'_>>(KIDS).filter(|_| depth > 0);
        for child in children.iter().flat_map(|children| children.iter::<Dict<'_>>()) {
            self.tree(&child, depth - 1);
        }
    }

    fn list(&mut self, files: Option<&Array<'a>>) {
        files.iter().flat_map(|files| files.iter::<Dict<'_>>()).for_each(|file| self.add(file));
    }

    fn pages(&mut self, pdf: &'a Pdf) {
        for page in pdf.pages().iter() {
            self.list(page.raw().get::<Array<'_>>(AF).as_ref());
            let annotations = page.raw().get::<Array<'_>>(ANNOTS);
            for annotation in annotations.iter().flat_map(|all| all.iter::<Dict<'_>>()) {
                if annotation.get::<Name<'_>>(SUBTYPE).as_deref() == Some(FILE_ATTACHMENT)
                    && let Some(file) = annotation.get::<Dict<'_>>(FS)
                {
                    self.add(file);
                }
            }
        }
    }

    fn add(&mut self, specification: Dict<'a>) {
        let streams = specification.get::<Dict<'_>>(EF);
        let stream = streams.and_then(|streams| [UF, F].into_iter().find_map(|key| streams.get::<Stream<'_>>(key)));
        if let Some(stream) = stream.filter(|stream| self.seen.insert(stream.obj_id())) {
            self.found.push(Attachment { specification, stream });
        }
    }
}

/// The name of a file, without the folders of the machine that attached it.
fn name(file: &Dict<'_>) -> Option<String> {
    let name = [UF, F].into_iter().find_map(|key| file.get::<PdfString<'_>>(key))?;
    let name = strings::text(name.as_bytes());
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    (!last.is_empty()).then(|| last.to_owned())
}
