//! The documents of the sites, and what happens to them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Campaign, SITES, Standing};
use crate::sandbox::contents;
use crate::tree::edited;

/// More documents than this are thinned out.
const DOCUMENTS_MAX: usize = 30;

/// The time between two looks whether sites are back.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Contents by site and path.
pub(super) type Documents = BTreeMap<(String, PathBuf), Vec<u8>>;

impl Campaign {
    /// The documents of these sites, as they are now.
    pub(super) fn documents(&self, sites: &[String]) -> Documents {
        let of = |name: &String| {
            let name = name.clone();
            contents(self.federation.site(&name).folder())
                .into_iter()
                .map(move |(path, bytes)| ((name.clone(), path), bytes))
        };
        sites.iter().flat_map(of).collect()
    }

    /// What people do to documents between scans.
    pub(super) fn change_documents(&mut self) {
        for name in SITES {
            for _ in 0..self.dice.below(4) {
                self.change_document(name);
            }
        }
        self.touched.clear();
        self.federation.sandbox.settle();
    }

    /// What somebody does to one document. The paths count as touched.
    pub(super) fn change_document(&mut self, name: &str) {
        let folder = self.federation.site(name).folder().to_owned();
        let there: Vec<PathBuf> = contents(&folder).into_keys().collect();
        self.made += 1;
        let new = PathBuf::from(format!("d{}/new-{}", self.dice.below(4), self.made));
        // Never so few that the folder looks unmounted.
        let can_go = there.len() > 6;
        let old = there.get(self.dice.below(there.len())).cloned().unwrap_or_default();
        match self.dice.below(12) {
            _ if there.len() > DOCUMENTS_MAX => self.remove(name, &folder, &old),
            0 | 1 => {
                let size = self.dice.between(0, 30_000);
                let bytes = self.dice.bytes(size);
                self.write(name, &folder, &new, &bytes);
            }
            2 | 3 => {
                let from = *self.dice.pick(&SITES);
                let other: Vec<Vec<u8>> = contents(self.federation.site(from).folder()).into_values().collect();
                let bytes = self.dice.pick(&other).clone();
                self.write(name, &folder, &new, &bytes);
            }
            4..=7 if can_go => {
                let bytes = std::fs::read(folder.join(&old)).unwrap();
                let bytes = edited(&mut self.dice, bytes);
                self.write(name, &folder, &old, &bytes);
            }
            8 | 9 if can_go => {
                self.touch(name, &old);
                self.touch(name, &new);
                make_folder(&folder.join(&new));
                std::fs::rename(folder.join(&old), folder.join(&new)).unwrap();
            }
            _ if can_go => self.remove(name, &folder, &old),
            _ => {
                let bytes = self.dice.bytes(3000);
                self.write(name, &folder, &new, &bytes);
            }
        }
    }

    fn write(&mut self, name: &str, folder: &Path, path: &Path, bytes: &[u8]) {
        self.touch(name, path);
        make_folder(&folder.join(path));
        std::fs::write(folder.join(path), bytes).unwrap();
    }

    fn remove(&mut self, name: &str, folder: &Path, path: &Path) {
        self.touch(name, path);
        std::fs::remove_file(folder.join(path)).unwrap();
    }

    fn touch(&mut self, name: &str, path: &Path) {
        self.touched.insert((name.to_owned(), path.to_owned()));
    }

    /// Waits until sites that are members are attached.
    pub(super) fn wait_back(&mut self) {
        let sites = self.sites(Standing::Member);
        let began = Instant::now();
        crate::sandbox::wait_within(super::BACK_MAX, &format!("{} are attached again", sites.join(", ")), || {
            for name in &sites {
                let process = self.federation.site_mut(name).worker();
                let has_ended = process.ends_within(Duration::ZERO);
                assert!(!has_ended, "the worker of {name} ended: {}", process.stderr());
            }
            let rows = self.federation.members();
            let is_attached = |name: &String| rows.iter().any(|row| row["name"] == **name && row["attached"] == true);
            let all = sites.iter().all(is_attached);
            if !all {
                // Each look is a process of its own, and those that are waited for need the machine.
                std::thread::sleep(LOOK_AGAIN);
            }
            all
        });
        let waited = began.elapsed().as_secs();
        if waited > 20 {
            self.note(&format!("sites came back after {waited} s"));
            self.count("sites came back later than after 20 s");
        }
    }
}

fn make_folder(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
}
