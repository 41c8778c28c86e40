//! Verdicts, as far as a person may see, set and undo them: it must see the full result of the scan.

use std::sync::Arc;

use cognate_proto::name::ScanId;
use cognate_proto::v1;

use cognate_result::report::{Reader, Report};

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use crate::streams::spool::SpoolReader;
use cognate_desk::verdict::VerdictRequest;

impl OperatorService {
    /// Sets a verdict on clusters, sets or documents of a result.
    pub fn set_verdicts(
        &self,
        operator: &Operator,
        request: v1::SetVerdictsRequest,
    ) -> Result<v1::SetVerdictsResponse, Error> {
        let request = VerdictRequest::from_wire(request)?;
        request.scans().try_for_each(|scan| self.check_result(operator, scan))?;
        let (action, subjects) =
            self.services.verdicts.decide(&request, operator.name.as_str(), &self.reader(operator))?;
        Ok(v1::SetVerdictsResponse { action, subjects })
    }

    /// Undoes an action of this person; 0: the last one.
    pub fn undo_verdicts(&self, operator: &Operator, action: u64) -> Result<v1::UndoVerdictsResponse, Error> {
        let (action, parts) = self.services.verdicts.undoable(action, operator.name.as_str())?;
        if operator.viewer().is_bound() {
            // A result that a person may not see is answered as if it did not exist.
            let unknown = || Error::UnknownMember(format!("no verdict {action}"));
            parts.iter().try_for_each(|part| self.check_result(operator, ScanId(part.scan)).map_err(|_| unknown()))?;
        }
        let subjects = self.services.verdicts.undo(action, &parts, operator.name.as_str())?;
        Ok(v1::UndoVerdictsResponse { action, subjects })
    }

    /// The current verdicts of a scan's result.
    pub(super) fn list_verdicts(&self, operator: &Operator, scan: ScanId) -> Result<SpoolReader, Error> {
        self.check_result(operator, scan)?;
        let (services, reader) = (Arc::clone(&self.services), self.reader(operator));
        Ok(self.services.streams.spooled(move |writer| {
            let browse = services.results.browse(scan, &reader)?;
            browse.verdict_states(&services.records.store, |state| writer.message(&state))
        }))
    }

    /// The verdicts that were set and undone about results that a person may see.
    pub fn verdict_history(&self, operator: &Operator) -> Result<Vec<v1::VerdictAction>, Error> {
        let mut actions = self.services.verdicts.verdict_history()?;
        if operator.viewer().is_bound() {
            actions.retain(|action| self.check_result(operator, ScanId(action.scan)).is_ok());
        }
        Ok(actions)
    }

    /// How far the review of a scan is.
    ///
    /// # Errors
    /// Fails if there is no result that the person may see in full.
    pub fn review(&self, operator: &Operator, scan: ScanId) -> Result<v1::ShowReviewResponse, Error> {
        self.check_result(operator, scan)?;
        Ok(self.services.verdicts.review(scan, &self.reader(operator))?)
    }

    /// The result of a scan for reports and plans, with verdicts and what samples say.
    ///
    /// # Errors
    /// As [`OperatorService::review`].
    pub fn reviewed_report(&self, operator: &Operator, scan: ScanId) -> Result<Report, Error> {
        let reader = self.reader(operator);
        let mut report = self.services.results.report_with_verdicts(scan, &reader)?;
        report.set_samples(&self.services.verdicts.review(scan, &reader)?.samples);
        Ok(report)
    }

    /// A person as a reader of verdicts.
    pub fn reader(&self, operator: &Operator) -> Reader {
        operator.viewer().reader(|site| self.party_of(site))
    }

    /// Checks that a person may see all of a scan's result.
    pub fn check_result(&self, operator: &Operator, scan: ScanId) -> Result<(), Error> {
        let state = self.visible_state(operator, scan)?;
        self.check_full_result(operator, scan, &state)
    }
}
