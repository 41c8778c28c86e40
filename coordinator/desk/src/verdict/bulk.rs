//! Decisions by a rule: one action with a part for each verdict, which is taken back as one.

use cognate_proto::name::ScanId;
use cognate_proto::v1;

use super::Verdicts;
use super::decide::OF_A_PART;
use crate::error::Error;
use cognate_result::browse::{BulkRule, ClusterFilter};
use cognate_result::report::Reader;
use cognate_storage::journal::What;
use cognate_storage::verdict::{Decided, Decision};

impl Verdicts {
    /// Decides about the clusters of a filter by a rule; answers the action and the number of clusters.
    ///
    /// # Errors
    /// Fails if the rule decides about another number of clusters than `expected`, or about none.
    pub fn decide_by_rule(
        &self,
        (scan, filter): (ScanId, &ClusterFilter),
        rule: &BulkRule,
        (note, expected): (&str, u64),
        (by, reader): (&str, &Reader),
    ) -> Result<(u64, u64), Error> {
        let browse = self.results.browse_for(scan, filter, reader)?;
        let bulk = browse.bulk(filter, rule)?;
        let count = bulk.decided.len() as u64;
        if count != expected {
            return Err(Error::Refused(format!(
                "the rule decides about {count} clusters, not {expected}: look at the preview again"
            )));
        }
        if count == 0 {
            return Err(Error::Refused("the rule decides about no cluster".to_owned()));
        }
        let mut parts: Vec<(v1::Verdict, Vec<Decided>)> = Vec::new();
        let mut add = |verdict: v1::Verdict, decided: Decided| match parts
            .iter_mut()
            .find(|(known, all)| *known == verdict && all.len() < OF_A_PART)
        {
            Some((_, all)) => all.push(decided),
            None => parts.push((verdict, vec![decided])),
        };
        for (number, verdict) in bulk.decided {
            if let Some(cluster) = browse.cluster_numbered(number)? {
                add(verdict, browse.decided_cluster(&cluster)?);
            }
        }
        for (subject, verdict) in &bulk.documents {
            add(*verdict, browse.decided(subject)?);
        }
        let action = self.records.store.next_number()?;
        for (part, (verdict, decided)) in parts.into_iter().enumerate() {
            let decision = Decision {
                action,
                part: u32::try_from(part).unwrap_or(u32::MAX),
                scan: scan.0,
                verdict: verdict.into(),
                note: note.to_owned(),
                filter: match filter.to_query() {
                    query if query.is_empty() => "all".to_owned(),
                    query => query,
                },
                decided,
                party: browse.party().unwrap_or_default().to_owned(),
                is_bound: reader.party.is_some(),
                label: None,
            };
            match part {
                0 => self.records.record(What::Decided(decision), by)?,
                _ => self.records.record_part(What::Decided(decision), by)?,
            }
        }
        tracing::info!(action, by, clusters = count, "verdicts are set by a rule");
        Ok((action, count))
    }
}
