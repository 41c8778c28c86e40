//! What a browser can search for by itself: the indexes that were made without a key.

use cognate_desk::find::finest;
use cognate_fingerprint::{Key, Method, View};
use cognate_proto::limits::{FIND_DOCUMENTS_MAX, FIND_FINE_MAX};
use cognate_proto::v1;
use serde::Serialize;

use crate::received::LARGE_FORM;

/// What the page can do with files that are dropped on it.
pub(crate) struct Ways {
    /// For the script: how to fingerprint files, as JSON; empty if it cannot.
    pub(crate) json: String,
    /// True if it can search for the bytes of files.
    pub(crate) bytes: bool,
    /// The documents whose text it can search for, in words; or empty.
    pub(crate) text_of: &'static str,
    /// True if there are indexes under a key, which a browser never has.
    pub(crate) keyed: bool,
}

#[derive(Serialize)]
struct Recipe<'a> {
    ways: Vec<Way>,
    fine_max: usize,
    documents_max: usize,
    form_bytes_max: usize,
    script: &'a str,
    module: &'a str,
}

/// How files are fingerprinted under a method: what `query::browser` takes.
#[derive(Serialize)]
struct Way {
    method: String,
    view: String,
    chunk_bytes: u32,
    param: String,
}

impl Ways {
    /// The ways that the indexes of these repositories allow.
    pub(crate) fn of(repositories: &[v1::Repository]) -> Ways {
        let indexes = repositories.iter().flat_map(|repository| &repository.indexes);
        let indexes = indexes.filter(|index| index.sealed != 0 && index.scope.is_empty());
        let methods = indexes.filter_map(|index| {
            let spec = index.method.as_ref()?;
            let method = Method::try_from(spec).ok()?;
            Some((method, method.id(&Key::none()).0.as_slice() == spec.method_id))
        });
        let (open, keyed): (Vec<_>, Vec<_>) = methods.partition(|(_, is_open)| *is_open);
        let open = || open.iter().map(|(method, _)| *method);
        let bytes = finest(open().filter(|method| method.view() == View::Raw), true);
        let text = finest(open().filter(|method| matches!(method.view(), View::Office | View::Text)), false);
        let ways: Vec<Way> = bytes.iter().chain(&text).map(Way::of).collect();
        let recipe = Recipe {
            ways,
            fine_max: FIND_FINE_MAX,
            documents_max: FIND_DOCUMENTS_MAX,
            form_bytes_max: LARGE_FORM.bytes_max(),
            script: concat!("/static/fingerprint.js?v=", env!("CARGO_PKG_VERSION")),
            module: concat!("/static/fingerprint.wasm?v=", env!("CARGO_PKG_VERSION")),
        };
        let json = if recipe.ways.is_empty() { None } else { serde_json::to_string(&recipe).ok() };
        let text_of = text.map_or("", |method| match method.view() {
            View::Office => "office files, PDF and mail",
            _ => "all documents, and of those inside archives",
        });
        Ways { json: json.unwrap_or_default(), bytes: bytes.is_some(), text_of, keyed: !keyed.is_empty() }
    }
}

impl Way {
    fn of(method: &Method) -> Way {
        Way {
            method: method.name().to_owned(),
            view: method.view().to_string(),
            chunk_bytes: method.chunk_bytes(),
            param: method.param(),
        }
    }
}
