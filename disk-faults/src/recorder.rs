//! Records of the calls that change the files of a folder.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::call::{Call, Node};
use crate::power::{CrashStates, Tree};

/// The number by which a system knows a file. It is used again once the file is gone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    pub(crate) fn of_file(file: i32) -> Option<Identity> {
        Identity::of_target(&PathBuf::from(format!("/proc/self/fd/{file}")))
    }

    fn of_target(path: &Path) -> Option<Identity> {
        path.metadata().ok().map(|file| Identity(file.dev(), file.ino()))
    }

    pub(crate) fn of_path(path: &Path) -> Option<Identity> {
        path.symlink_metadata().ok().map(|file| Identity(file.dev(), file.ino()))
    }
}

/// Where the calls to a folder are recorded.
#[derive(Debug)]
pub(crate) struct Recorder {
    folder: PathBuf,
    nodes: HashMap<Identity, Node>,
    next: Node,
    start: Tree,
    calls: Vec<Call>,
}

impl Recorder {
    pub(crate) fn begin(folder: &Path) -> std::io::Result<Recorder> {
        let folder = folder.canonicalize()?;
        let mut recorder =
            Recorder { folder: folder.clone(), nodes: HashMap::new(), next: 0, start: Tree::default(), calls: vec![] };
        let root = recorder.node_of(Identity::of_path(&folder));
        recorder.start.folder(root);
        recorder.read(&folder, root)?;
        Ok(recorder)
    }

    /// Takes in what is in the folder already.
    fn read(&mut self, folder: &Path, parent: Node) -> std::io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let node = self.node_of(Identity::of_path(&entry.path()));
            self.start.name(parent, &entry.file_name(), node);
            if entry.file_type()?.is_dir() {
                self.start.folder(node);
                self.read(&entry.path(), node)?;
            } else {
                self.start.file(node, std::fs::read(entry.path())?);
            }
        }
        Ok(())
    }

    pub(crate) fn concerns(&self, path: &Path) -> bool {
        path.starts_with(&self.folder)
    }

    fn node_of(&mut self, identity: Option<Identity>) -> Node {
        let next = self.next;
        let node = match identity {
            Some(identity) => *self.nodes.entry(identity).or_insert(next),
            None => next,
        };
        self.next += usize::from(node == next);
        node
    }

    fn place_of(&mut self, path: &Path) -> (Node, OsString) {
        let folder = path.parent().and_then(Identity::of_path);
        (self.node_of(folder), path.file_name().unwrap_or_default().to_owned())
    }

    pub(crate) fn create(&mut self, path: &Path, identity: Identity, is_folder: bool) {
        // The number may be that of a file that is gone.
        self.nodes.remove(&identity);
        let node = self.node_of(Some(identity));
        let (folder, name) = self.place_of(path);
        self.calls.push(Call::Create { folder, name, node, is_folder });
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        let (folder, name) = self.place_of(path);
        self.calls.push(Call::Remove { folder, name });
    }

    pub(crate) fn rename(&mut self, old: &Path, new: &Path) {
        let (from, old) = self.place_of(old);
        let (to, new) = self.place_of(new);
        self.calls.push(Call::Rename { from, old, to, new });
    }

    pub(crate) fn write(&mut self, identity: Identity, offset: u64, bytes: Vec<u8>) {
        let node = self.node_of(Some(identity));
        self.calls.push(Call::Write { node, offset, bytes });
    }

    pub(crate) fn resize(&mut self, identity: Option<Identity>, length: u64) {
        let node = self.node_of(identity);
        self.calls.push(Call::Resize { node, length });
    }

    pub(crate) fn sync(&mut self, identity: Option<Identity>) {
        let node = self.node_of(identity);
        self.calls.push(Call::Sync { node });
    }

    pub(crate) fn mark(&mut self, what: u64) {
        self.calls.push(Call::Mark(what));
    }

    pub(crate) fn into_states(self) -> CrashStates {
        CrashStates::new(self.start, self.calls)
    }
}
