//! Analyses as bytes: the engine's own file, through a file of this process, next to its spill.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use cognate_similarity::{Analysis, Binding};

/// Names of files within one process differ by this number.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// What the analyses of tasks are bound to: their blocks have checksums of their own.
const OF_TASKS: Binding = [0x18; 32];

/// What the result of a job is bound to.
pub(crate) fn binding(name: &str) -> Binding {
    let mut binding = [0; 32];
    binding.iter_mut().zip(name.bytes()).for_each(|(bound, byte)| *bound = byte);
    binding
}

fn with_file<T>(work: impl FnOnce(&std::path::Path) -> Result<T>) -> Result<T> {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("cognate-analysis-{}-{number}", std::process::id());
    let path = spill_folder().join(name);
    let done = work(&path).with_context(|| format!("`{}` cannot be used", path.display()));
    let _ = std::fs::remove_file(&path);
    done
}

/// The bytes of an analysis.
pub(crate) fn bytes_of(analysis: &Analysis) -> Result<Vec<u8>> {
    with_file(|path| {
        analysis.write(path, &OF_TASKS, false)?;
        Ok(std::fs::read(path)?)
    })
}

/// The analysis of some bytes.
pub(crate) fn analysis_of(bytes: &[u8]) -> Result<Analysis> {
    with_file(|path| {
        std::fs::write(path, bytes)?;
        Ok(Analysis::read(path, &OF_TASKS)?)
    })
}

/// The folder for spill files: the one that Spark gives its own.
pub(crate) fn spill_folder() -> PathBuf {
    let folders = std::env::var("SPARK_LOCAL_DIRS").or_else(|_| std::env::var("LOCAL_DIRS")).unwrap_or_default();
    let first = folders.split(',').next().filter(|folder| !folder.is_empty());
    first.map_or_else(std::env::temp_dir, PathBuf::from)
}
