//! The documents of the sites: each folder directly below the corpus is a site.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::corpus::{entries, office_text};
use crate::error::Error;
use crate::only_here::content::Content;
use crate::setting::Setting;

/// The documents of all sites, and their contents, each once.
pub(super) struct Sites {
    pub(super) sites: Vec<Site>,
    pub(super) contents: Vec<Content>,
    /// For each content a bit for every site that has it, the lowest for the first.
    pub(super) holders: Vec<u32>,
}

/// The documents of a site.
pub(super) struct Site {
    /// The name in the comparison.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) documents: Vec<SiteDocument>,
}

/// A document of a site.
pub(super) struct SiteDocument {
    /// Its path below the folder of the site.
    pub(super) path: String,
    /// The number of its content.
    pub(super) content: usize,
}

impl Sites {
    /// Reads all files below the folders of a corpus.
    pub(super) fn read(setting: &Setting<'_>, corpus: &Path) -> Result<Sites, Error> {
        let folders = folders(corpus)?;
        if !(2..=26).contains(&folders.len()) {
            return Err(setting.corpus_lacks(format!("{} folders", folders.len()), "2 to 26, each of which is a site"));
        }
        let mut numbers: HashMap<(Vec<u8>, bool), usize> = HashMap::new();
        let mut sites = Vec::new();
        for (folder, letter) in folders.into_iter().zip('a'..) {
            let mut documents = Vec::new();
            let entries = entries(&folder)?;
            for (number, entry) in entries.iter().enumerate() {
                if number % 256 == 0 {
                    setting.step(&format!("reading site {letter}"), number, entries.len())?;
                }
                let bytes = fs::read(&entry.path).map_err(Error::io("read", &entry.path))?;
                let read = office_text(&bytes).map_or((bytes, false), |text| (text, true));
                let next = numbers.len();
                let path = entry.path.strip_prefix(&folder).unwrap_or(&entry.path).to_string_lossy().into_owned();
                documents.push(SiteDocument { path, content: *numbers.entry(read).or_insert(next) });
            }
            sites.push(Site { name: letter.to_string(), folder, documents });
        }
        let mut contents: Vec<((Vec<u8>, bool), usize)> = numbers.into_iter().collect();
        contents.sort_unstable_by_key(|(_, number)| *number);
        let contents: Vec<Content> =
            contents.into_iter().map(|((bytes, by_text), _)| Content::new(bytes, by_text)).collect();
        let mut holders = vec![0; contents.len()];
        for (number, site) in sites.iter().enumerate() {
            site.documents.iter().for_each(|document| holders[document.content] |= 1 << number);
        }
        Ok(Sites { sites, contents, holders })
    }

    /// True if a site other than this one has the content.
    pub(super) fn is_elsewhere(&self, content: usize, site: usize) -> bool {
        self.holders[content] & !(1 << site) != 0
    }

    /// A document with this content at another site, as `site/path`.
    pub(super) fn example(&self, content: usize, site: usize) -> String {
        let others = self.sites.iter().enumerate().filter(|(number, _)| *number != site);
        let mut found = others.flat_map(|(_, other)| {
            let same = other.documents.iter().filter(|document| document.content == content);
            same.map(|document| format!("{}/{}", other.name, document.path))
        });
        found.next().unwrap_or_default()
    }
}

/// The folders directly below the corpus, in the order of their names.
pub(super) fn folders(corpus: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(corpus).map_err(Error::io("read the folder", corpus))? {
        let entry = entry.map_err(Error::io("read the folder", corpus))?;
        if entry.file_type().map_err(Error::io("read", &entry.path()))?.is_dir() {
            folders.push(entry.path());
        }
    }
    folders.sort_unstable();
    Ok(folders)
}
