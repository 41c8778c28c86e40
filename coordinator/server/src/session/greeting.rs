//! The greeting of a worker when it attaches, checked.

use cognate_fingerprint::KeyFingerprint;
use cognate_proto::file_hash::HashKinds;
use cognate_proto::limits::REPOSITORIES_MAX;
use cognate_proto::name::{RepositoryName, one_line};
use cognate_proto::v1::Hello;
use cognate_proto::{PROTOCOL, spec};

use crate::error::Error;
use cognate_storage::store::SeenRow;

/// The processes before it that a worker names at most.
pub(crate) const EARLIER_INSTANCES_MAX: usize = 1000;

/// A greeting that makes sense.
pub(super) struct Greeting {
    pub(super) protocol: u32,
    pub(super) key_fingerprint: KeyFingerprint,
    pub(super) repositories: Vec<RepositoryName>,
    pub(super) software: String,
    pub(super) unkeyed_across_parties: bool,
    pub(super) instance: u64,
    earlier_instances: Vec<u64>,
    pub(super) file_hashes: HashKinds,
}

impl Greeting {
    /// Checks a greeting.
    ///
    /// # Errors
    /// Fails if coordinator and site have no protocol in common, or a field is invalid.
    pub(super) fn check(hello: &Hello) -> Result<Greeting, Error> {
        let protocol = *PROTOCOL.end().min(&hello.protocol_max);
        if protocol < *PROTOCOL.start().max(&hello.protocol_min) {
            let older = if hello.protocol_max < *PROTOCOL.start() { "worker" } else { "coordinator" };
            return Err(Error::Protocol(format!(
                "the worker speaks protocols {} to {}, the coordinator {} to {}: upgrade the {older}",
                hello.protocol_min,
                hello.protocol_max,
                PROTOCOL.start(),
                PROTOCOL.end()
            )));
        }
        let invalid = |error: &dyn std::fmt::Display| Error::Invalid(error.to_string());
        if hello.repositories.len() > REPOSITORIES_MAX {
            return Err(invalid(&format!("more than {REPOSITORIES_MAX} repositories")));
        }
        if hello.earlier_instances.len() > EARLIER_INSTANCES_MAX {
            return Err(invalid(&format!("more than {EARLIER_INSTANCES_MAX} earlier processes")));
        }
        let repositories = hello.repositories.iter().map(|name| name.parse()).collect::<Result<_, _>>();
        Ok(Greeting {
            protocol,
            key_fingerprint: spec::key_fingerprint(&hello.key_fingerprint).map_err(|error| invalid(&error))?,
            repositories: repositories.map_err(|error| invalid(&error))?,
            software: one_line(&hello.software),
            unkeyed_across_parties: hello.unkeyed_across_parties,
            instance: hello.instance,
            earlier_instances: hello.earlier_instances.clone(),
            file_hashes: HashKinds::from_wire(&hello.file_hashes),
        })
    }

    /// The record of the site if it is this worker's to be attached now; `None` if the worker works with a copy of the site's state. `is_attached`:
    /// the process that was seen last is attached.
    ///
    /// A process follows those that worked with its state before, and so does one with a copy; but a copy that was started does not know
    /// what the original is started as afterwards. If a copy takes the place of an original that still lives, this one comes back, and from then on
    /// the copy is refused as long as it is there. A worker in the coordinator's own process has no number.
    pub(super) fn admitted(&self, seen: &SeenRow, is_attached: bool, last_heard: i64) -> Option<SeenRow> {
        let follows = |instance: u64| instance == self.instance || self.earlier_instances.contains(&instance);
        let is_copy = seen.copy_instance != 0 && follows(seen.copy_instance);
        let row = self.seen(last_heard);
        if is_copy && is_attached {
            None
        } else if seen.instance == 0 || seen.instance == self.instance {
            Some(SeenRow { replaced_instance: seen.replaced_instance, copy_instance: seen.copy_instance, ..row })
        } else if follows(seen.instance) {
            let copy_instance = if is_copy { 0 } else { seen.copy_instance };
            Some(SeenRow { replaced_instance: seen.instance, copy_instance, ..row })
        } else if self.instance != 0 && self.instance == seen.replaced_instance {
            Some(SeenRow { copy_instance: seen.instance, ..row })
        } else {
            None
        }
    }

    /// The record of the site.
    fn seen(&self, last_heard: i64) -> SeenRow {
        SeenRow {
            instance: self.instance,
            last_heard,
            unkeyed_across_parties: self.unkeyed_across_parties,
            software: self.software.clone(),
            repositories: self.repositories.iter().map(ToString::to_string).collect(),
            ..SeenRow::default()
        }
    }
}
