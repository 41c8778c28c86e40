//! The greeting of a worker when it attaches, checked.

use cognate_fingerprint::KeyFingerprint;
use cognate_proto::file_hash::HashKinds;
use cognate_proto::limits::REPOSITORIES_MAX;
use cognate_proto::name::{RepositoryName, one_line};
use cognate_proto::v1::Hello;
use cognate_proto::{PROTOCOL, spec};

use crate::error::Error;
use cognate_storage::store::SeenRow;

/// Starts of a worker that the coordinator may not have heard of: one that starts anew each minute for two years.
const STARTS_UNHEARD_MAX: u64 = 1 << 20;

/// A greeting that makes sense.
pub(super) struct Greeting {
    pub(super) protocol: u32,
    pub(super) key_fingerprint: KeyFingerprint,
    pub(super) repositories: Vec<RepositoryName>,
    pub(super) software: String,
    pub(super) unkeyed_across_parties: bool,
    pub(super) generation: u64,
    pub(super) instance: u64,
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
        let repositories = hello.repositories.iter().map(|name| name.parse()).collect::<Result<_, _>>();
        Ok(Greeting {
            protocol,
            key_fingerprint: spec::key_fingerprint(&hello.key_fingerprint).map_err(|error| invalid(&error))?,
            repositories: repositories.map_err(|error| invalid(&error))?,
            software: one_line(&hello.software),
            unkeyed_across_parties: hello.unkeyed_across_parties,
            generation: hello.generation,
            instance: hello.instance,
            file_hashes: HashKinds::from_wire(&hello.file_hashes),
        })
    }

    /// True if this worker is the one that was seen last, or was started after it. Every start of a worker counts one, so that
    /// a number that is far ahead is no later start of the same worker, and would lock that one out. A worker in the coordinator's own
    /// process has no count.
    pub(super) fn follows(&self, seen: &SeenRow) -> bool {
        let is_later = self.generation > seen.generation && self.generation - seen.generation <= STARTS_UNHEARD_MAX;
        let is_same = self.generation == seen.generation && (seen.instance == 0 || self.instance == seen.instance);
        is_later || is_same
    }

    /// The record of the site.
    pub(super) fn seen(&self, last_heard: i64) -> SeenRow {
        SeenRow {
            generation: self.generation,
            instance: self.instance,
            last_heard,
            unkeyed_across_parties: self.unkeyed_across_parties,
            software: self.software.clone(),
            repositories: self.repositories.iter().map(ToString::to_string).collect(),
        }
    }
}
