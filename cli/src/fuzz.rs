//! Damaged files that people hand over.

use std::path::Path;

use crate::config::{CoordinatorFile, WorkerFile, load};

pub(crate) fn run(name: &str, valid: &[&str], mut target: impl FnMut(&Path) -> anyhow::Result<()>) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let valid: Vec<Vec<u8>> = valid.iter().map(|text| text.as_bytes().to_vec()).collect();
    cognate_fuzzing::run(name, &corpus, &valid, |input| {
        std::fs::write(&path, input).unwrap();
        target(&path).map_or_else(|error| format!("{error:#}"), |()| "valid".to_owned())
    });
}

#[test]
fn any_configuration_is_read_or_refused() {
    let coordinator = "state_dir = \"/var/lib/cognate\"\nlisten = \"127.0.0.1:7443\"\nnames = [\"hub\"]\nthreads = 2\n";
    let worker = "state_dir = \"/var/lib/cognate\"\n[policy]\nread_bytes_per_second = \"2MB\"\n[[repository]]\nname = \"kb\"\npath = \"/srv\"\n";
    run("configuration", &[coordinator, worker], |path| {
        let _ = load::<WorkerFile>(path);
        load::<CoordinatorFile>(path).map(drop)
    });
}
