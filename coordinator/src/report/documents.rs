//! A list of documents by what became of them: at one site, or at one site as against another.

use std::collections::{HashMap, HashSet};

use rusqlite::OptionalExtension as _;

use super::{DocumentSection, PartnerRow, Report, hex, path_of};
use crate::error::Error;

/// Which documents are listed.
#[derive(Clone, Default, Debug)]
pub struct DocumentFilter {
    /// Only those of one of these statuses, of any where there are none; `excluded` is any of its reasons.
    pub statuses: Vec<String>,
    /// Only those at this site.
    pub site: Option<String>,
    /// What became of them is told of this site alone, as if it were the only other one.
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
    /// When the file cannot be read, names no such site, or `each` fails.
    pub fn documents_where<E: From<Error>>(
        &self,
        filter: &DocumentFilter,
        mut each: impl FnMut(DocumentSection) -> Result<(), E>,
    ) -> Result<(), E> {
        let sites: HashSet<String> = self.sites()?.into_iter().map(|site| site.site).collect();
        for named in [&filter.site, &filter.against].into_iter().flatten() {
            if !sites.contains(named) {
                return Err(Error::Invalid(format!("the scan has no site `{named}`")).into());
            }
        }
        let against = filter.against.as_ref().map(|site| Against::of(self, site)).transpose()?;
        self.documents(|mut document| {
            if filter.site.as_ref().is_some_and(|site| document.site != *site) {
                return Ok(());
            }
            if let Some(against) = &against {
                if document.site == against.site {
                    return Ok(());
                }
                against.tell(self, &mut document)?;
            }
            if filter.lets_through(&document.status) { each(document) } else { Ok(()) }
        })
    }
}

/// A content by the number of its layer and its digest.
type Key = (usize, u128);

/// What another site has that a content is linked with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Linked {
    /// Which of [`LINKED`].
    place: usize,
    /// How much is not in common, so that less is better.
    less_shared: std::cmp::Reverse<u64>,
    partner: Key,
}

/// What another site has.
struct Against {
    site: String,
    /// Its contents, each with its first document.
    copies: HashMap<Key, i64>,
    /// What is linked with one of them, with the best.
    linked: HashMap<Key, Linked>,
    /// Where messages are matched: its messages, each with its first document.
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
                against.link(b, a, super::reversed(&relation), shared_bytes);
            }
            // Only where messages are matched do documents stand in sets of them.
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

    /// Notes that `from` lies so to `to`, if the site has that.
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
    fn tell(&self, report: &Report, document: &mut DocumentSection) -> Result<(), Error> {
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
        // Where one view is compared, it is the first, whatever it is called.
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
            // The best that there is anywhere stands at the other site.
            (Some(partner), _) if partner.relation == status => Some(partner),
            (_, Some((place, layer, shared_bytes))) => {
                let shared_bytes = shared_bytes.unwrap_or(document.payload_bytes);
                report.partner_at(place, &self.site, status, report.view(layer), shared_bytes)?
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
        shared_bytes: u64,
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
                shared_bytes,
                site: site.to_owned(),
                view,
            })
        });
        found.optional().map_err(|error| self.failed(error))
    }
}

fn digest(bytes: [u8; 16]) -> u128 {
    u128::from_be_bytes(bytes)
}
