//! The offer of a site: its repositories, its key and its policy. Every request for a sync is checked against it, and what
//! the site does not offer or allow is refused with the reason.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use cognate_fingerprint::{Key, Method, View};
use cognate_proto::measure::{ContentPair, unpack_pairs};
use cognate_proto::name::RepositoryName;
use cognate_proto::scope::{ScopeAnnouncement, ScopeError};
use cognate_proto::selection::{Selection, SelectionRule};
use cognate_proto::spec;
use cognate_proto::v1::{Assignment, FineQuery, MeasureQuery, Resend};

use crate::error::SyncError;
use crate::policy::Policy;
use crate::records::store::Records;
use crate::sync::job::Job;
use crate::sync::refine::check_refinement;

/// The longest mean that chunks may have: a policy that refuses it allows no scan of the bytes.
const MEAN_BYTES_MOST: u64 = 1 << 20;

/// The offer of a site.
pub(crate) struct Offer {
    /// The repositories, with their roots.
    pub(crate) repositories: Vec<(RepositoryName, PathBuf)>,
    /// Of repositories, a file below the root that shows that it is mounted.
    pub(crate) sentinels: HashMap<RepositoryName, PathBuf>,
    pub(crate) key: Key,
    pub(crate) policy: Policy,
    /// Files and folders of the worker itself, with links resolved.
    pub(crate) own_files: Arc<[PathBuf]>,
    pub(crate) records: Arc<Records>,
}

fn refused(error: &dyn fmt::Display) -> SyncError {
    SyncError::Assignment(error.to_string())
}

fn violation(error: &ScopeError) -> SyncError {
    SyncError::Violation(format!("it announced {error}"))
}

impl Offer {
    /// Checks an assignment of the coordinator.
    pub(crate) fn check(&self, assignment: Assignment) -> Result<Job, SyncError> {
        let repository: RepositoryName = assignment.repository.parse().map_err(|error| refused(&error))?;
        let spec = assignment.method.ok_or_else(|| refused(&"it names no method"))?;
        let method = Method::try_from(&spec).map_err(|error| refused(&error))?;
        if !spec.method_id.is_empty() {
            self.check_method_id(&method, &spec.method_id)?;
        }
        let across_parties = assignment.across_parties;
        let allowed = self.policy.check(&repository, &method, self.key.is_keyed(), across_parties);
        // A scan of the bytes goes on without the text of office files.
        let keeps_text = allowed.is_err()
            && method.view() == View::Office
            && assignment.refinement.is_none()
            && self.allows_bytes(&repository, &method, across_parties);
        if !keeps_text {
            allowed.map_err(SyncError::Policy)?;
        }
        let selection =
            Selection::try_from(assignment.selection.unwrap_or_default()).map_err(|error| refused(&error))?;
        let mut job = self.job(assignment.assignment, repository, method, selection, assignment.follow_symlinks)?;
        job.keeps_text = keeps_text;
        if let Some(refinement) = &assignment.refinement {
            let refinement = ScopeAnnouncement::check(refinement).map_err(|error| violation(&error))?;
            self.policy.check_refinement().map_err(SyncError::Policy)?;
            check_refinement(&self.records, &job, &refinement)?;
            if assignment.estimate_only {
                return Err(refused(&"its scan knows the size of a refinement, so there is no estimate"));
            }
            job.refinement = Some(refinement);
        }
        Ok(job)
    }

    /// True if a scan of the bytes may have the names of files: the policy allows it at the longest mean.
    fn allows_bytes(&self, repository: &RepositoryName, method: &Method, across_parties: bool) -> bool {
        let bytes = Method::restore(method.name(), View::Raw, MEAN_BYTES_MOST, &method.param());
        bytes.is_ok_and(|bytes| self.policy.check(repository, &bytes, self.key.is_keyed(), across_parties).is_ok())
    }

    /// Checks a query for fine chunks: the policy must allow them, and the method that they follow from.
    pub(crate) fn check_fine(&self, query: FineQuery) -> Result<Job, SyncError> {
        let repository: RepositoryName = query.repository.parse().map_err(|error| refused(&error))?;
        let spec = query.method.ok_or_else(|| refused(&"it names no method"))?;
        let method = Method::try_from(&spec).map_err(|error| refused(&error))?;
        self.check_method_id(&method, &spec.method_id)?;
        let (keyed, across_parties) = (self.key.is_keyed(), query.across_parties);
        self.policy.check(&repository, &method, keyed, across_parties).map_err(SyncError::Policy)?;
        self.policy.check_fine(keyed, across_parties).map_err(SyncError::Policy)?;
        self.job(0, repository, method, Selection::all(), query.follow_symlinks)
    }

    /// Checks a query for the exact measure of pairs: the policy must allow it, and the method that their contents were sent
    /// under. Returns a job for each of its repositories.
    pub(crate) fn check_measure(&self, query: &MeasureQuery) -> Result<(Vec<Job>, Vec<ContentPair>), SyncError> {
        let spec = query.method.as_ref().ok_or_else(|| refused(&"it names no method"))?;
        let method = Method::try_from(spec).map_err(|error| refused(&error))?;
        self.check_method_id(&method, &spec.method_id)?;
        if !(1..=self.repositories.len()).contains(&query.repositories.len()) {
            return Err(refused(&"it names no repository, or more than this site offers"));
        }
        let (keyed, across_parties) = (self.key.is_keyed(), query.across_parties);
        let mut jobs = Vec::new();
        for name in &query.repositories {
            let repository: RepositoryName = name.parse().map_err(|error| refused(&error))?;
            self.policy.check(&repository, &method, keyed, across_parties).map_err(SyncError::Policy)?;
            jobs.push(self.job(0, repository, method, Selection::all(), query.follow_symlinks)?);
        }
        self.policy.check_measure(keyed, across_parties).map_err(SyncError::Policy)?;
        let pairs = unpack_pairs(&query.contents);
        Ok((jobs, pairs.map_err(|error| SyncError::Violation(format!("it sent a query with {error}")))?))
    }

    /// Checks a resend: this site must have sent something of the index. Returns its assignment, or the number of the
    /// refused one.
    pub(crate) fn check_resend(&self, resend: Resend) -> Result<Assignment, (u64, SyncError)> {
        let assignment = resend.assignment.ok_or_else(|| (0, refused(&"a resend without an assignment")))?;
        match self.check_sent(&assignment, &resend.method_id) {
            Ok(()) => Ok(assignment),
            Err(error) => Err((assignment.assignment, error)),
        }
    }

    fn check_sent(&self, assignment: &Assignment, method_id: &[u8]) -> Result<(), SyncError> {
        let method_id = spec::method_id(method_id).map_err(|error| refused(&error))?;
        let repository: RepositoryName = assignment.repository.parse().map_err(|error| refused(&error))?;
        let refinement = assignment.refinement.as_ref().map(ScopeAnnouncement::check).transpose();
        let scope = refinement.map_err(|error| violation(&error))?.map(|refinement| refinement.id);
        if !self.records.was_sent(&repository, method_id, scope) {
            return Err(refused(&format!("nothing was ever sent of `{repository}` under method {method_id}")));
        }
        let spec = assignment.method.as_ref().ok_or_else(|| refused(&"it names no method"))?;
        self.check_method_id(&Method::try_from(spec).map_err(|error| refused(&error))?, &method_id.0)
    }

    fn check_method_id(&self, method: &Method, expected: &[u8]) -> Result<(), SyncError> {
        let expected = spec::method_id(expected).map_err(|error| refused(&error))?;
        let own = method.id(&self.key);
        if expected == own {
            return Ok(());
        }
        Err(SyncError::MethodId { expected: expected.to_string(), own: own.to_string() })
    }

    fn job(
        &self,
        assignment: u64,
        repository: RepositoryName,
        method: Method,
        selection: Selection,
        follow_symlinks: bool,
    ) -> Result<Job, SyncError> {
        let offered = self.repositories.iter().find(|(name, _)| *name == repository);
        let Some((_, path)) = offered else { return Err(SyncError::UnknownRepository(repository)) };
        if follow_symlinks {
            self.policy.check_follow().map_err(SyncError::Policy)?;
        }
        Ok(Job {
            assignment,
            path: path.clone(),
            method_id: method.id(&self.key),
            method,
            selection: Arc::new(selection),
            follow_symlinks,
            own_files: Arc::clone(&self.own_files),
            sentinel: self.sentinels.get(&repository).cloned(),
            accepts_removals: self.policy.mass_removals,
            keeps_text: false,
            repository,
            refinement: None,
        })
    }

    /// Checks a sync that this site itself requests.
    pub(crate) fn own_job(
        &self,
        repository: RepositoryName,
        method: Method,
        rule: SelectionRule,
        follow_symlinks: bool,
    ) -> Result<Job, SyncError> {
        self.policy.check(&repository, &method, self.key.is_keyed(), false).map_err(SyncError::Policy)?;
        let selection = Selection::new(rule).map_err(|error| refused(&error))?;
        self.job(0, repository, method, selection, follow_symlinks)
    }
}

#[cfg(test)]
mod tests {
    use cognate_proto::v1::MethodSpec;

    use super::*;
    use crate::records::sent_state::IndexUpload;

    fn with_offer(check: impl FnOnce(&Offer)) {
        let folder = tempfile::tempdir().unwrap();
        check(&Offer {
            repositories: vec![("kb".parse().unwrap(), "/srv/kb".into())],
            sentinels: HashMap::new(),
            key: Key::none(),
            policy: Policy { chunk_bytes_min: 500, ..Policy::everything() },
            own_files: Arc::default(),
            records: Arc::new(Records::open(folder.path(), true, true, 0).unwrap()),
        });
    }

    fn method(chunk_bytes: u64) -> Method {
        Method::tttd(View::Raw, chunk_bytes).unwrap()
    }

    fn assignment(chunk_bytes: u64) -> Assignment {
        let spec = MethodSpec { method_id: Vec::new(), ..MethodSpec::from(&method(chunk_bytes)) };
        Assignment { assignment: 5, repository: "kb".into(), method: Some(spec), ..Assignment::default() }
    }

    #[test]
    fn an_assignment_becomes_a_job_or_is_refused_with_the_reason() {
        with_offer(|offer| {
            let job = offer.check(assignment(1000)).unwrap();
            assert_eq!((job.assignment, job.path.to_str(), job.scope()), (5, Some("/srv/kb"), None));
            assert_eq!(job.method_id, method(1000).id(&Key::none()));
            let refuses = |assignment: Assignment, reason: &str| {
                let error = offer.check(assignment).err().unwrap().to_string();
                assert!(error.contains(reason), "{error}");
            };
            refuses(Assignment { repository: "other".into(), ..assignment(1000) }, "no repository `other`");
            refuses(Assignment { method: None, ..assignment(1000) }, "names no method");
            assert!(offer.check(Assignment { follow_symlinks: true, ..assignment(1000) }).is_ok());
            refuses(assignment(499), "policy.chunk_bytes_min is 500, the scan asks for 499");
            let mut spec = assignment(1000).method.unwrap();
            spec.method_id = vec![1; 16];
            refuses(Assignment { method: Some(spec), ..assignment(1000) }, "the coordinator expects method id");
        });
    }

    #[test]
    fn a_query_for_the_exact_measure_is_of_own_repositories_and_of_pairs() {
        with_offer(|offer| {
            let spec = MethodSpec { method_id: method(1000).id(&Key::none()).0.to_vec(), ..(&method(1000)).into() };
            let query = |repositories: &[&str], contents: usize| MeasureQuery {
                query: 1,
                repositories: repositories.iter().map(|name| (*name).to_owned()).collect(),
                method: Some(spec.clone()),
                contents: vec![7; 16 * contents],
                ..MeasureQuery::default()
            };
            let (jobs, pairs) = offer.check_measure(&query(&["kb"], 6)).unwrap();
            assert_eq!((jobs.len(), jobs[0].path.to_str(), pairs.len()), (1, Some("/srv/kb"), 3));
            let error = |query: &MeasureQuery| offer.check_measure(query).err().unwrap();
            assert!(matches!(error(&query(&["other"], 2)), SyncError::UnknownRepository(_)));
            assert!(error(&query(&[], 2)).to_string().contains("names no repository"));
            assert!(error(&query(&["kb", "kb"], 2)).to_string().contains("more than this site offers"));
            assert!(matches!(error(&query(&["kb"], 3)), SyncError::Violation(_)));
            assert!(matches!(error(&query(&["kb"], 0)), SyncError::Violation(_)));
            let other = MethodSpec { method_id: vec![1; 16], ..spec.clone() };
            let other = MeasureQuery { method: Some(other), ..query(&["kb"], 2) };
            assert!(matches!(error(&other), SyncError::MethodId { .. }));
        });
    }

    #[test]
    fn text_of_office_files_is_kept_only_where_a_scan_of_the_bytes_is_allowed() {
        let checked = |policy: Policy| {
            let folder = tempfile::tempdir().unwrap();
            let offer = Offer {
                repositories: vec![("kb".parse().unwrap(), "/srv/kb".into())],
                sentinels: HashMap::new(),
                key: Key::none(),
                policy,
                own_files: Arc::default(),
                records: Arc::new(Records::open(folder.path(), true, true, 0).unwrap()),
            };
            let spec =
                MethodSpec { method_id: Vec::new(), ..MethodSpec::from(&Method::tttd(View::Office, 200).unwrap()) };
            let asked = Assignment { method: Some(spec), across_parties: true, ..assignment(1000) };
            offer.check(asked).map(|job| job.keeps_text).map_err(|error| error.to_string())
        };
        let everything = Policy::everything;
        assert_eq!(checked(everything()), Ok(false));
        assert_eq!(checked(Policy { views: vec!["raw".into()], ..everything() }), Ok(true));
        assert_eq!(checked(Policy { chunk_bytes_min: 500, ..everything() }), Ok(true));
        // Not even the names of office files leave where nothing may.
        for policy in [
            Policy { views: vec!["passages".into()], ..everything() },
            Policy { unkeyed_across_parties: false, ..everything() },
            Policy { methods: vec!["min".into()], ..everything() },
        ] {
            assert!(checked(policy.clone()).is_err_and(|error| error.contains("policy.")), "{policy:?}");
        }
    }

    #[test]
    fn only_an_index_that_was_sent_can_be_sent_again() {
        with_offer(|offer| {
            let method_id = method(1000).id(&Key::none());
            let resend = |method_id: &[u8]| Resend {
                assignment: Some(assignment(1000)),
                method_id: method_id.to_vec(),
                after_sequence: 0,
            };
            let (number, error) = offer.check_resend(resend(&method_id.0)).unwrap_err();
            assert!(number == 5 && error.to_string().contains("nothing was ever sent"), "{error}");
            offer
                .records
                .sent_state(&"kb".parse().unwrap(), method_id, None, IndexUpload { epoch: 7, samples: true })
                .unwrap();
            assert_eq!(offer.check_resend(resend(&method_id.0)).unwrap().assignment, 5);
            assert_eq!(offer.check_resend(Resend::default()).unwrap_err().0, 0);
        });
    }

    #[test]
    fn a_sync_of_the_site_itself_obeys_the_policy() {
        with_offer(|offer| {
            let own = |repository: &str, chunk_bytes| {
                let rule = SelectionRule::default();
                offer.own_job(repository.parse().unwrap(), method(chunk_bytes), rule, false)
            };
            assert_eq!(own("kb", 1000).unwrap().assignment, 0);
            assert!(matches!(own("kb", 499), Err(SyncError::Policy(_))));
            assert!(matches!(own("other", 1000), Err(SyncError::UnknownRepository(_))));
        });
    }
}
