//! The identical sets of a result, tier by tier.

use std::ops::Range;

use rusqlite::Row;

use super::{IdenticalSet, IdenticalTotals, Located, Report, hex, located};
use crate::error::Error;

impl Report {
    /// The identical sets: those of the same bytes, whose copies waste most of them first, then those of the same text, then
    /// those that are the same message.
    pub fn identical<E: From<Error>>(&self, mut each: impl FnMut(IdenticalSet) -> Result<(), E>) -> Result<(), E> {
        let read = |report: &Report, block: Range<i64>| {
            let mut sets = Vec::new();
            report.identical_in(block, &mut |set| {
                sets.push(set);
                Ok(())
            })?;
            Ok(sets)
        };
        self.in_blocks(self.identical_numbers()?, read, &mut |sets| sets.into_iter().try_for_each(&mut each))?;
        self.messages_where("", &mut each)
    }

    /// The numbers of the sets of the same bytes and of the same text.
    pub(super) fn identical_numbers(&self) -> Result<Range<i64>, Error> {
        self.numbers("SELECT min(identical), max(identical) FROM content WHERE identical IS NOT NULL")
    }

    /// The sets with these numbers.
    pub(super) fn identical_in(
        &self,
        numbers: Range<i64>,
        each: &mut impl FnMut(IdenticalSet) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.identical_where(&format!("c.identical >= {} AND c.identical < {}", numbers.start, numbers.end), each)
    }

    /// The identical sets of a tier but those that are one document at the same place in each of several repositories.
    pub fn identical_elsewhere<E: From<Error>>(
        &self,
        tier: &str,
        mut each: impl FnMut(IdenticalSet) -> Result<(), E>,
    ) -> Result<(), E> {
        match (0..self.views.len()).find(|layer| self.tier(*layer) == tier) {
            None => self.messages_where("WHERE NOT m.in_place", &mut each),
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

    fn identical_where<E: From<Error>>(
        &self,
        condition: &str,
        each: &mut impl FnMut(IdenticalSet) -> Result<(), E>,
    ) -> Result<(), E> {
        // Files with the same text have sizes of their own.
        let sql = format!(
            "SELECT c.identical, c.digest, c.size_bytes, d.path, d.modified, r.site, r.repository, r.party,
                    d.message_id_hash, c.layer,
                    CASE WHEN c.layer > 0 THEN (SELECT o.size_bytes FROM document o WHERE o.id = d.other) END,
                    d.recognised
                   FROM content c JOIN document d ON d.content = c.id JOIN root r ON r.id = d.root
                   WHERE {condition} ORDER BY c.identical, {}",
            self.by_document()
        );
        self.sets(&sql, |row| Ok((self.tier(row.get(9)?), self.view(row.get(9)?))), each)
    }

    pub(super) fn messages_where<E: From<Error>>(
        &self,
        condition: &str,
        each: &mut impl FnMut(IdenticalSet) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!(
            "SELECT m.id, m.hash, NULL, d.path, d.modified, r.site, r.repository, r.party, d.message_id_hash, 0,
                    d.size_bytes, d.recognised
                   FROM message m JOIN document d ON d.message = m.id JOIN root r ON r.id = d.root
                   {condition} ORDER BY m.id, {}",
            self.by_document()
        );
        self.sets(&sql, |_| Ok(("same message", None)), each)
    }

    /// Puts the documents of sets together by the first column.
    fn sets<E: From<Error>>(
        &self,
        sql: &str,
        tier_of: impl Fn(&Row<'_>) -> rusqlite::Result<(&'static str, Option<String>)>,
        each: &mut impl FnMut(IdenticalSet) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut set: Option<(i64, IdenticalSet)> = None;
        self.each_or(
            sql,
            |row| {
                let place: i64 = row.get(0)?;
                let document = Located { size_bytes: row.get(10)?, ..located(row)? };
                match &mut set {
                    Some((current, set)) if *current == place => set.documents.push(document),
                    _ => {
                        let (tier, view) = tier_of(row)?;
                        let id = hex(&row.get::<_, Vec<u8>>(1)?);
                        let next = IdenticalSet {
                            documents: vec![document],
                            verdict: self.verdict_of_set(tier, &id),
                            id,
                            size_bytes: row.get(2)?,
                            tier,
                            view,
                        };
                        if let Some((_, finished)) = set.replace((place, next)) {
                            return Ok(Some(finished));
                        }
                    }
                }
                Ok(None)
            },
            each,
        )?;
        set.map_or(Ok(()), |(_, last)| each(last))
    }

    /// Sums over the identical sets, tier by tier; tiers that have none are left out.
    pub fn identical_totals(&self) -> Result<Vec<IdenticalTotals>, Error> {
        let sql = "SELECT number, identical_sets, identical_in_place, wasted_bytes FROM layer ORDER BY number";
        let mut totals = self.collect(sql, |row| {
            let tier = self.tier(row.get(0)?);
            Ok(IdenticalTotals { tier, sets: row.get(1)?, in_place: row.get(2)?, wasted_bytes: row.get(3)? })
        })?;
        totals.push(self.one("SELECT count(*), coalesce(sum(in_place), 0) FROM message", |row| {
            Ok(IdenticalTotals { tier: "same message", sets: row.get(0)?, in_place: row.get(1)?, wasted_bytes: 0 })
        })?);
        totals.retain(|totals| totals.sets > 0);
        Ok(totals)
    }
}
