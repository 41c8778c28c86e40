//! Clusters and identical sets that are new, changed or gone between two results, by id and by members.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Order, Report};
use crate::error::Error;

/// Key of a set or cluster: its kind, its view and its id.
type Key = (&'static str, String, String);

/// Changes between two results.
#[derive(Clone, Serialize, Debug, Default)]
pub struct Changes {
    /// Groups of the later one alone, with an id that the earlier has not.
    pub new: Vec<Change>,
    /// Groups with the same id in both and other members.
    pub changed: Vec<Change>,
    /// Groups of the earlier one alone.
    pub gone: Vec<Change>,
}

/// A cluster or identical set, in few words.
#[derive(Clone, PartialEq, Eq, Serialize, Debug)]
pub struct Change {
    /// `identical` or `cluster`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// The sites that have documents in it.
    pub sites: Vec<String>,
    /// Number of documents.
    pub documents: u64,
    /// Bytes of its contents, each counted once; of a message, of its first document.
    pub bytes: u64,
    /// The first document, as `site/repository: path`.
    pub first: String,
    /// In what the documents of an identical set are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<&'static str>,
    /// Under which of two views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
    /// Its members.
    #[serde(skip)]
    members: String,
}

impl Changes {
    /// True if there are no changes.
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.changed.is_empty() && self.gone.is_empty()
    }
}

impl Report {
    /// Groups that are new, changed and gone since an earlier result.
    ///
    /// # Errors
    /// Fails if either file cannot be read.
    pub fn since(&self, earlier: &Report) -> Result<Changes, Error> {
        let mut before = earlier.digest_rows()?;
        let mut changes = Changes::default();
        for (key, now) in self.digest_rows()? {
            match before.remove(&key) {
                None => changes.new.push(now),
                Some(then) if then.members != now.members => changes.changed.push(now),
                Some(_) => {}
            }
        }
        changes.gone = before.into_values().collect();
        Ok(changes)
    }

    /// All that there is, as new: where there is no earlier result.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn all_new(&self) -> Result<Changes, Error> {
        Ok(Changes { new: self.digest_rows()?.into_values().collect(), ..Changes::default() })
    }

    /// Digests are of documents in the order of names, however the two scans were launched.
    fn digest_rows(&self) -> Result<BTreeMap<Key, Change>, Error> {
        self.in_order(Order::Names, || self.rows_by_name())
    }

    fn rows_by_name(&self) -> Result<BTreeMap<Key, Change>, Error> {
        let mut rows = BTreeMap::new();
        self.identical::<Error>(|set| {
            let mut hasher = blake3::Hasher::new();
            let mut sites = Vec::new();
            for document in &set.documents {
                for part in [&document.site, &document.repository, &document.path] {
                    hasher.update(part.as_bytes()).update(&[0]);
                }
                sites.push(document.site.clone());
            }
            sites.sort();
            sites.dedup();
            let first = &set.documents[0];
            let change = Change {
                kind: "identical",
                id: set.id.clone(),
                sites,
                documents: set.documents.len() as u64,
                bytes: set.size_bytes.or(first.size_bytes).unwrap_or(0),
                tier: Some(set.tier),
                view: set.view,
                first: format!("{}/{}: {}", first.site, first.repository, first.path),
                members: hasher.finalize().to_hex().to_string(),
            };
            rows.insert(("identical", set.tier.to_owned(), set.id), change);
            Ok(())
        })?;
        self.clusters::<Error>(|cluster| {
            let mut sites: Vec<String> = cluster.documents.iter().flat_map(|one| one.sites.clone()).collect();
            sites.sort();
            sites.dedup();
            let first = &cluster.documents[0];
            let change = Change {
                kind: "cluster",
                id: cluster.id.clone(),
                sites,
                documents: cluster.documents.iter().map(|one| one.copies).sum(),
                bytes: cluster.total_bytes,
                tier: None,
                view: cluster.view.clone(),
                first: format!("{}/{}: {}", first.site, first.repository, first.path),
                members: cluster.members_digest,
            };
            let view = cluster.view.or_else(|| self.views.first().cloned()).unwrap_or_default();
            rows.insert(("cluster", view, cluster.id), change);
            Ok(())
        })?;
        Ok(rows)
    }
}
