//! The subject of a decision as it is remembered: by what stays the same in later scans.

use cognate_proto::name::one_line;
use cognate_proto::v1;
use cognate_storage::verdict::{Decided, Key, sixteen};

use crate::browse::{Browse, ClusterRow};
use crate::error::Error;

/// The members of a cluster are remembered one by one while they are no more than this.
const MEMBERS_MAX: u64 = 64;

impl Browse {
    /// The part of a subject that a decision about it remembers.
    ///
    /// # Errors
    /// Fails if the result has no such subject, or cannot be read.
    pub fn decided(&self, subject: &v1::Subject) -> Result<Decided, Error> {
        match subject.kind() {
            v1::SubjectKind::Cluster => self.decided_cluster(&self.cluster_beginning(&subject.view, &subject.id)?),
            v1::SubjectKind::Identical => {
                let id = one_line(&subject.id);
                let set = self.set_called(&subject.id)?;
                let set = set.ok_or_else(|| Error::Unknown(format!("no identical set `{id}`")))?;
                let key =
                    Key::of_set(&set.tier, &set.id).ok_or_else(|| Error::Invalid("`id`: it is no id".to_owned()))?;
                Ok(Decided {
                    key: key.0.to_vec(),
                    digest: sixteen(&set.members_digest).unwrap_or_default().to_vec(),
                    member_count: set.documents,
                    ..Decided::default()
                })
            }
            v1::SubjectKind::Document => {
                let v1::Subject { site, repository, path, .. } = subject;
                let contents = self.document_at(site, repository, path)?;
                let content = contents.and_then(|contents| contents.into_iter().next());
                let (view, digest) = content.ok_or_else(|| {
                    let shown = one_line(&String::from_utf8_lossy(path));
                    let (site, repository) = (one_line(site), one_line(repository));
                    Error::Unknown(format!("no document {site}/{repository}: {shown} was compared"))
                })?;
                Ok(Decided {
                    key: Key::of_document(site, repository, path).0.to_vec(),
                    digest,
                    member_count: 1,
                    site: site.clone(),
                    repository: repository.clone(),
                    view,
                    ..Decided::default()
                })
            }
            v1::SubjectKind::Unspecified => Err(Error::Invalid("`subjects`: say of what kind".to_owned())),
        }
    }

    /// The part of a cluster that a decision about it remembers.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn decided_cluster(&self, cluster: &ClusterRow) -> Result<Decided, Error> {
        let key = Key::of_cluster(&cluster.view, &cluster.id);
        let key = key.ok_or_else(|| Error::Unknown(format!("no cluster `{}`", one_line(&cluster.id))))?;
        let mut members: Vec<[u8; 16]> = Vec::new();
        if cluster.members <= MEMBERS_MAX {
            let sql = "SELECT digest FROM content WHERE cluster = ? ORDER BY id";
            members = self.report().rows(sql, [cluster.number])?;
        }
        Ok(Decided {
            key: key.0.to_vec(),
            digest: sixteen(&cluster.members_digest).unwrap_or_default().to_vec(),
            members: members.concat(),
            member_count: cluster.members,
            ..Decided::default()
        })
    }
}
