//! The documents of a result with what became of them: all, those at one site, or at one site as against another; and what
//! could not be read.

use std::collections::{HashMap, HashSet};

use cognate_result_file::{Record as _, Unread, columns};
use rusqlite::{OptionalExtension as _, Row};

use super::{
    DocumentSection, Fate, FatePartner, PartnerRow, Ratio, Report, UnreadSection, hex, is_recognised, path_of, time,
};
use crate::error::Error;

/// The documents as `d`, and as `t` the row of the same document that has its partner.
const LISTED: &str =
    "document d CROSS JOIN document t ON t.id = CASE WHEN d.partner_in_other THEN d.other ELSE d.id END";

/// Filter of a list of documents.
#[derive(Clone, Default, Debug)]
pub struct DocumentFilter {
    /// Only those of one of these statuses, of any where there are none; `excluded` is any of its reasons.
    pub statuses: Vec<String>,
    /// Only those at this site.
    pub site: Option<String>,
    /// Compares with this site alone: statuses are as if it were the only other one.
    pub against: Option<String>,
}

impl DocumentFilter {
    fn lets_through(&self, status: &str) -> bool {
        let is = |wanted: &String| {
            status == *wanted || status.strip_prefix(wanted.as_str()).is_some_and(|rest| rest.starts_with('('))
        };
        self.statuses.is_empty() || self.statuses.iter().any(is)
    }
}

/// Statuses that links give, the first that applies counts.
const LINKED: [&str; 4] = ["near", "contains", "contained", "shares"];

impl Report {
    /// The documents that a filter lets through.
    ///
    /// # Errors
    /// Fails if the file cannot be read, names no such site, or `each` fails.
    pub fn documents_where<E: From<Error>>(
        &self,
        filter: &DocumentFilter,
        mut each: impl FnMut(DocumentSection) -> Result<(), E>,
    ) -> Result<(), E> {
        self.numbered_documents_where(filter, |_, document| each(document))
    }

    /// The same, each with the number of its row.
    pub(super) fn numbered_documents_where<E: From<Error>>(
        &self,
        filter: &DocumentFilter,
        mut each: impl FnMut(i64, DocumentSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let against = self.against(filter)?;
        self.document_ranges()?.iter().try_for_each(|range| {
            self.documents_in(range, &mut |id, mut document| {
                if self.lets_through(filter, against.as_ref(), &mut document)? { each(id, document) } else { Ok(()) }
            })
        })
    }

    /// The documents with these numbers of rows, in their order, as far as a filter lets them through.
    pub(super) fn documents_numbered<E: From<Error>>(
        &self,
        ids: &[i64],
        filter: &DocumentFilter,
        each: &mut impl FnMut(DocumentSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let against = self.against(filter)?;
        let mut statement = self.connection.prepare(&document_sql("d.id = ?")).map_err(|error| self.failed(error))?;
        for id in ids {
            let found = statement.query_row([id], |row| self.document_of(row)).optional();
            if let Some(mut document) = found.map_err(|error| self.failed(error))?.flatten()
                && self.lets_through(filter, against.as_ref(), &mut document)?
            {
                each(document)?;
            }
        }
        Ok(())
    }

    /// The site with which a filter compares.
    fn against(&self, filter: &DocumentFilter) -> Result<Option<Against>, Error> {
        let sites: HashSet<String> = self.sites()?.into_iter().map(|site| site.site).collect();
        for named in [&filter.site, &filter.against].into_iter().flatten() {
            if !sites.contains(named) {
                return Err(Error::Invalid(format!("the scan has no site `{named}`")));
            }
        }
        filter.against.as_ref().map(|site| Against::of(self, site)).transpose()
    }

    /// True if a filter lets a document through, of which it is said then what became of it at the site of `against`.
    fn lets_through(
        &self,
        filter: &DocumentFilter,
        against: Option<&Against>,
        document: &mut DocumentSection,
    ) -> Result<bool, Error> {
        if filter.site.as_ref().is_some_and(|site| document.site != *site) {
            return Ok(false);
        }
        if let Some(against) = against {
            if document.site == against.site {
                return Ok(false);
            }
            against.apply(self, document)?;
        }
        Ok(filter.lets_through(&document.status))
    }
}

/// A content by the number of its layer and its digest.
type Key = (usize, u128);

/// A content of another site that a content is linked with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Linked {
    /// Place among [`LINKED`].
    place: usize,
    /// Bytes that are not in common, so that less is better.
    less_shared: std::cmp::Reverse<u64>,
    partner: Key,
}

/// Contents of another site.
struct Against {
    site: String,
    /// Its contents, each with its first document.
    copies: HashMap<Key, i64>,
    /// The best links of other contents with one of them.
    linked: HashMap<Key, Linked>,
    /// If messages are matched: its messages, each with its first document.
    messages: HashMap<String, i64>,
}

impl Against {
    fn of(report: &Report, site: &str) -> Result<Against, Error> {
        let mut against =
            Against { site: site.to_owned(), copies: HashMap::new(), linked: HashMap::new(), messages: HashMap::new() };
        let read = |against: &mut Against| -> rusqlite::Result<()> {
            let sql = "SELECT c.layer, c.digest, min(d.id) FROM content c JOIN document d ON d.content = c.id
                       JOIN root r ON r.id = d.root WHERE r.site = ? GROUP BY c.id";
            let mut statement = report.connection.prepare(sql)?;
            let mut rows = statement.query([site])?;
            while let Some(row) = rows.next()? {
                against.copies.insert((row.get(0)?, digest(row.get(1)?)), row.get(2)?);
            }
            let sql = "SELECT a.layer, a.digest, b.digest, l.relation, l.shared_bytes FROM link l
                       JOIN content a ON a.id = l.a JOIN content b ON b.id = l.b";
            let mut statement = report.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let layer = row.get(0)?;
                let (a, b) = ((layer, digest(row.get(1)?)), (layer, digest(row.get(2)?)));
                let (relation, shared_bytes): (String, u64) = (row.get(3)?, row.get(4)?);
                against.link(a, b, &relation, shared_bytes);
                against.link(b, a, cognate_result_file::reversed(&relation), shared_bytes);
            }
            // Documents are in sets of messages only if messages are matched.
            let sql = "SELECT m.hash, min(d.id) FROM message m JOIN document d ON d.message = m.id
                       JOIN root r ON r.id = d.root WHERE r.site = ? GROUP BY m.id";
            let mut statement = report.connection.prepare(sql)?;
            let mut rows = statement.query([site])?;
            while let Some(row) = rows.next()? {
                against.messages.insert(hex(row.get_ref(0)?.as_blob()?), row.get(1)?);
            }
            Ok(())
        };
        read(&mut against).map_err(|error| report.failed(error))?;
        Ok(against)
    }

    /// Notes the relation of `from` to `to`, if the site has that.
    fn link(&mut self, from: Key, to: Key, relation: &str, shared_bytes: u64) {
        if !self.copies.contains_key(&to) {
            return;
        }
        let place = LINKED.iter().position(|one| *one == relation).unwrap_or(LINKED.len() - 1);
        let found = Linked { place, less_shared: std::cmp::Reverse(shared_bytes), partner: to };
        let best = self.linked.entry(from).or_insert(found);
        *best = found.min(*best);
    }

    /// Says of a document what became of it at the other site.
    fn apply(&self, report: &Report, document: &mut DocumentSection) -> Result<(), Error> {
        if document.status.starts_with("excluded") {
            document.partner = None;
            return Ok(());
        }
        let partner = document.partner.take().filter(|partner| partner.site == self.site);
        let contents: Vec<Key> = [&document.content, &document.text_content]
            .into_iter()
            .enumerate()
            .filter_map(|(layer, content)| Some((layer, u128::from_str_radix(content.as_ref()?, 16).ok()?)))
            .collect();
        // If one view is compared, it is the first, whatever its name.
        let copy = contents.iter().find_map(|content| Some((content.0, *self.copies.get(content)?)));
        let message = document.message_id_hash.as_ref().and_then(|hash| self.messages.get(hash));
        let linked = contents.iter().filter_map(|content| Some((self.linked.get(content)?, content.0))).min();
        let (status, found) = match (copy, message, linked, &partner) {
            (Some((layer, place)), ..) => ("identical", Some((place, layer, None))),
            (None, Some(place), ..) => ("identical", Some((*place, 0, None))),
            (None, None, Some((linked, layer)), _) => {
                let place = self.copies.get(&linked.partner).copied();
                (LINKED[linked.place], place.map(|place| (place, layer, Some(linked.less_shared.0))))
            }
            // A link that its cluster leaves out.
            (None, None, None, Some(partner)) => {
                let place = LINKED.iter().position(|one| *one == partner.relation).unwrap_or(LINKED.len() - 1);
                (LINKED[place], None)
            }
            (None, None, None, None) => ("unique", None),
        };
        status.clone_into(&mut document.status);
        document.partner = match (partner, found) {
            // The best partner of all is at the other site.
            (Some(partner), _) if partner.relation == status => Some(partner),
            (_, Some((place, layer, shared_bytes))) => {
                let of_text = document.text_bytes.filter(|_| layer > 0);
                let all_bytes = of_text.unwrap_or(document.payload_bytes);
                let shared_bytes = shared_bytes.unwrap_or(document.payload_bytes);
                report.partner_at(place, &self.site, status, report.view(layer), [shared_bytes, all_bytes])?
            }
            (partner, None) => partner,
        };
        Ok(())
    }
}

impl Report {
    /// A document as the partner of another.
    fn partner_at(
        &self,
        document: i64,
        site: &str,
        relation: &str,
        view: Option<String>,
        [shared_bytes, all_bytes]: [u64; 2],
    ) -> Result<Option<PartnerRow>, Error> {
        let sql = "SELECT d.path, r.repository FROM document d JOIN root r ON r.id = d.root WHERE d.id = ?";
        let mut statement = self.connection.prepare_cached(sql).map_err(|error| self.failed(error))?;
        let found = statement.query_row([document], |row| {
            let (path, path_escaped) = path_of(row.get_ref(0)?.as_blob()?);
            Ok(PartnerRow {
                path,
                path_escaped,
                relation: relation.to_owned(),
                repository: row.get(1)?,
                share: Some(Ratio::of(shared_bytes, all_bytes)),
                shared_bytes,
                site: site.to_owned(),
                view,
            })
        });
        found.optional().map_err(|error| self.failed(error))
    }
}

/// The share of a document that its partner has; nothing where it has no content of its own.
pub(crate) fn share_of(shared_bytes: Option<u64>, all_bytes: Option<u64>) -> Option<Ratio> {
    shared_bytes.zip(all_bytes).map(|(shared_bytes, all_bytes)| Ratio::of(shared_bytes.min(all_bytes), all_bytes))
}

fn digest(bytes: [u8; 16]) -> u128 {
    u128::from_be_bytes(bytes)
}

/// The query for documents in a range of rows `d`.
fn document_sql(range: &str) -> String {
    format!(
        "SELECT d.path, d.modified, d.status, r.site, r.repository, d.size_bytes, coalesce(c.payload_bytes, 0),
                CASE WHEN d.layer = 0 THEN c.digest END, p.path, pr.site, pr.repository, t.partner_shared_bytes, t.partner_relation,
                d.message_id_hash, t.layer, tc.digest, tc.size_bytes,
                (SELECT o.payload_bytes FROM content o WHERE o.id = t.content), d.recognised, d.id
         FROM {} JOIN root r ON r.id = d.root LEFT JOIN content c ON c.id = d.content
              LEFT JOIN document p ON p.id = t.partner LEFT JOIN root pr ON pr.id = p.root
              LEFT JOIN content tc ON tc.id = CASE WHEN d.layer > 0 THEN d.content
                                                   ELSE (SELECT o.content FROM document o WHERE o.id = d.other) END
         WHERE d.listed AND {range} ORDER BY d.id",
        LISTED,
    )
}

impl Report {
    /// Unreadable documents.
    pub fn unread<E: From<Error>>(&self, mut each: impl FnMut(UnreadSection) -> Result<(), E>) -> Result<(), E> {
        let (columns, by) = (columns::<Unread>("u"), self.by_root());
        let sql = format!("SELECT {columns} FROM unread u JOIN root r ON r.id = u.root ORDER BY {by}, u.path");
        self.each_or(&sql, |row| Unread::from_row(row, 0).map(Some), &mut |unread: Unread| {
            let (root, (path, path_escaped)) = (self.root(unread.root)?, path_of(&unread.path));
            each(UnreadSection {
                path,
                path_escaped,
                reason: unread.reason.into_owned(),
                repository: root.repository.clone(),
                site: root.site.clone(),
                view: self.view(unread.layer),
            })
        })
    }

    /// Every document with what became of it.
    pub fn documents<E: From<Error>>(&self, mut each: impl FnMut(DocumentSection) -> Result<(), E>) -> Result<(), E> {
        let mut each = |_, document| each(document);
        self.document_ranges()?.iter().try_for_each(|range| self.documents_in(range, &mut each))
    }

    fn documents_in<E: From<Error>>(
        &self,
        range: &str,
        each: &mut impl FnMut(i64, DocumentSection) -> Result<(), E>,
    ) -> Result<(), E> {
        self.each_or(
            &document_sql(range),
            |row| {
                let id: i64 = row.get("id")?;
                Ok(self.document_of(row)?.map(|document| (id, document)))
            },
            &mut |(id, document)| each(id, document),
        )
    }

    /// The document of a row; nothing if it is not of this slice.
    fn document_of(&self, row: &Row<'_>) -> rusqlite::Result<Option<DocumentSection>> {
        let both = self.views.len() > 1;
        let partner = |row: &Row<'_>| -> rusqlite::Result<Option<PartnerRow>> {
            let Some(bytes) = row.get_ref(8)?.as_blob_or_null()? else { return Ok(None) };
            let (path, path_escaped) = path_of(bytes);
            Ok(Some(PartnerRow {
                path,
                path_escaped,
                relation: row.get(12)?,
                repository: row.get(10)?,
                share: share_of(row.get(11)?, row.get(17)?),
                shared_bytes: row.get(11)?,
                site: row.get(9)?,
                view: self.view(row.get(14)?),
            }))
        };
        let site: String = row.get(3)?;
        if !self.lists(&site) {
            return Ok(None);
        }
        let (path, path_escaped) = path_of(row.get_ref(0)?.as_blob()?);
        let hex_or_null =
            |place: usize| -> rusqlite::Result<Option<String>> { Ok(row.get_ref(place)?.as_blob_or_null()?.map(hex)) };
        Ok(Some(DocumentSection {
            content: hex_or_null(7)?,
            message_id_hash: hex_or_null(13)?,
            modified: time(row.get(1)?),
            partner: partner(row)?,
            path,
            path_escaped,
            payload_bytes: row.get(6)?,
            recognised: is_recognised(row)?,
            repository: row.get(4)?,
            site,
            size_bytes: row.get(5)?,
            status: row.get(2)?,
            text_bytes: row.get::<_, Option<u64>>(16)?.filter(|_| both),
            text_content: hex_or_null(15)?.filter(|_| both),
        }))
    }

    /// The rows `t` that have the partners of documents. If there is one view, every row is listed and has its own partner:
    /// none is looked up.
    pub(super) fn fated(&self) -> String {
        match self.views.len() {
            1 => "document t WHERE 1".to_owned(),
            _ => format!("{LISTED} WHERE d.listed"),
        }
    }

    /// The column of these rows that has the number of the listed row.
    pub(super) fn listed_number(&self) -> &'static str {
        if self.views.len() == 1 { "t.id" } else { "d.id" }
    }

    /// Status of each document of two sites, in short rows for counting. If the partner
    /// is at the same place, its path is left out.
    pub fn fates<E: From<Error>>(&self, mut each: impl FnMut(Fate<'_>) -> Result<(), E>) -> Result<(), E> {
        let listed = self.listed_number();
        let sql = format!(
            "SELECT t.root, t.path, t.size_bytes,
                    t.status IN ('excluded(empty)', 'excluded(no text)', 'excluded(container)'),
                    t.partner_shared_bytes, t.partner_relation = 'identical',
                    CASE WHEN t.partner_in_place THEN NULL
                         ELSE (SELECT p.path FROM document p WHERE p.id = t.partner) END,
                    CASE WHEN t.partner_relation <> 'identical'
                         THEN (SELECT c.payload_bytes FROM content c WHERE c.id = t.content) END,
                    {listed}, t.counterpart, t.recognised
             FROM {} ORDER BY {listed}",
            self.fated(),
        );
        let mut statement = self.connection.prepare(&sql).map_err(|error| self.failed(error))?;
        let mut rows = statement.query([]).map_err(|error| self.failed(error))?;
        while let Some(row) = rows.next().map_err(|error| self.failed(error))? {
            let fate = || -> rusqlite::Result<Fate<'_>> {
                let shared_bytes: Option<u64> = row.get(4)?;
                let partner = match shared_bytes {
                    None => None,
                    Some(shared_bytes) => Some(FatePartner {
                        shared_bytes,
                        share: row.get::<_, Option<u64>>(7)?.map(|all| Ratio::of(shared_bytes, all)),
                        identical: row.get(5)?,
                        moved_to: row.get_ref(6)?.as_blob_or_null()?,
                    }),
                };
                Ok(Fate {
                    site: self.place_of_root(row.get(0)?),
                    path: row.get_ref(1)?.as_blob()?,
                    size_bytes: row.get(2)?,
                    empty: row.get(3)?,
                    partner,
                    recognised: row.get(10)?,
                    id: row.get(8)?,
                    counterpart: row.get(9)?,
                })
            };
            each(fate().map_err(|error| self.failed(error))?)?;
        }
        Ok(())
    }
}
