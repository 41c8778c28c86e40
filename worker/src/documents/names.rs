//! The paths of the documents inside of a document.

use std::collections::HashSet;

use cognate_proto::path::{DocumentPath, INSIDE};

use super::root::Root;

/// Gives every document inside of a document a path of its own.
pub(super) struct Names {
    /// The beginning of every path.
    prefix: Vec<u8>,
    taken: HashSet<DocumentPath>,
}

impl Names {
    pub(super) fn new(root: &Root, path: &DocumentPath) -> Names {
        let mut prefix = [path.as_bytes(), INSIDE.as_bytes()].concat();
        let exists = |bytes: &[u8]| DocumentPath::new(bytes).is_ok_and(|path| root.stat(&path).is_ok());
        // A folder may have the name that marks the inside of this document.
        if exists(&prefix[..prefix.len() - 1]) {
            prefix.push(b'~');
            while exists(&prefix) {
                prefix.push(b'~');
            }
            prefix.push(b'/');
        }
        Names { prefix, taken: HashSet::new() }
    }

    pub(super) fn of(&mut self, name: &str) -> DocumentPath {
        let path = DocumentPath::new(&[&self.prefix, name.as_bytes()].concat());
        if let Ok(path) = path
            && self.taken.insert(path.clone())
        {
            return path;
        }
        // The path is too long, or is taken: use the digest of its name instead.
        let digest = blake3::Hasher::new().update(&self.prefix).update(name.as_bytes()).finalize().to_hex();
        (1u32..)
            .filter_map(|number| {
                let name = format!("~{}~{number}", &digest.as_str()[..16]);
                let path = [&self.prefix, name.as_bytes()].concat();
                // The document's own path is too long for a prefix: use the digest alone, which covers that path.
                let path = DocumentPath::new(&path).or_else(|_| DocumentPath::new(name.as_bytes())).ok()?;
                self.taken.insert(path.clone()).then_some(path)
            })
            .next()
            .expect("there is always a next number")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folders: &[&str], path: &str, inside: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for name in folders {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let root = Root::open(folder.path(), false, &[]).unwrap();
        let mut names = Names::new(&root, &DocumentPath::new(path.as_bytes()).unwrap());
        inside.iter().map(|name| names.of(name).to_string()).collect()
    }

    #[test]
    fn a_document_inside_has_the_outer_path_and_its_own_name() {
        assert_eq!(names(&[], "a.zip", &["x", "y/z"]), ["a.zip!/x", "a.zip!/y/z"]);
    }

    #[test]
    fn a_folder_with_the_same_name_is_avoided() {
        assert_eq!(names(&["a.zip!"], "a.zip", &["x"]), ["a.zip!/~/x"]);
        assert_eq!(names(&["a.zip!", "a.zip!/~"], "a.zip", &["x"]), ["a.zip!/~~/x"]);
    }

    #[test]
    fn a_name_that_occurs_twice_or_is_too_long_has_a_path_of_its_own() {
        let long = "x".repeat(70_000);
        let paths = names(&[], "a.zip", &["x", "x", "x", &long]);
        assert_eq!(paths.iter().collect::<HashSet<_>>().len(), 4, "{paths:?}");
        assert!(paths.iter().all(|path| path.starts_with("a.zip!/")), "{paths:?}");
    }
}
