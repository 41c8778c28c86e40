//! The auditor's report, in pieces.

use cognate_proto::name::ScanId;
use cognate_proto::v1::{self, AuditFormat};

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;

/// The bytes that go in one message.
const PIECE_BYTES: usize = 256 << 10;

impl OperatorService {
    /// The auditor's report of a result, signed.
    ///
    /// # Errors
    /// Fails if there is no result, it names documents that the person may not see, or it cannot be read.
    pub fn audited(&self, operator: &Operator, id: ScanId, format: AuditFormat) -> Result<Vec<u8>, Error> {
        let state = self.visible_state(operator, id)?;
        self.check_full_result(operator, id, &state)?;
        let by = operator.name.as_str();
        let samples = self.services.verdicts.review(id, &self.reader(operator))?.samples;
        let document = match format {
            AuditFormat::Json => self.services.audits.json(id, by, &samples),
            AuditFormat::Html => self.services.audits.html(id, by, &samples),
            AuditFormat::Unspecified => Err(Error::Invalid("`format`: it is missing".to_owned())),
        }?;
        tracing::info!(scan = %id, by, bytes = document.len(), "an auditor's report was made");
        Ok(document)
    }
}

/// A document in messages.
pub(super) fn in_pieces(document: Vec<u8>) -> impl Iterator<Item = v1::AuditResponse> + Send + 'static {
    let mut rest = document;
    std::iter::from_fn(move || {
        let after = rest.split_off(rest.len().min(PIECE_BYTES));
        let piece = std::mem::replace(&mut rest, after);
        (!piece.is_empty()).then_some(v1::AuditResponse { piece })
    })
}
