//! The folder of the exchange: a local or network folder, or one in an object store.
//!
//! Credentials of object stores come from the environment of the coordinator, under the names that each store's own tools use
//! (`AWS_ACCESS_KEY_ID`, `AZURE_STORAGE_ACCOUNT_KEY`, `GOOGLE_SERVICE_ACCOUNT`, ...).

use std::future::Future;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::TryStreamExt as _;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload};
use tokio::runtime::Runtime;
use url::Url;

/// Objects that are removed at the same time.
const REMOVED_AT_ONCE: usize = 8;

/// A folder that this program and the cluster reach under the same address.
#[derive(Clone)]
pub(crate) struct Exchange {
    store: Arc<dyn ObjectStore>,
    folder: Path,
    url: String,
    runtime: Arc<Runtime>,
}

/// A file of it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

impl Exchange {
    /// Opens the folder `name` below an address.
    pub(crate) fn open(address: &str, name: &str) -> Result<Exchange> {
        let url = format!("{}/cognate-{name}", address.trim_end_matches('/'));
        let parsed = Url::parse(&url).with_context(|| format!("the exchange `{url}` is no address"))?;
        let settings = std::env::vars().filter_map(|(key, value)| {
            let key = key.to_ascii_lowercase();
            ["aws_", "azure_", "google_"].iter().any(|prefix| key.starts_with(prefix)).then_some((key, value))
        });
        let (store, folder) = object_store::parse_url_opts(&parsed, settings)
            .with_context(|| format!("the exchange `{url}` cannot be used"))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        if parsed.scheme() == "file" {
            let path =
                parsed.to_file_path().map_err(|()| anyhow::anyhow!("the exchange `{url}` is no local folder"))?;
            let parent = path.parent().context("the exchange is below a folder")?;
            std::fs::metadata(parent).with_context(|| {
                format!(
                    "the folder `{}` of the exchange cannot be used: create it where the cluster sees it as well",
                    parent.display()
                )
            })?;
        }
        Ok(Exchange { store: store.into(), folder, url, runtime: Arc::new(runtime) })
    }

    /// The address of the folder.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The address of a file or folder in it.
    pub(crate) fn url_of(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    /// Writes a file; it appears when it is complete.
    pub(crate) fn put(&self, name: &str, content: Vec<u8>) -> Result<()> {
        let path = self.path(name)?;
        self.wait(name, "written", self.store.put(&path, PutPayload::from(content))).map(drop)
    }

    /// Reads a file.
    pub(crate) fn get(&self, name: &str) -> Result<Bytes> {
        let path = self.path(name)?;
        self.wait(name, "read", async { self.store.get(&path).await?.bytes().await })
    }

    /// Reads a part of a file.
    pub(crate) fn get_range(&self, name: &str, range: std::ops::Range<u64>) -> Result<Bytes> {
        let path = self.path(name)?;
        self.wait(name, "read", self.store.get_range(&path, range))
    }

    /// The size of a file; none if it is not there.
    pub(crate) fn bytes_of(&self, name: &str) -> Result<Option<u64>> {
        let path = self.path(name)?;
        self.wait(name, "found", async {
            match self.store.head(&path).await {
                Ok(found) => Ok(Some(found.size)),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    /// True if the folder has no file.
    pub(crate) fn is_empty(&self) -> Result<bool> {
        let first = async { self.store.list(Some(&self.folder)).try_next().await };
        Ok(self.wait("", "listed", first)?.is_none())
    }

    /// The files with rows in a folder of it, by their names.
    pub(crate) fn data_files(&self, name: &str) -> Result<Vec<Object>> {
        let folder = self.path(name)?;
        let listed: Vec<_> = self.wait(name, "listed", self.store.list(Some(&folder)).try_collect())?;
        // Names with a leading underscore or dot are marks of a writer.
        let is_data = |path: &Path| {
            let mut parts = path.prefix_match(&folder).into_iter().flatten();
            parts.all(|part| !part.as_ref().starts_with(['_', '.'])) && path.extension() == Some("parquet")
        };
        let mut files: Vec<Object> = listed
            .into_iter()
            .filter(|object| is_data(&object.location))
            .map(|object| {
                let parts = object.location.prefix_match(&folder).into_iter().flatten();
                let below: Vec<String> = parts.map(|part| part.as_ref().to_owned()).collect();
                Object { name: format!("{name}/{}", below.join("/")), bytes: object.size }
            })
            .collect();
        files.sort_unstable();
        Ok(files)
    }

    /// Removes all files of the folder. `name` is that of the job, which the address ends with: nothing else is ever removed.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        assert!(self.folder.as_ref().ends_with(&format!("cognate-{name}")), "only the folder of a job is removed");
        let removed = async {
            let listed = self.store.list(Some(&self.folder));
            let removing = listed.map_ok(|object| async move { self.store.delete(&object.location).await });
            removing.try_buffer_unordered(REMOVED_AT_ONCE).try_for_each(|()| async { Ok(()) }).await
        };
        self.wait("", "emptied", removed)?;
        if let Some(folder) =
            Url::parse(&self.url).ok().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok())
        {
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("`{}` cannot be removed", folder.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, name: &str) -> Result<Path> {
        Ok(Path::parse(format!("{}/{name}", self.folder))?)
    }

    fn wait<T>(&self, name: &str, done: &str, work: impl Future<Output = object_store::Result<T>>) -> Result<T> {
        let failed = match self.runtime.block_on(work) {
            Ok(found) => return Ok(found),
            Err(error) => error.to_string(),
        };
        Err(anyhow::anyhow!("`{}` cannot be {done}: {}", self.url_of(name), reason(&failed)))
    }
}

/// The reason of a failure: a store may answer with a page of XML, of which the code is for people.
fn reason(failed: &str) -> String {
    let code = failed.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    let reason = failed.split(": <").next().unwrap_or_default();
    code.map_or_else(|| reason.to_owned(), |code| format!("{reason}, {code}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_rows_are_listed_and_all_are_removed_with_the_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        let exchange = Exchange::open(&format!("file://{}", folder.path().display()), "job").unwrap();
        exchange.put("grouped-0/part-1.parquet", b"abc".to_vec()).unwrap();
        exchange.put("grouped-0/_temporary/0/part-2.parquet", b"abc".to_vec()).unwrap();
        exchange.put("grouped-0/.part-1.parquet.crc", b"abc".to_vec()).unwrap();
        exchange.put("grouped-0/_SUCCESS", Vec::new()).unwrap();
        std::fs::write(folder.path().join("other"), b"stays").unwrap();
        let found = exchange.data_files("grouped-0").unwrap();
        assert_eq!(found, [Object { name: "grouped-0/part-1.parquet".into(), bytes: 3 }]);
        assert_eq!(exchange.get(&found[0].name).unwrap(), b"abc"[..]);
        assert_eq!(exchange.bytes_of("none").unwrap(), None);
        exchange.remove("job").unwrap();
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["other"]);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = format!("{:#}", Exchange::open("file:///nowhere/at/all", "job").err().unwrap());
        assert!(error.contains("/nowhere/at/all") && error.contains("create it"), "{error}");
    }

    #[test]
    fn the_reason_of_a_store_is_one_sentence() {
        let failed = "Generic S3 error: Server returned 403 Forbidden: <?xml version=\"1.0\"?> <Error><Code>InvalidAccessKeyId</Code></Error>: again";
        assert_eq!(reason(failed), "Generic S3 error: Server returned 403 Forbidden, InvalidAccessKeyId");
        assert_eq!(reason("No space left on device"), "No space left on device");
    }
}
