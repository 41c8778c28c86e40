//! Questions for exact measures to sites, and their answers.

use std::time::Duration;

use cognate_analysis::fine::{MeasureAnswer, MeasureRequest};
use cognate_proto::measure::{pack_pairs, unpack_measures};
use cognate_proto::name::SiteName;
use cognate_proto::v1;
use cognate_proto::v1::attach_response::Message as Down;

use super::Sessions;
use super::fine::FineScan;
use super::questions::{NoAnswer, Questions};
use crate::error::Error;

/// The open questions, each as its number of pairs.
pub(super) type MeasureQuestions = Questions<usize, MeasureAnswer>;

/// Questions that are waited for as long as the caller does.
pub(super) fn questions() -> MeasureQuestions {
    Questions::within(Duration::MAX)
}

impl Sessions {
    /// Asks a site to measure pairs exactly, and waits for its answer as long as the caller does; an error has the reason.
    pub(crate) async fn ask_measures(
        &self,
        request: MeasureRequest,
        scan: FineScan,
    ) -> Result<MeasureAnswer, NoAnswer> {
        let MeasureRequest { site, repositories, method, method_id, pairs } = request;
        let message = |number, _: &usize| {
            Down::MeasureQuery(v1::MeasureQuery {
                query: number,
                repositories: repositories.iter().map(ToString::to_string).collect(),
                method: Some(v1::MethodSpec { method_id: method_id.0.to_vec(), ..v1::MethodSpec::from(&method) }),
                across_parties: scan.across_parties,
                contents: pack_pairs(&pairs),
                follow_symlinks: scan.follow_symlinks,
            })
        };
        self.ask(&self.measure_questions, &site, pairs.len(), message).await
    }

    /// Receives a site's answer, and hands it to the caller that waits for it.
    ///
    /// # Errors
    /// Fails if no caller waits for the answer to such a question, or the counts cannot be those of its pairs.
    pub(crate) fn answer_measures(&self, site: &SiteName, answer: &v1::MeasureAnswer) -> Result<(), Error> {
        let asked = self.measure_questions.asked(site, answer.query)?;
        let counts = unpack_measures(answer, *asked.question);
        asked.answer(match &counts {
            Err(error) => Err(NoAnswer::unusable(error)),
            Ok(_) if !answer.failure.is_empty() => Err(NoAnswer::given(&answer.failure, answer.refused)),
            Ok(measures) => Ok(MeasureAnswer { measures: measures.clone(), read_bytes: answer.read_bytes }),
        });
        counts.map(drop).map_err(|error| Error::Invalid(error.to_string()))
    }
}
