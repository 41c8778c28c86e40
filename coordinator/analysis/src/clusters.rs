//! From links to clusters, where the engine does not put them together itself.

use std::sync::Mutex;

use cognate_similarity::{
    Analysis, Cluster, Clustering, Error as EngineError, Link, LinkFile, LinkMeasure, OmittedLinks, Relation, Stats,
    cluster_links,
};

use crate::error::Error;
use crate::freeze::FrozenSet;
use crate::measure::Measures;
use crate::verify::VerifiedPair;

/// The links of an analysis, by (a, b).
pub(crate) enum Links {
    /// In their file.
    File(LinkFile),
    /// In memory: where each was looked at.
    Held(Vec<Link>),
}

impl Links {
    /// Shows every link.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Link)) -> Result<(), Error> {
        match self {
            Links::File(file) => Ok(file.for_each(visit)?),
            Links::Held(links) => {
                links.iter().for_each(&mut visit);
                Ok(())
            }
        }
    }

    /// Verified links; their shared bytes are next to them.
    pub(crate) fn of(verified: &[VerifiedPair]) -> Links {
        Links::Held(verified.iter().map(|one| Link { a: one.a, b: one.b, shared_bytes: 0 }).collect())
    }
}

/// Collects links in memory, as many as its budget holds.
///
/// # Errors
/// If there are more: what needs all of them cannot be had of these documents.
pub(crate) fn collect(all: &Mutex<Vec<Link>>, new: &[Link], memory_budget_bytes: u64) -> Result<(), EngineError> {
    let mut all = all.lock().expect("nothing panics while it is held");
    let (count, count_max) = ((all.len() + new.len()) as u64, memory_budget_bytes / size_of::<Link>() as u64);
    if count > count_max {
        return Err(EngineError::TooMany { what: "links for `memory_budget`", count, count_max });
    }
    all.extend_from_slice(new);
    Ok(())
}

/// An analysis of pairs that the engine did not compare.
pub(crate) fn without() -> Analysis {
    Analysis { clusters: Vec::new(), overlap: Vec::new(), omitted: OmittedLinks::default(), stats: Stats::default() }
}

/// An analysis with other clusters. All links that it reports are in memory meanwhile; clusters that omit links keep their figures.
pub(crate) fn clustered(
    analysis: Analysis,
    frozen: &FrozenSet,
    links: &Links,
    measures: &Measures,
    clustering: Clustering,
) -> Result<Analysis, Error> {
    let mut all = Vec::new();
    links.for_each(|link| all.push(*link))?;
    // The larger of two is decided by documents, not by their samples.
    let sizes: Vec<u64> = frozen.contents.iter().map(|content| content.payload_bytes).collect();
    let strength = |link: &Link| {
        let measured = measures.of(&frozen.contents, link);
        let contained = match measured.contained {
            None => [false; 2],
            Some(_) => [
                matches!(measured.relation, Relation::Near | Relation::Contained),
                matches!(measured.relation, Relation::Near | Relation::Contains),
            ],
        };
        LinkMeasure { resemblance: measures.resemblance(&frozen.contents, link), contained }
    };
    let dense: Vec<&Cluster> = analysis.clusters.iter().filter(|cluster| cluster.links_omitted() > 0).collect();
    let dense = if analysis.omitted.count == 0 { &[] } else { &dense[..] };
    let clusters = cluster_links(&all, &sizes, clustering, &strength, dense);
    Ok(Analysis { clusters, ..analysis })
}

#[cfg(test)]
mod tests {
    use cognate_similarity::ContentIndex;

    use super::*;

    #[test]
    fn links_beyond_the_budget_are_refused_before_they_take_memory() {
        let link = |n| Link { a: ContentIndex(n), b: ContentIndex(n + 1), shared_bytes: 1 };
        let all = Mutex::default();
        collect(&all, &[link(1), link(2)], 48).unwrap();
        let error = collect(&all, &[link(3), link(4)], 48).unwrap_err();
        assert_eq!(error.to_string(), "too many links for `memory_budget`: 4, at most 3");
        assert_eq!(all.lock().unwrap().len(), 2);
    }
}
