//! The identical sets of a result, tier by tier.

use std::ops::Range;

use cognate_result_file::{Damaged, Layer, PackedDocument, PackedSet};

use super::blocks::blocks;
use super::{DocumentPlace, IdenticalSet, IdenticalTotals, Located, Report, hex, path_of, time};
use crate::error::Error;

/// A piece of the list of identical sets.
pub(super) enum SetPiece {
    /// The packed sets of the block that begins with the set of this number.
    Packed(i64),
    /// The sets with these numbers.
    Numbers(Range<i64>),
}

/// A block of packed sets.
struct PackedBlock {
    bytes: Vec<u8>,
    numbers: Range<i64>,
    /// True if a list says more of one of its sets than is packed.
    says_more: bool,
}

impl Report {
    /// The identical sets: those of the same bytes, whose copies waste most of them first, then those of the same text, then
    /// the loose ones: the same lines, and the same message.
    pub fn identical<E: From<Error>>(&self, mut each: impl FnMut(IdenticalSet) -> Result<(), E>) -> Result<(), E> {
        let read = |report: &Report, piece: &SetPiece| {
            let mut sets = Vec::new();
            report.identical_in(piece, &mut |set| {
                sets.push(set);
                Ok(())
            })?;
            Ok(sets)
        };
        self.in_pieces(&self.identical_pieces()?, read, &mut |sets| sets.into_iter().try_for_each(&mut each))?;
        self.loose_where("", &mut each)
    }

    /// The sets of the same bytes and of the same text, in pieces.
    pub(super) fn identical_pieces(&self) -> Result<Vec<SetPiece>, Error> {
        let mut others =
            self.numbers("SELECT min(identical), max(identical) FROM content WHERE identical IS NOT NULL")?;
        // A slice or a choice of a report has some of the sets, and packed they are all.
        let packed: Vec<i64> = match self.is_part() {
            true => Vec::new(),
            false => self.rows("SELECT first FROM packed_sets ORDER BY first", ())?,
        };
        if let Some(last) = packed.last() {
            others.start = self.packed(*last)?.numbers.end;
        }
        let others = blocks(others).into_iter().map(SetPiece::Numbers);
        Ok(packed.into_iter().map(SetPiece::Packed).chain(others).collect())
    }

    /// The sets of a piece.
    pub(super) fn identical_in(
        &self,
        piece: &SetPiece,
        each: &mut impl FnMut(IdenticalSet) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let numbers = match piece {
            SetPiece::Numbers(numbers) => numbers.clone(),
            SetPiece::Packed(first) => {
                let PackedBlock { bytes, numbers, says_more } = self.packed(*first)?;
                if !says_more {
                    let (mut set, mut rest) = (PackedSet::default(), bytes.as_slice());
                    while self.unpack(&mut set, &mut rest)? {
                        each(self.unpacked(&set)?)?;
                    }
                    return Ok(());
                }
                numbers
            }
        };
        self.identical_where(&format!("c.identical >= {} AND c.identical < {}", numbers.start, numbers.end), each)
    }

    /// The block of packed sets that begins with the set of this number: it has some, and their numbers ascend.
    fn packed(&self, first: i64) -> Result<PackedBlock, Error> {
        let bytes: Vec<u8> = self.row("SELECT block FROM packed_sets WHERE first = ?", [first])?;
        let mut block = PackedBlock { bytes, numbers: first..first, says_more: false };
        let (mut set, mut rest) = (PackedSet::default(), block.bytes.as_slice());
        while self.unpack(&mut set, &mut rest)? {
            let number = i64::try_from(set.number).ok().filter(|number| *number >= block.numbers.end);
            let end = number.and_then(|number| number.checked_add(1));
            block.numbers.end = end.ok_or_else(|| self.damaged(Damaged))?;
            block.says_more |= set.says_more;
        }
        if block.numbers.is_empty() { Err(self.damaged(Damaged)) } else { Ok(block) }
    }

    fn unpack(&self, set: &mut PackedSet, rest: &mut &[u8]) -> Result<bool, Error> {
        set.unpack(rest).map_err(|damaged| self.damaged(damaged))
    }

    fn damaged(&self, damaged: Damaged) -> Error {
        Error::Corrupt { path: self.path.clone(), detail: damaged.to_string() }
    }

    fn unpacked(&self, set: &PackedSet) -> Result<IdenticalSet, Error> {
        let place =
            |document: &&PackedDocument| usize::try_from(document.root).map(|root| self.place_of_root(root)).ok();
        let mut documents: Vec<&PackedDocument> = set.documents.iter().collect();
        if self.is_reordered() {
            documents.sort_by_key(place);
        }
        let located = documents.into_iter().map(|document| {
            let number = usize::try_from(document.root).ok();
            let root = number.and_then(|number| self.roots.get(number)).ok_or_else(|| self.damaged(Damaged))?;
            let (path, path_escaped) = path_of(set.path(document));
            Ok(Located {
                message_id_hash: None,
                modified: time(document.modified),
                path,
                path_escaped,
                recognised: None,
                repository: root.repository.clone(),
                site: root.site.clone(),
                size_bytes: None,
            })
        });
        let (tier, id) = (self.tier(0), hex(&set.digest));
        Ok(IdenticalSet {
            documents: located.collect::<Result<_, Error>>()?,
            verdict: self.verdict_of_set(tier, &id),
            id,
            size_bytes: Some(set.size_bytes),
            tier,
            view: self.view(0),
        })
    }

    /// The identical sets of a tier but those that are one document at the same place in each of several repositories.
    pub fn identical_elsewhere<E: From<Error>>(
        &self,
        tier: &str,
        mut each: impl FnMut(IdenticalSet) -> Result<(), E>,
    ) -> Result<(), E> {
        match (0..self.views.len()).find(|layer| self.tier(*layer) == tier) {
            None => {
                let condition = format!("WHERE NOT s.in_place AND s.same_lines = {}", tier == loose_tier(true));
                self.loose_where(&condition, &mut each)
            }
            Some(layer) => {
                let condition = format!("c.identical IS NOT NULL AND NOT c.in_place AND c.layer = {layer}");
                self.identical_where(&condition, &mut each)
            }
        }
    }

    /// The set of this number, if it is of the same bytes or the same text.
    pub(crate) fn identical_numbered(&self, number: i64) -> Result<Option<IdenticalSet>, Error> {
        let mut found = None;
        self.identical_where(&format!("c.identical = {number}"), &mut |set| {
            found = Some(set);
            Ok::<_, Error>(())
        })?;
        Ok(found)
    }

    pub(super) fn identical_where<E: From<Error>>(
        &self,
        condition: &str,
        each: &mut impl FnMut(IdenticalSet) -> Result<(), E>,
    ) -> Result<(), E> {
        // Files with the same text have sizes of their own.
        let sql = format!(
            "SELECT c.identical, c.digest, c.size_bytes, c.layer, {},
                    CASE WHEN c.layer > 0 THEN (SELECT o.size_bytes FROM document o WHERE o.id = d.other) END
             FROM content c JOIN document d ON d.content = c.id JOIN root r ON r.id = d.root
             WHERE {condition} ORDER BY c.identical, {}",
            DocumentPlace::select(),
            self.by_document()
        );
        self.sets(&sql, |layer| (self.tier(layer), self.view(layer)), each)
    }

    pub(super) fn loose_where<E: From<Error>>(
        &self,
        condition: &str,
        each: &mut impl FnMut(IdenticalSet) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT s.id, s.name, NULL, s.same_lines, {}, d.size_bytes
             FROM loose_set s JOIN document d ON d.loose_set = s.id JOIN root r ON r.id = d.root {condition} ORDER BY s.id, {}",
            DocumentPlace::select(),
            self.by_document()
        );
        self.sets(&sql, |same_lines| (loose_tier(same_lines == 1), None), each)
    }

    /// Puts the documents of sets together by the number of the set.
    fn sets<E: From<Error>>(
        &self,
        sql: &str,
        tier_of: impl Fn(usize) -> (&'static str, Option<String>),
        each: &mut impl FnMut(IdenticalSet) -> Result<(), E>,
    ) -> Result<(), E> {
        type SetDocument = (i64, [u8; 16], Option<u64>, usize, DocumentPlace, Option<u64>);
        let mut set: Option<(i64, IdenticalSet)> = None;
        self.each_row(sql, (), |(number, digest, size_bytes, layer, place, own_bytes): SetDocument| {
            let document = Located { size_bytes: own_bytes, ..self.located(&place)? };
            match &mut set {
                Some((current, set)) if *current == number => set.documents.push(document),
                _ => {
                    let ((tier, view), id) = (tier_of(layer), hex(&digest));
                    let (documents, verdict) = (vec![document], self.verdict_of_set(tier, &id));
                    let next = IdenticalSet { documents, verdict, id, size_bytes, tier, view };
                    if let Some((_, finished)) = set.replace((number, next)) {
                        return each(finished);
                    }
                }
            }
            Ok(())
        })?;
        set.map_or(Ok(()), |(_, last)| each(last))
    }

    /// Sums over the identical sets, tier by tier; tiers that have none are left out.
    pub fn identical_totals(&self) -> Result<Vec<IdenticalTotals>, Error> {
        let of_layer = |layer: Layer| IdenticalTotals {
            tier: self.tier(layer.number),
            sets: layer.identical_sets,
            in_place: layer.identical_in_place,
            wasted_bytes: layer.wasted_bytes,
            hard_link_bytes: layer.hard_link_bytes,
        };
        let mut totals: Vec<IdenticalTotals> = self.records("ORDER BY t.number")?.into_iter().map(of_layer).collect();
        for same_lines in [true, false] {
            let sql = "SELECT count(*), coalesce(sum(in_place), 0) FROM loose_set WHERE same_lines = ?";
            let (sets, in_place) = self.row(sql, [same_lines])?;
            totals.push(IdenticalTotals {
                tier: loose_tier(same_lines),
                sets,
                in_place,
                wasted_bytes: 0,
                hard_link_bytes: 0,
            });
        }
        totals.retain(|totals| totals.sets > 0);
        Ok(totals)
    }
}

/// In what the documents of a loose set are the same.
pub(crate) fn loose_tier(same_lines: bool) -> &'static str {
    if same_lines { "same lines" } else { "same message" }
}

#[cfg(test)]
mod tests {
    use rusqlite::params;

    use super::super::blocks::tests::report_with;
    use super::*;

    /// The pieces of a list of five sets, of which these numbers are in one packed block, that begins with `first`.
    fn pieces(first: i64, numbers: &[u64]) -> Result<Vec<SetPiece>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let mut block = Vec::new();
        numbers.iter().for_each(|number| PackedSet::new(*number, [0; 16], 1).pack(&mut block));
        let report = report_with(folder.path(), |connection| {
            let tables = "CREATE TABLE content (identical); CREATE TABLE packed_sets (first, block);
                          INSERT INTO content VALUES (0), (1), (2), (3), (4)";
            connection.execute_batch(tables).unwrap();
            connection.execute("INSERT INTO packed_sets VALUES (?,?)", params![first, block]).unwrap();
        });
        report.identical_pieces()
    }

    #[test]
    fn sets_are_read_packed_and_those_after_them_by_their_numbers() {
        for (numbers, others) in [(vec![0, 1, 2], Some(3..5)), (vec![0, 1, 2, 3, 4], None), (vec![0, 3], Some(4..5))] {
            let found = pieces(0, &numbers).unwrap();
            let expected = others.map(|others| format!("{others:?}"));
            let found: Vec<Option<String>> = found
                .into_iter()
                .map(|piece| match piece {
                    SetPiece::Packed(first) => (first > 0).then(|| first.to_string()),
                    SetPiece::Numbers(numbers) => Some(format!("{numbers:?}")),
                })
                .collect();
            assert_eq!(found, [None].into_iter().chain(expected.map(Some)).collect::<Vec<_>>(), "{numbers:?}");
        }
    }

    #[test]
    fn a_block_that_is_empty_or_whose_numbers_do_not_ascend_is_damaged() {
        for (first, numbers) in [(0, vec![]), (1, vec![0, 1]), (0, vec![0, 0]), (0, vec![0, 3, 2])] {
            assert!(matches!(pieces(first, &numbers), Err(Error::Corrupt { .. })), "{first} {numbers:?}");
        }
        for largest in [i64::MAX.cast_unsigned(), u64::MAX] {
            assert!(matches!(pieces(0, &[0, largest]), Err(Error::Corrupt { .. })), "{largest}");
        }
    }
}
