//! Who is attached, and what they have been asked to do.
//!
//! A session is one control stream of one site. Assignments go down it, progress comes up, and both are joined to the
//! scan that asked by the assignment's number. A site that goes away ends its assignments.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use cognate_fingerprint::{KeyFingerprint, Method, MethodId};
use cognate_proto::limits::REPOSITORIES_MAX;
use cognate_proto::name::{RepositoryName, SiteName};
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::{Assignment, AttachResponse, Hello, SyncProgress, SyncSummary, Welcome};
use cognate_proto::{PROTOCOL, spec};
use tokio::sync::{mpsc, watch};

use crate::error::Error;

/// The sessions and assignments of a coordinator.
pub(crate) struct Sessions {
    attached: Mutex<HashMap<SiteName, Session>>,
    assigned: Mutex<HashMap<u64, Assigned>>,
    /// Counts attachments, so that who waits for a site hears of it.
    changes: watch::Sender<u64>,
}

struct Session {
    number: u64,
    down: mpsc::Sender<Result<AttachResponse, tonic::Status>>,
    key_fingerprint: KeyFingerprint,
    repositories: Vec<RepositoryName>,
}

/// What a site has been asked to do, and who wants to know about it.
struct Assigned {
    site: SiteName,
    repository: RepositoryName,
    method: Method,
    method_id: Option<MethodId>,
    target: usize,
    events: mpsc::UnboundedSender<Event>,
}

/// What comes back from an assignment.
pub(crate) enum Event {
    /// It goes on.
    Progress { target: usize, progress: SyncProgress },
    /// It has ended, under which method id if its index was opened at all.
    Ended { target: usize, method_id: Option<MethodId>, outcome: Result<SyncSummary, String> },
}

/// What a push is for.
pub(crate) struct Purpose {
    pub(crate) repository: RepositoryName,
    pub(crate) method: Method,
}

impl Sessions {
    pub(crate) fn new() -> Sessions {
        Sessions { attached: Mutex::default(), assigned: Mutex::default(), changes: watch::Sender::new(0) }
    }

    /// Takes a site in. A second session of the same site takes the place of the first.
    ///
    /// # Errors
    /// When the two sides have no protocol in common, or the greeting makes no sense.
    pub(crate) fn attach(
        &self,
        site: &SiteName,
        hello: &Hello,
        down: mpsc::Sender<Result<AttachResponse, tonic::Status>>,
    ) -> Result<u64, Error> {
        let protocol = *PROTOCOL.end().min(&hello.protocol_max);
        if protocol < *PROTOCOL.start().max(&hello.protocol_min) {
            let older = if hello.protocol_max < *PROTOCOL.start() { "worker" } else { "coordinator" };
            return Err(Error::Invalid(format!(
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
        let number = *self.changes.borrow() + 1;
        let session = Session {
            number,
            key_fingerprint: spec::key_fingerprint(&hello.key_fingerprint).map_err(|error| invalid(&error))?,
            repositories: repositories.map_err(|error| invalid(&error))?,
            down,
        };
        let welcome = Down::Welcome(Welcome { protocol, site: site.to_string() });
        // The queue is new and empty: the welcome always fits.
        let _ = session.down.try_send(Ok(AttachResponse { message: Some(welcome) }));
        lock(&self.attached).insert(site.clone(), session);
        self.changes.send_modify(|changes| *changes += 1);
        Ok(number)
    }

    /// Lets a site go. What it was doing has failed, unless another session has taken over.
    pub(crate) fn detach(&self, site: &SiteName, number: u64) {
        let mut attached = lock(&self.attached);
        if attached.get(site).is_none_or(|session| session.number != number) {
            return;
        }
        attached.remove(site);
        drop(attached);
        let gone: Vec<u64> = {
            let assigned = lock(&self.assigned);
            assigned.iter().filter(|(_, assigned)| assigned.site == *site).map(|(number, _)| *number).collect()
        };
        gone.into_iter().for_each(|assignment| self.end(site, assignment, Err("the site went away".to_owned())));
    }

    /// Waits until a site is attached and offers a repository.
    pub(crate) async fn wait_for(&self, site: &SiteName, repository: &RepositoryName) -> KeyFingerprint {
        let mut changes = self.changes.subscribe();
        loop {
            let found = lock(&self.attached)
                .get(site)
                .and_then(|session| session.repositories.contains(repository).then_some(session.key_fingerprint));
            if let Some(key_fingerprint) = found {
                return key_fingerprint;
            }
            // The sender lives as long as this does.
            let _ = changes.changed().await;
        }
    }

    /// Asks a site to sync. What becomes of it comes back as events.
    pub(crate) async fn assign(
        &self,
        site: &SiteName,
        assignment: Assignment,
        method: Method,
        target: usize,
        events: mpsc::UnboundedSender<Event>,
    ) {
        let number = assignment.assignment;
        let repository = assignment.repository.parse().expect("a repository that was named before");
        let assigned = Assigned { site: site.clone(), repository, method, method_id: None, target, events };
        lock(&self.assigned).insert(number, assigned);
        if !self.send(site, Down::Assignment(assignment)).await {
            self.end(site, number, Err("the site went away".to_owned()));
        }
    }

    /// Says something to a site, if it is attached.
    pub(crate) async fn send(&self, site: &SiteName, message: Down) -> bool {
        let down = lock(&self.attached).get(site).map(|session| session.down.clone());
        match down {
            Some(down) => down.send(Ok(AttachResponse { message: Some(message) })).await.is_ok(),
            None => false,
        }
    }

    /// Hears how far a site is. What it says of others' assignments is not heard.
    pub(crate) fn progress(&self, site: &SiteName, progress: SyncProgress) {
        let assigned = lock(&self.assigned);
        if let Some(assigned) = assigned.get(&progress.assignment).filter(|assigned| assigned.site == *site) {
            // A scan that has ended does not listen any more.
            let _ = assigned.events.send(Event::Progress { target: assigned.target, progress });
        }
    }

    /// Hears that an assignment has ended.
    pub(crate) fn end(&self, site: &SiteName, assignment: u64, outcome: Result<SyncSummary, String>) {
        let mut all = lock(&self.assigned);
        if all.get(&assignment).is_none_or(|assigned| assigned.site != *site) {
            return;
        }
        let assigned = all.remove(&assignment).expect("looked at above");
        drop(all);
        let ended = Event::Ended { target: assigned.target, method_id: assigned.method_id, outcome };
        let _ = assigned.events.send(ended);
    }

    /// What a push is for: only what the site was asked to do, and only for itself.
    ///
    /// # Errors
    /// When nobody asked this site for it.
    pub(crate) fn purpose(
        &self,
        site: &SiteName,
        assignment: u64,
        repository: &str,
        method_id: MethodId,
    ) -> Result<Purpose, Error> {
        let mut all = lock(&self.assigned);
        let assigned = all
            .get_mut(&assignment)
            .filter(|assigned| assigned.site == *site && assigned.repository.as_str() == repository)
            .ok_or_else(|| Error::Invalid("nobody asked this site for such a push".to_owned()))?;
        assigned.method_id = Some(method_id);
        Ok(Purpose { repository: assigned.repository.clone(), method: assigned.method })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A standard mutex: the critical sections are short, and none awaits.
    mutex.lock().expect("no critical section panics")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(protocol: std::ops::RangeInclusive<u32>) -> Hello {
        Hello {
            protocol_min: *protocol.start(),
            protocol_max: *protocol.end(),
            key_fingerprint: vec![0; 16],
            repositories: vec!["main".into()],
            software: String::new(),
        }
    }

    #[test]
    fn a_worker_of_another_age_is_told_who_has_to_upgrade() {
        let sessions = Sessions::new();
        let attach = |hello: &Hello| sessions.attach(&"a".parse().unwrap(), hello, mpsc::channel(1).0);
        assert!(attach(&hello(1..=1)).is_ok());
        let error = attach(&hello(2..=3)).unwrap_err().to_string();
        assert!(error.contains("upgrade the coordinator"), "{error}");
        let error = attach(&hello(0..=0)).unwrap_err().to_string();
        assert!(error.contains("upgrade the worker"), "{error}");
    }

    #[test]
    fn a_greeting_that_makes_no_sense_is_refused() {
        let sessions = Sessions::new();
        let attach = |hello: &Hello| sessions.attach(&"a".parse().unwrap(), hello, mpsc::channel(1).0);
        assert!(attach(&Hello { key_fingerprint: vec![1; 15], ..hello(1..=1) }).is_err());
        assert!(attach(&Hello { repositories: vec!["../etc".into()], ..hello(1..=1) }).is_err());
    }

    #[tokio::test]
    async fn a_site_can_push_only_what_it_was_asked_for() {
        let sessions = Sessions::new();
        let (a, b): (SiteName, SiteName) = ("a".parse().unwrap(), "b".parse().unwrap());
        let (down, _inbox) = mpsc::channel(4);
        sessions.attach(&a, &hello(1..=1), down).unwrap();
        let assignment = Assignment { assignment: 5, repository: "main".into(), ..Default::default() };
        let method = Method::tttd(cognate_fingerprint::View::Raw, 1000).unwrap();
        let (events, mut heard) = mpsc::unbounded_channel();
        sessions.assign(&a, assignment, method, 0, events).await;
        let id = MethodId([1; 16]);
        assert!(sessions.purpose(&a, 5, "main", id).is_ok());
        assert!(sessions.purpose(&b, 5, "main", id).is_err());
        assert!(sessions.purpose(&a, 6, "main", id).is_err());
        assert!(sessions.purpose(&a, 5, "other", id).is_err());
        sessions.end(&b, 5, Ok(SyncSummary::default()));
        assert!(heard.try_recv().is_err());
        sessions.detach(&a, 1);
        assert!(matches!(heard.try_recv(), Ok(Event::Ended { outcome: Err(_), .. })));
    }
}
