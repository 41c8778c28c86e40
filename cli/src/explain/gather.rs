//! Puts together what a result, and the coordinator that made it, know of two documents.

use anyhow::anyhow;
use cognate_proto::path::unescaped;
use cognate_proto::v1;
use cognate_result::report::{Found, FoundView, Ratio, Report};

use super::model::{Document, Explained, Pair, SCHEMA, Shared, Side, Step, Version, number};
use crate::exit::usage;
use crate::operator::client::{Operator, OperatorArg, PATIENCE, patiently, refusal};
use crate::report::source::Source;

/// A document as somebody named it: what it may mean, the likeliest first.
pub(super) struct Place {
    named: String,
    candidates: Vec<(String, String, String)>,
}

impl Place {
    pub(super) fn parse(named: &str) -> anyhow::Result<Place> {
        let triple =
            |site: &str, repository: &str, path: &str| (site.to_owned(), repository.to_owned(), path.to_owned());
        let mut candidates = Vec::new();
        // As reports write it: `site/repository: path`.
        if let Some((place, path)) = named.split_once(':') {
            let path = path.trim_start();
            match place.split_once('/') {
                Some((site, repository)) if !repository.contains('/') => {
                    candidates.push(triple(site, repository, path))
                }
                Some(_) => {}
                None => candidates.push(triple(place, "main", path)),
            }
        }
        if let Some((site, rest)) = named.split_once('/') {
            candidates.extend(rest.split_once('/').map(|(repository, path)| triple(site, repository, path)));
            candidates.push(triple(site, "main", rest));
        }
        candidates.retain(|(_, _, path)| !path.is_empty());
        if candidates.is_empty() {
            return Err(usage(format!("`{named}` names no document: SITE/REPOSITORY/PATH")));
        }
        Ok(Place { named: named.to_owned(), candidates })
    }

    fn find(&self, report: &Report) -> anyhow::Result<Found> {
        for (site, repository, path) in &self.candidates {
            for bytes in [path.as_bytes().to_vec(), unescaped(path)] {
                if let Some(found) = report.find(site, repository, &bytes)? {
                    return Ok(found);
                }
            }
        }
        Err(anyhow!("the scan has no document `{}`: `cognate report SCAN --documents` lists all", self.named))
    }
}

pub(super) async fn gather(source: &Source, places: &[Place; 2], arg: &OperatorArg) -> anyhow::Result<Explained> {
    let report = source.report();
    let [a, b] = [places[0].find(report)?, places[1].find(report)?];
    let scan = report.scan()?;
    let id = scan.id.clone().unwrap_or_default();
    let mut views = Vec::new();
    for of_a in &a.views {
        let Some(of_b) = b.views.iter().find(|of_b| of_b.view == of_a.view) else { continue };
        let mut pair = pair(report, of_a, of_b)?;
        match source {
            _ if pair.identical => {}
            Source::Fetched(_) => place(&mut pair, &id, of_a, of_b, arg).await?,
            Source::File(_) => {
                let why = "a result in a file has no chunks: where both files are at hand, --files shows where they share what";
                pair.unplaced = Some(why.to_owned());
            }
        }
        views.push(pair);
    }
    if views.is_empty() {
        return Err(anyhow!(
            "`{}` and `{}` have no view in common: one of them was left out",
            places[0].named,
            places[1].named
        ));
    }
    let (a, b) = (Document::from(&a), Document::from(&b));
    Ok(Explained { schema: SCHEMA.to_owned(), scan: id, a, b, views, difference: None })
}

/// What the result says of the two.
fn pair(report: &Report, of_a: &FoundView, of_b: &FoundView) -> anyhow::Result<Pair> {
    let scan = report.scan()?;
    let layer = scan.layers.as_ref().and_then(|layers| layers.get(of_a.view));
    let view = match (report.views().get(of_a.view), scan.passages) {
        (Some(view), Some(true)) if view == "text" => "passages".to_owned(),
        (view, _) => view.cloned().unwrap_or_default(),
    };
    let mut pair = Pair {
        view,
        method: scan.method.clone(),
        chunk_bytes: layer.map_or(scan.chunk_bytes, |layer| layer.chunk_bytes),
        param: layer.map_or(scan.param.clone(), |layer| layer.param.clone()),
        a: Side::from(of_a),
        b: Side::from(of_b),
        identical: of_a.content == of_b.content,
        linked: false,
        shared_bytes: None,
        a_in_b: None,
        b_in_a: None,
        resemblance: None,
        relation: None,
        estimated: None,
        cluster: None,
        through: Vec::new(),
        versions: Vec::new(),
        shared: None,
        shared_omitted: 0,
        templates_a: Vec::new(),
        templates_b: Vec::new(),
        unplaced: None,
    };
    if pair.identical {
        pair.shared_bytes = Some(of_a.payload_bytes);
        (pair.a_in_b, pair.b_in_a, pair.resemblance) = (Some(1.0), Some(1.0), Some(1.0));
        pair.relation = Some("identical".to_owned());
    }
    let (Some((cluster, name)), Some((other, _))) = (&of_a.cluster, &of_b.cluster) else { return Ok(pair) };
    if cluster != other {
        return Ok(pair);
    }
    pair.cluster = Some(name.clone());
    let versions = report.versions(*cluster)?;
    pair.versions = versions
        .iter()
        .map(|member| Version {
            document: Document::from(member),
            size_bytes: member.size_bytes,
            copies: member.copies,
            is: None,
        })
        .collect();
    let Some(route) = report.route(*cluster, of_a.content, of_b.content)? else { return Ok(pair) };
    let ends = [route.documents.first(), route.documents.last()];
    for version in &mut pair.versions {
        let is = |end: Option<&cognate_result::report::ClusterDocument>| {
            end.is_some_and(|end| Document::from(end).place() == version.document.place())
        };
        version.is = if is(ends[0]) { Some("a".to_owned()) } else { is(ends[1]).then(|| "b".to_owned()) };
    }
    match route.links.as_slice() {
        [] => {}
        [link] => {
            pair.linked = true;
            pair.shared_bytes = Some(link.shared_bytes);
            (pair.a_in_b, pair.b_in_a) = (number(link.a_in_b), number(link.b_in_a));
            pair.resemblance = number(link.resemblance);
            pair.relation = Some(link.relation.clone());
            pair.estimated = link.estimated;
        }
        links => pair.through = links.iter().zip(&route.documents[1..]).map(|(link, to)| Step::of(link, to)).collect(),
    }
    Ok(pair)
}

/// Asks the coordinator where the two share what they do.
async fn place(
    pair: &mut Pair,
    scan: &str,
    of_a: &FoundView,
    of_b: &FoundView,
    arg: &OperatorArg,
) -> anyhow::Result<()> {
    let operator = Operator::open(arg).await?;
    let request = v1::ExplainRequest {
        scan: u64::from_str_radix(scan, 16)?,
        layer: u32::try_from(of_a.view)?,
        a: of_a.digest.0.to_vec(),
        b: of_b.digest.0.to_vec(),
    };
    let asked = || {
        let (mut client, request) = (operator.client(), request.clone());
        async move { client.explain(request).await }
    };
    match patiently(PATIENCE, asked).await {
        Ok(answer) => {
            let stretches = |list: Vec<v1::Stretch>| list.iter().map(|one| [one.offset, one.length_bytes]).collect();
            pair.shared = Some(
                answer
                    .runs
                    .iter()
                    .map(|run| Shared { offset_a: run.a, offset_b: run.b, length_bytes: run.length_bytes })
                    .collect(),
            );
            pair.shared_omitted = answer.runs_omitted;
            pair.templates_a = stretches(answer.templates_a);
            pair.templates_b = stretches(answer.templates_b);
            measured(pair, answer.shared_bytes, answer.a_payload_bytes, answer.b_payload_bytes);
            Ok(())
        }
        // What is not there any more, or never was, is told; everything else in the result still is.
        Err(status) if status.code() == tonic::Code::FailedPrecondition => {
            pair.unplaced = Some(cognate_proto::name::one_line(status.message()));
            Ok(())
        }
        Err(status) => Err(refusal(&status)),
    }
}

/// What was measured counts, not what a link said: it is the same, and there where there is no link.
pub(super) fn measured(pair: &mut Pair, shared_bytes: u64, a_payload_bytes: u64, b_payload_bytes: u64) {
    let of = |whole: u64| number(Some(Ratio::of(shared_bytes, whole)));
    pair.shared_bytes = Some(shared_bytes);
    (pair.a_in_b, pair.b_in_a) = (of(a_payload_bytes), of(b_payload_bytes));
    pair.resemblance = of(a_payload_bytes + b_payload_bytes - shared_bytes);
    if pair.relation.is_none() && shared_bytes > 0 {
        pair.relation = Some("below the thresholds of the scan".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_named_as_people_and_as_reports_do() {
        let first = |named: &str| {
            let (site, repository, path) = Place::parse(named).unwrap().candidates.remove(0);
            format!("{site}|{repository}|{path}")
        };
        assert_eq!(first("paris/kb/a/b.txt"), "paris|kb|a/b.txt");
        assert_eq!(first("paris/kb: a/b.txt"), "paris|kb|a/b.txt");
        assert_eq!(first("a/report.txt"), "a|main|report.txt");
        assert_eq!(first("a: report.txt"), "a|main|report.txt");
        assert!(Place::parse("report").is_err() && Place::parse("a/").is_err());
    }
}
