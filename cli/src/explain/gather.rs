//! Puts together the data that a result, and the coordinator that made it, have of two documents.

use anyhow::anyhow;
use cognate_proto::v1;
use cognate_result::explain::record::{Document, Explained, Pair, SCHEMA};
use cognate_result::explain::{DocumentName, common_views, request};
use cognate_result::report::{Found, Report};

use crate::exit::usage;
use crate::operator::client::{Operator, OperatorArg, PATIENCE, patiently, refusal};
use crate::report::source::Source;

/// A document as somebody named it.
pub(super) struct Place {
    named: String,
    name: DocumentName,
}

impl Place {
    pub(super) fn parse(named: &str) -> anyhow::Result<Place> {
        let name = DocumentName::parse(named)
            .ok_or_else(|| usage(format!("`{named}` names no document: SITE/REPOSITORY/PATH")))?;
        Ok(Place { named: named.to_owned(), name })
    }

    fn find(&self, report: &Report) -> anyhow::Result<Found> {
        self.name.find(report)?.ok_or_else(|| {
            anyhow!("the scan has no document `{}`: `cognate report SCAN --documents` lists all", self.named)
        })
    }
}

/// The comparison of two documents, and the number of the layer of each of its views.
pub(super) async fn gather(
    source: &Source,
    places: &[Place; 2],
    arg: &OperatorArg,
) -> anyhow::Result<(Explained, Vec<usize>)> {
    let report = source.report();
    let [a, b] = [places[0].find(report)?, places[1].find(report)?];
    let id = report.scan()?.id.unwrap_or_default();
    let (mut views, mut layers) = (Vec::new(), Vec::new());
    for of_both in common_views([&a, &b]) {
        let mut pair = Pair::of(report, of_both)?;
        match source {
            _ if pair.identical => {}
            Source::Fetched(_) => place(&mut pair, request(u64::from_str_radix(&id, 16)?, of_both), arg).await?,
            Source::File(_) => {
                let why = "a result in a file has no chunks: where both files are at hand, --files shows where they share what";
                pair.unplaced = Some(why.to_owned());
            }
        }
        views.push(pair);
        layers.push(of_both[0].view);
    }
    if views.is_empty() {
        return Err(anyhow!(
            "`{}` and `{}` have no view in common: one of them was left out",
            places[0].named,
            places[1].named
        ));
    }
    let (a, b) = (Document::from(&a), Document::from(&b));
    Ok((Explained { schema: SCHEMA.to_owned(), scan: id, a, b, views, difference: None }, layers))
}

/// Asks the coordinator for the places of the common parts.
async fn place(pair: &mut Pair, request: v1::ExplainRequest, arg: &OperatorArg) -> anyhow::Result<()> {
    let operator = Operator::open(arg).await?;
    let asked = || {
        let (mut client, request) = (operator.client(), request.clone());
        async move { client.explain(request).await }
    };
    match patiently(PATIENCE, asked).await {
        Ok(answer) => {
            pair.add_answer(&answer);
            Ok(())
        }
        // If the coordinator has no places, the rest of the result is shown.
        Err(status) if status.code() == tonic::Code::FailedPrecondition => {
            pair.unplaced = Some(cognate_proto::name::one_line(status.message()));
            Ok(())
        }
        Err(status) => Err(refusal(&status)),
    }
}
