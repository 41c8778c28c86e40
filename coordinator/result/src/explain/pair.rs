//! The comparison of two documents under one view: by a result, and by the places that a coordinator or two files give.

use cognate_proto::name::one_line;
use cognate_proto::options::Precision;
use cognate_proto::v1;
use cognate_similarity::PairMeasure;

use super::record::{Document, Pair, Shared, Side, Step, Version};
use super::{Asked, Measured, Stretch};
use crate::Error;
use crate::report::{ClusterDocument, Found, FoundView, Ratio, Report};

/// The views that have both documents: first the views by which both count, then in the order of the views.
pub fn common_views([a, b]: [&Found; 2]) -> Vec<[&FoundView; 2]> {
    let pairs = a.views.iter().filter_map(|of_a| {
        let of_b = b.views.iter().find(|of_b| of_b.view == of_a.view)?;
        Some([of_a, of_b])
    });
    let mut pairs: Vec<[&FoundView; 2]> = pairs.collect();
    pairs.sort_by_key(|of_both| of_both.iter().any(|view| !view.counts));
    pairs
}

/// The call that asks the coordinator of a scan for the places.
pub fn request(scan: u64, [a, b]: [&FoundView; 2]) -> v1::ExplainRequest {
    v1::ExplainRequest {
        scan,
        layer: u32::try_from(a.view).unwrap_or(u32::MAX),
        a: a.digest.0.to_vec(),
        b: b.digest.0.to_vec(),
    }
}

impl Pair {
    /// The comparison of two documents by the rows of a result, without places.
    ///
    /// # Errors
    /// If the result cannot be read.
    pub fn of(report: &Report, [a, b]: [&FoundView; 2]) -> Result<Pair, Error> {
        let mut pair = Pair::unrelated(report, [a, b])?;
        if pair.identical {
            pair.shared_bytes = Some(a.payload_bytes);
            let all = Some(Ratio(10_000));
            (pair.a_in_b, pair.b_in_a, pair.resemblance) = (all, all, all);
            pair.relation = Some("identical".to_owned());
        }
        let (Some((cluster, name)), Some((other, _))) = (&a.cluster, &b.cluster) else { return Ok(pair) };
        if cluster != other {
            return Ok(pair);
        }
        pair.cluster = Some(name.clone());
        pair.versions = report.versions(*cluster)?.iter().map(Version::from).collect();
        let Some(route) = report.route(*cluster, a.content, b.content)? else { return Ok(pair) };
        pair.mark_versions([route.documents.first(), route.documents.last()]);
        match route.links.as_slice() {
            [] => {}
            [link] => {
                pair.linked = true;
                (pair.shared_bytes, pair.outside_bytes) = (Some(link.shared_bytes), link.outside_bytes);
                (pair.a_in_b, pair.b_in_a, pair.resemblance) = (link.a_in_b, link.b_in_a, link.resemblance);
                pair.relation = Some(link.relation.clone());
                (pair.estimated, pair.interval, pair.within_tenth) = (link.estimated, link.interval, link.within_tenth);
            }
            links => {
                pair.through = links.iter().zip(&route.documents[1..]).map(|(link, to)| Step::of(link, to)).collect();
            }
        }
        Ok(pair)
    }

    fn unrelated(report: &Report, [a, b]: [&FoundView; 2]) -> Result<Pair, Error> {
        let scan = report.scan()?;
        let layer = scan.layers.as_ref().and_then(|layers| layers.get(a.view));
        let view = match (report.views().get(a.view), scan.passages) {
            (Some(view), Some(true)) if view == "text" => "passages".to_owned(),
            (view, _) => view.cloned().unwrap_or_default(),
        };
        Ok(Pair {
            view,
            evidence_only: (!a.counts || !b.counts).then_some(true),
            chunk_bytes: layer.map_or(scan.chunk_bytes, |layer| layer.chunk_bytes),
            param: layer.map_or(scan.param.clone(), |layer| layer.param.clone()),
            method: scan.method,
            a: Side::from(a),
            b: Side::from(b),
            identical: a.content == b.content,
            linked: false,
            shared_bytes: None,
            outside_bytes: None,
            a_in_b: None,
            b_in_a: None,
            resemblance: None,
            precision: report.precision(a.view)?,
            coarse_reason: None,
            relation: None,
            estimated: None,
            interval: None,
            within_tenth: None,
            cluster: None,
            through: Vec::new(),
            versions: Vec::new(),
            shared: None,
            shared_omitted: 0,
            unplaced_bytes: 0,
            templates_a: Vec::new(),
            templates_b: Vec::new(),
            unplaced: None,
            min_containment: Some(scan.min_containment),
        })
    }

    /// Marks the members of the cluster that have the contents of A and of B.
    fn mark_versions(&mut self, ends: [Option<&ClusterDocument>; 2]) {
        let places = ends.map(|end| end.map(|end| Document::from(end).place()));
        for version in &mut self.versions {
            let place = Some(version.document.place());
            let name = ["a", "b"].into_iter().zip(&places).find(|(_, end)| **end == place);
            version.is = name.map(|(name, _)| name.to_owned());
        }
    }

    /// Adds the places that the coordinator knows. Where the report has no link between the two, its figures are the answer's.
    pub fn add_answer(&mut self, answer: &v1::ExplainResponse) {
        let shared = |run: &v1::SharedRun| Shared { offset_a: run.a, offset_b: run.b, length_bytes: run.length_bytes };
        let stretches = |list: &[v1::Stretch]| list.iter().map(|one| [one.offset, one.length_bytes]).collect();
        self.shared = Some(answer.runs.iter().map(shared).collect());
        self.shared_omitted = answer.runs_omitted;
        self.templates_a = stretches(&answer.templates_a);
        self.templates_b = stretches(&answer.templates_b);
        self.precision = Precision::ALL.into_iter().find(|precision| precision.name() == answer.precision);
        self.coarse_reason = Some(one_line(&answer.coarse_reason)).filter(|reason| !reason.is_empty());
        self.unplaced_bytes = answer.unplaced_bytes;
        self.measure(PairMeasure {
            shared_bytes: answer.shared_bytes,
            a_payload_bytes: answer.a_payload_bytes,
            b_payload_bytes: answer.b_payload_bytes,
        });
    }

    /// The facts by which the figures of two files at hand are chosen. Their fine chunks are all known.
    pub fn asked(&self) -> Asked {
        let linked_bytes = self.shared_bytes.filter(|_| self.linked);
        Asked { precision: self.precision, linked_bytes, has_all_of_scan: true }
    }

    /// Adds the places in two files. Where the report has a link between the two, its figures stay.
    pub fn add_measured(&mut self, measured: &Measured) {
        let map = &measured.map;
        let shared = |run: &super::Run| Shared { offset_a: run.a, offset_b: run.b, length_bytes: run.length_bytes };
        let stretches = |list: &[Stretch]| list.iter().map(|one| [one.offset, one.length_bytes]).collect();
        self.shared = Some(map.runs.iter().map(shared).collect());
        (self.shared_omitted, self.unplaced) = (0, None);
        self.templates_a = stretches(&map.templates_a);
        self.templates_b = stretches(&map.templates_b);
        self.precision = measured.precision;
        self.coarse_reason = Some(measured.coarse_reason.clone()).filter(|reason| !reason.is_empty());
        self.unplaced_bytes = measured.unplaced_bytes;
        self.measure(map.measure);
    }

    fn measure(&mut self, measure: PairMeasure) {
        let PairMeasure { shared_bytes, a_payload_bytes, b_payload_bytes } = measure;
        if self.linked {
            return;
        }
        let union = (a_payload_bytes + b_payload_bytes).saturating_sub(shared_bytes);
        let of = |total: u64| Some(Ratio::of(shared_bytes, total));
        self.shared_bytes = Some(shared_bytes);
        (self.a_in_b, self.b_in_a, self.resemblance) = (of(a_payload_bytes), of(b_payload_bytes), of(union));
        if self.relation.is_none() && shared_bytes > 0 {
            let is_enough = |share: Option<Ratio>| share >= self.min_containment && self.min_containment.is_some();
            let reason = match self.evidence_only {
                Some(true) => "evidence only, since their text counts",
                // The scan did not measure it, or has too many links to report all of them.
                _ if is_enough(self.a_in_b) || is_enough(self.b_in_a) => "not among the links of the report",
                _ => "below the thresholds of the scan",
            };
            self.relation = Some(reason.to_owned());
        }
    }
}

impl From<&ClusterDocument> for Version {
    fn from(member: &ClusterDocument) -> Version {
        Version { document: Document::from(member), size_bytes: member.size_bytes, copies: member.copies, is: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Map;
    use super::*;

    /// A pair of 100 and 50 bytes with these bytes in common by its result.
    fn pair(shared_bytes: Option<u64>) -> Pair {
        let side = |size_bytes| serde_json::json!({"content": "", "size_bytes": size_bytes, "payload_bytes": size_bytes, "copies": 1});
        let pair = serde_json::json!({
            "view": "raw", "method": "tttd", "a": side(100), "b": side(50), "identical": false, "linked": false,
            "shared_bytes": shared_bytes, "through": [], "versions": [], "templates_a": [], "templates_b": [],
        });
        serde_json::from_value(pair).unwrap()
    }

    fn version(path: &str) -> ClusterDocument {
        ClusterDocument {
            copies: 1,
            identical: None,
            message_id_hash: None,
            modified: String::new(),
            path: path.to_owned(),
            path_escaped: None,
            payload_bytes: 1,
            recognised: None,
            repository: "main".to_owned(),
            site: "a".to_owned(),
            sites: Vec::new(),
            size_bytes: 1,
        }
    }

    #[test]
    fn the_figures_of_a_link_stay_and_those_of_another_pair_are_measured() {
        let answer = v1::ExplainResponse {
            runs: vec![v1::SharedRun { a: 10, b: 0, length_bytes: 25 }],
            runs_omitted: 2,
            shared_bytes: 25,
            a_payload_bytes: 100,
            b_payload_bytes: 50,
            templates_a: vec![v1::Stretch { offset: 90, length_bytes: 10 }],
            precision: "coarse".to_owned(),
            coarse_reason: "two chunks".to_owned(),
            ..v1::ExplainResponse::default()
        };
        let mut answered = pair(None);
        answered.add_answer(&answer);
        assert_eq!(
            (answered.precision, answered.coarse_reason.as_deref()),
            (Some(Precision::Coarse), Some("two chunks"))
        );
        assert_eq!((answered.shared_bytes, answered.shared_omitted, answered.shared.unwrap().len()), (Some(25), 2, 1));
        let shares = [answered.a_in_b, answered.b_in_a, answered.resemblance];
        assert_eq!(shares, [Some(Ratio(2_500)), Some(Ratio(5_000)), Some(Ratio(2_000))]);
        assert_eq!(answered.relation.as_deref(), Some("below the thresholds of the scan"));
        assert_eq!((answered.templates_a, answered.templates_b), (vec![[90, 10]], vec![]));

        let mut enough = Pair { min_containment: Some(Ratio(5_000)), ..pair(None) };
        enough.add_answer(&answer);
        assert_eq!(enough.relation.as_deref(), Some("not among the links of the report"));

        let asked = Asked { precision: None, linked_bytes: None, has_all_of_scan: true };
        let none = Measured::of(Map::of(&[], &[]), asked, &mut |_| Ok::<_, Error>(None)).unwrap();
        for (known, expected) in [(Some(7), Some(7)), (None, Some(0))] {
            let unplaced = Some("a file has no chunks".to_owned());
            let mut by_files = Pair { unplaced, linked: known.is_some(), ..pair(known) };
            by_files.add_measured(&none);
            assert_eq!((by_files.shared_bytes, by_files.unplaced, by_files.relation), (expected, None, None));
            let mut by_answer = Pair { linked: known.is_some(), ..pair(known) };
            by_answer.add_answer(&answer);
            assert_eq!(by_answer.shared_bytes, known.or(Some(25)));
        }
    }

    #[test]
    fn the_members_with_the_contents_of_the_two_are_marked() {
        let mut marked = pair(None);
        let members = ["one", "two", "three"].map(version);
        marked.versions = members.iter().map(Version::from).collect();
        marked.mark_versions([Some(&members[2]), Some(&members[0])]);
        let marks: Vec<_> = marked.versions.iter().map(|version| version.is.as_deref()).collect();
        assert_eq!(marks, [Some("b"), None, Some("a")]);
    }
}
