//! Links as reports, pages and explanations show them. Nothing else turns a link around.

use cognate_result_file::{Link, reversed};
use serde::Serialize;

use super::Ratio;

/// Two contents of a cluster and what they share.
#[derive(Clone, Serialize, Debug)]
pub struct LinkRow {
    /// The place of the first.
    pub a: usize,
    /// Share of the first that is also in the second; none if the method does not measure it.
    pub a_in_b: Option<Ratio>,
    /// The place of the second.
    pub b: usize,
    /// Share of the second that is also in the first.
    pub b_in_a: Option<Ratio>,
    /// Set if the measures of the two are estimates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated: Option<bool>,
    /// Of an estimate: what holds the true resemblance in 95 of 100 cases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[Ratio; 2]>,
    /// Bytes that both have outside of frames; absent if no frame is part of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_bytes: Option<u64>,
    /// Relation of the first to the second.
    pub relation: String,
    /// Shared bytes by bytes of both.
    pub resemblance: Option<Ratio>,
    /// Set if it would be no link without its frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_on_frame: Option<bool>,
    /// Bytes that both have; of an estimate, bytes of the first.
    pub shared_bytes: u64,
    /// Of an estimate: the probability that one from such a sample is within a tenth of such a resemblance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_tenth: Option<Ratio>,
}

impl LinkRow {
    /// A link between the places that a list gives its contents, from the one that comes first there; nothing if one of them has no
    /// place.
    pub(crate) fn of(link: Link, place: impl Fn(i64) -> Option<usize>) -> Option<LinkRow> {
        let row = LinkRow {
            a: place(link.a)?,
            a_in_b: link.a_in_b,
            b: place(link.b)?,
            b_in_a: link.b_in_a,
            estimated: link.estimated.then_some(true),
            interval: link.low.zip(link.high).map(|(low, high)| [low, high]),
            outside_bytes: link.outside_bytes,
            relation: link.relation.into_owned(),
            resemblance: link.resemblance,
            rests_on_frame: link.on_frame.then_some(true),
            shared_bytes: link.shared_bytes,
            within_tenth: link.within_tenth,
        };
        Some(if row.a < row.b { row } else { row.turned() })
    }

    /// The same link, written from its second content.
    pub(crate) fn turned(self) -> LinkRow {
        let relation = reversed(&self.relation).to_owned();
        LinkRow { a: self.b, b: self.a, a_in_b: self.b_in_a, b_in_a: self.a_in_b, relation, ..self }
    }

    /// The link from this place; nothing if it is between others.
    pub(crate) fn from(self, place: usize) -> Option<LinkRow> {
        if self.a == place { Some(self) } else { Some(self.turned()).filter(|link| link.a == place) }
    }
}
