//! An answer on the wire, in both directions.

use std::collections::BTreeMap;

use cognate_fingerprint::{ContentDigest, RunLengths, Tag};
use cognate_proto::limits::FIND_WANTED_PIECE;
use cognate_proto::name::one_line;
use cognate_proto::options::Precision;
use cognate_proto::path::DocumentPath;
use cognate_proto::v1;
use cognate_proto::v1::find_response::Message as Down;

use super::{Answer, Coarse, Coverage, Found, Holder, Match, Measure, Searched, Share, Unsearched};
use crate::error::Error;
use cognate_result::report::Ratio;

/// Documents that go in one message: a path has 8 KiB at most.
const HOLDERS_AT_ONCE: usize = 64;

impl Answer {
    /// The answer, message by message.
    pub fn into_wire(self) -> impl Iterator<Item = Down> {
        let Answer { coverage, run_lengths, precision, coarse, documents, wanted } = self;
        let coarse = coarse.iter().map(|(coarse, matches)| coarse_to_wire(coarse, *matches)).collect();
        let precision = Down::Precision(v1::FindPrecision { precision: precision_to_wire(precision), coarse });
        let wanted: Vec<Down> = wanted
            .chunks(FIND_WANTED_PIECE)
            .map(|piece| Down::Wanted(v1::FindWanted { tags: piece.iter().flat_map(|tag| tag.0).collect() }))
            .collect();
        messages(coverage, run_lengths, precision, documents).chain(wanted)
    }

    /// Receives the next message of an answer.
    ///
    /// # Errors
    /// Fails if the message is not expected here: the peer has another version.
    pub fn take(&mut self, message: Down) -> Result<(), Error> {
        let out_of_place = || Error::Protocol("an unexpected answer: does the coordinator have this version?".into());
        match message {
            Down::Coverage(row) => self.coverage.push(coverage_of(row)),
            Down::RunLengths(lengths) => self.run_lengths = Some(from_wire(lengths)),
            Down::Precision(row) => {
                self.precision = precision_of(&row.precision);
                let coarse = row.coarse.iter().map(|row| Some((coarse_of(row)?, row.matches)));
                self.coarse = coarse.collect::<Option<_>>().ok_or_else(out_of_place)?;
            }
            Down::Wanted(wanted) => {
                let (tags, rest) = wanted.tags.as_chunks::<16>();
                if !rest.is_empty() {
                    return Err(out_of_place());
                }
                self.wanted.extend(tags.iter().map(|tag| Tag(*tag)));
            }
            Down::Document(document) => self.documents.push(Found {
                size_bytes: document.size_bytes,
                template_bytes: document.template_bytes,
                run_lengths: document.run_lengths.map(from_wire),
                matches: Vec::new(),
                documents: document.documents,
                documents_omitted: document.documents_omitted,
            }),
            Down::Match(one) => {
                let document = self.documents.last_mut().ok_or_else(out_of_place)?;
                document.matches.push(match_of(&one).ok_or_else(out_of_place)?);
            }
            Down::Holders(holders) => {
                let last = self.documents.last_mut().and_then(|document| document.matches.last_mut());
                let holders = holders.holders.into_iter().map(holder_of).collect::<Option<Vec<_>>>();
                last.ok_or_else(out_of_place)?.holders.extend(holders.ok_or_else(out_of_place)?);
            }
        }
        Ok(())
    }
}

fn from_wire(lengths: v1::RunLengths) -> RunLengths {
    RunLengths { p50: lengths.p50, p95: lengths.p95, p99: lengths.p99 }
}

fn coverage_of(row: v1::FindCoverage) -> Coverage {
    let v1::FindCoverage { party, site, repository, covered, other_key, documents, sealed, unread, refuses } = row;
    let searched = match (covered, refuses, other_key) {
        (true, ..) => Ok(Searched { documents, unread, sealed }),
        (_, true, _) => Err(Unsearched::Refuses),
        (.., true) => Err(Unsearched::OtherKey),
        _ => Err(Unsearched::NoIndex),
    };
    Coverage { party, site, repository, searched }
}

fn match_of(one: &v1::FindMatch) -> Option<Match> {
    Some(Match {
        digest: ContentDigest(one.digest.as_slice().try_into().ok()?),
        size_bytes: one.size_bytes,
        measure: Measure {
            relation: one.relation(),
            shared_bytes: one.shared_bytes,
            resemblance: one.resemblance.map(share_of),
            sought_in_found: one.sought_in_found.map(share_of),
            found_in_sought: one.found_in_sought.map(share_of),
            estimated: one.estimated,
        },
        precision: precision_of(&one.precision),
        coarse: match &one.coarse {
            Some(coarse) => Some(coarse_of(coarse)?),
            None => None,
        },
        documents: one.documents,
        holders: Vec::new(),
    })
}

fn precision_of(name: &str) -> Option<Precision> {
    Precision::ALL.into_iter().find(|precision| precision.name() == name)
}

fn precision_to_wire(precision: Option<Precision>) -> String {
    precision.map(|precision| precision.to_string()).unwrap_or_default()
}

fn coarse_of(row: &v1::FindCoarse) -> Option<Coarse> {
    let place = match row.site.is_empty() {
        true => None,
        false => Some((row.site.parse().ok()?, row.repository.parse().ok()?)),
    };
    Some(Coarse { place, reason: one_line(&row.reason), refused: row.refused })
}

fn coarse_to_wire(coarse: &Coarse, matches: u64) -> v1::FindCoarse {
    let (site, repository) = coarse
        .place
        .as_ref()
        .map_or_else(Default::default, |(site, repository)| (site.to_string(), repository.to_string()));
    v1::FindCoarse { site, repository, reason: coarse.reason.clone(), refused: coarse.refused, matches }
}

fn share_of(ratio: v1::FindRatio) -> Share {
    let interval = ratio.low.zip(ratio.high).map(|(low, high)| [Ratio(low.into()), Ratio(high.into())]);
    Share {
        ratio: Ratio(ratio.ratio.into()),
        interval,
        within_tenth: ratio.within_tenth.map(|share| Ratio(share.into())),
    }
}

fn holder_of(holder: v1::FindHolder) -> Option<Holder> {
    Some(Holder {
        site: holder.site.parse().ok()?,
        repository: holder.repository.parse().ok()?,
        path: DocumentPath::new(&holder.path).ok()?,
        modified: holder.modified,
        party: holder.party,
    })
}

fn messages(
    coverage: Vec<Coverage>,
    run_lengths: Option<RunLengths>,
    precision: Down,
    documents: Vec<Found>,
) -> impl Iterator<Item = Down> {
    let coverage = coverage.into_iter().map(|row| Down::Coverage(covered(row)));
    let run_lengths = run_lengths.map(|lengths| Down::RunLengths(lengths_of(lengths)));
    let documents = (0..).zip(documents).flat_map(|(number, found)| {
        let Found { size_bytes, template_bytes, run_lengths, matches, documents, documents_omitted } = found;
        let head = Down::Document(v1::FindDocument {
            number,
            size_bytes,
            template_bytes,
            run_lengths: run_lengths.map(lengths_of),
            matches: matches.len() as u64,
            documents,
            documents_omitted,
        });
        let matches = matches.into_iter().flat_map(move |one| match_messages(number, one));
        std::iter::once(head).chain(matches)
    });
    coverage.chain(run_lengths).chain(std::iter::once(precision)).chain(documents)
}

fn match_messages(document: u32, one: Match) -> impl Iterator<Item = Down> {
    let Match { digest, size_bytes, measure, precision, coarse, documents, holders } = one;
    let head = Down::Match(v1::FindMatch {
        document,
        digest: digest.0.to_vec(),
        size_bytes,
        relation: measure.relation.into(),
        shared_bytes: measure.shared_bytes,
        resemblance: measure.resemblance.map(ratio),
        sought_in_found: measure.sought_in_found.map(ratio),
        found_in_sought: measure.found_in_sought.map(ratio),
        estimated: measure.estimated,
        documents,
        precision: precision_to_wire(precision),
        coarse: coarse.map(|coarse| coarse_to_wire(&coarse, 1)),
    });
    let mut holders: BTreeMap<usize, Vec<v1::FindHolder>> =
        holders.into_iter().enumerate().fold(BTreeMap::new(), |mut pieces, (place, holder)| {
            pieces.entry(place / HOLDERS_AT_ONCE).or_default().push(holder_to_wire(holder));
            pieces
        });
    let pieces = std::iter::from_fn(move || holders.pop_first());
    std::iter::once(head).chain(pieces.map(|(_, holders)| Down::Holders(v1::FindHolders { holders })))
}

fn covered(row: Coverage) -> v1::FindCoverage {
    let Coverage { party, site, repository, searched } = row;
    let unsearched = searched.err();
    let searched = searched.ok();
    v1::FindCoverage {
        party,
        site,
        repository,
        covered: searched.is_some(),
        other_key: unsearched == Some(Unsearched::OtherKey),
        documents: searched.map_or(0, |searched| searched.documents),
        sealed: searched.map_or(0, |searched| searched.sealed),
        unread: searched.map_or(0, |searched| searched.unread),
        refuses: unsearched == Some(Unsearched::Refuses),
    }
}

fn holder_to_wire(holder: Holder) -> v1::FindHolder {
    let Holder { site, repository, path, modified, party } = holder;
    v1::FindHolder {
        party,
        site: site.to_string(),
        repository: repository.to_string(),
        path: path.as_bytes().to_vec(),
        modified,
    }
}

fn lengths_of(lengths: RunLengths) -> v1::RunLengths {
    v1::RunLengths { p50: lengths.p50, p95: lengths.p95, p99: lengths.p99 }
}

fn ratio(share: Share) -> v1::FindRatio {
    let number = |ratio: Ratio| u32::try_from(ratio.0).unwrap_or(0);
    let bound = |end: usize| share.interval.map(|interval| number(interval[end]));
    let within_tenth = share.within_tenth.map(number);
    v1::FindRatio { ratio: number(share.ratio), low: bound(0), high: bound(1), within_tenth }
}
