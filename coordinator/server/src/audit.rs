//! Audits: the auditor's report of a scan, made from its result and signed with the key of the federation's authority.

mod run_length;
mod signed;

use std::sync::Arc;

use cognate_analysis::Analyser;
use cognate_export::audit::{Asked, Audit, AuditInput, FederationKey, Made};
use cognate_proto::identity::federation_key_words;
use cognate_proto::name::{RepositoryName, ScanId, SiteName};
use cognate_proto::spec::key_fingerprint;
use cognate_proto::v1::SampleState;
use cognate_result::report::{Report, time};
use cognate_storage::store::{ScanRow, ScanStep};

use self::signed::Signed;
pub use self::signed::{VerifyError, verify};
use crate::error::Error;
use crate::identity::Members;

/// Makes auditors' reports.
pub(crate) struct Audits {
    pub(crate) analyser: Arc<Analyser>,
    pub(crate) members: Arc<Members>,
    pub(crate) software: &'static str,
}

impl Audits {
    /// The auditor's report of a scan.
    ///
    /// # Errors
    /// Fails if the scan has no result, or it cannot be read.
    pub(crate) fn audit(&self, id: ScanId, by: &str, samples: &[SampleState]) -> Result<Audit, Error> {
        let row = self.analyser.store.scan(id)?.filter(|row| row.step() == ScanStep::Published);
        let row = row.ok_or_else(|| Error::Refused(format!("scan {id} has no result")))?;
        let mut report = Report::open(&self.analyser.published(id)?)?;
        report.set_samples(samples);
        let made = Made {
            by: by.to_owned(),
            at: time(cognate_storage::clock::seconds((self.analyser.clock)())),
            software: self.software.to_owned(),
            federation: self.members.authority()?.deployment().to_owned(),
            key_words: self.members.authority()?.key_hash().words(),
        };
        let run_lengths = self.run_lengths(&row, &report)?;
        let party_names = self.analyser.store.full_names_of_parties()?;
        let input = AuditInput { made, asked: asked(&row), digest: row.digest.clone(), run_lengths, party_names };
        Ok(Audit::of(&report, input)?)
    }

    /// The same as a signed document of JSON.
    ///
    /// # Errors
    /// As [`Audits::audit`].
    pub(crate) fn json(&self, id: ScanId, by: &str, samples: &[SampleState]) -> Result<Vec<u8>, Error> {
        Signed::JSON.seal(self.audit(id, by, samples)?.json()?, self.members.authority()?)
    }

    /// The same as a signed page.
    ///
    /// # Errors
    /// As [`Audits::audit`].
    pub(crate) fn html(&self, id: ScanId, by: &str, samples: &[SampleState]) -> Result<Vec<u8>, Error> {
        Signed::HTML.seal(self.audit(id, by, samples)?.html()?, self.members.authority()?)
    }
}

fn asked(row: &ScanRow) -> Asked {
    let options = row.options();
    let templates = (0..row.layer_count()).flat_map(|layer| row.layer(layer).templates);
    let name = |(site, repository): &(SiteName, RepositoryName)| format!("{site}/{repository}");
    Asked {
        by: row.launched_by.clone(),
        repositories: options.repositories.iter().map(name).collect(),
        include: options.include,
        exclude: options.exclude,
        size_max_bytes: options.size_max_bytes,
        sample_percent: options.sample_percent,
        follow_symlinks: options.follow,
        synced: !options.no_sync,
        control: options.control,
        federation_key: key_fingerprint(&row.key_fingerprint)
            .ok()
            .map(|key| FederationKey { fingerprint: key.to_string(), words: federation_key_words(&key) }),
        templates: templates.map(|template| ScanId(template).to_string()).collect(),
    }
}
