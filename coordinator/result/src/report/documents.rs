//! The documents of a result with what became of them: all, those at one site, or at one site as against another; and what
//! could not be read.

use std::collections::{BTreeSet, HashMap, HashSet};

use cognate_result_file::{Unread, row};

use super::{
    DocumentPlace, DocumentSection, Elsewhere, Fate, FatePartner, Located, PartnerRow, Ratio, Report, UnreadSection,
    hex, path_of, select,
};
use crate::error::Error;

/// The documents as `d`, and as `t` the row of the same document that has its partner.
pub(super) const LISTED: &str =
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
const LINKED: [&str; 5] = ["near", "contains", "contained", "shares", "standard_text"];

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
        let sql = document_sql("d.id = ?");
        for id in ids {
            let found = self.first_row(&sql, [id])?.map(|row| self.document_of(row)).transpose()?;
            if let Some(mut document) = found.flatten()
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
    /// Its place among all sites in the order of their names.
    place: usize,
    /// Its contents, each with its first document.
    copies: HashMap<Key, i64>,
    /// The best links of other contents with one of them.
    linked: HashMap<Key, Linked>,
    /// Its loose sets, each with its first document.
    loose: HashMap<i64, i64>,
}

impl Against {
    fn of(report: &Report, site: &str) -> Result<Against, Error> {
        let sites: BTreeSet<&str> = report.roots.iter().map(|root| root.site.as_str()).collect();
        let mut against = Against {
            site: site.to_owned(),
            place: sites.iter().position(|name| *name == site).unwrap_or(usize::MAX),
            copies: HashMap::new(),
            linked: HashMap::new(),
            loose: HashMap::new(),
        };
        let sql = "SELECT c.layer, c.digest, min(d.id) FROM content c JOIN document d ON d.content = c.id
                   JOIN root r ON r.id = d.root WHERE r.site = ? GROUP BY c.id";
        let copies: Vec<(usize, [u8; 16], i64)> = report.rows(sql, [site])?;
        against.copies = copies.into_iter().map(|(layer, of, document)| ((layer, digest(of)), document)).collect();
        let sql = "SELECT a.layer, a.digest, b.digest, l.relation, l.shared_bytes FROM link l
                   JOIN content a ON a.id = l.a JOIN content b ON b.id = l.b";
        report.each_row(sql, (), |(layer, a, b, relation, shared_bytes): (usize, _, _, String, u64)| {
            let (a, b) = ((layer, digest(a)), (layer, digest(b)));
            against.link(a, b, &relation, shared_bytes);
            against.link(b, a, cognate_result_file::reversed(&relation), shared_bytes);
            Ok::<_, Error>(())
        })?;
        let sql = "SELECT d.loose_set, min(d.id) FROM document d JOIN root r ON r.id = d.root
                   WHERE d.loose_set IS NOT NULL AND r.site = ? GROUP BY d.loose_set";
        let loose: Vec<(i64, i64)> = report.rows(sql, [site])?;
        against.loose = loose.into_iter().collect();
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

    /// True if the site is among those of some bits: also by links that no cluster lists.
    fn is_among(&self, sites: &[u8]) -> bool {
        sites.get(self.place / 8).is_some_and(|byte| byte >> (self.place % 8) & 1 == 1)
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
        let alike = document.loose_set.and_then(|set| self.loose.get(&set));
        let linked = contents.iter().filter_map(|content| Some((self.linked.get(content)?, content.0))).min();
        let (status, found) = match (copy, alike, linked, &partner) {
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
            (None, None, None, None) if self.is_among(&document.at_sites) => {
                (LINKED.into_iter().find(|status| *status == document.status).unwrap_or("shares"), None)
            }
            (None, None, None, None) if self.is_among(&document.standard_text_sites) => ("standard_text", None),
            (None, None, None, None) if document.unmeasured.is_some() => ("undecided", None),
            (None, None, None, None) => ("unique", None),
        };
        let elsewhere = match status {
            "unique" => "no",
            "undecided" => "not decided",
            "standard_text" => "standard text",
            _ => "yes",
        };
        document.elsewhere = Some(elsewhere.to_owned());
        document.undecided = document.unmeasured.clone().filter(|_| status == "undecided");
        status.clone_into(&mut document.status);
        document.partner = match (partner, found) {
            // What is shared by a frame alone makes no partner.
            _ if status == "standard_text" => None,
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
        let found = self.first_row::<(i64, Vec<u8>)>("SELECT root, path FROM document WHERE id = ?", [document])?;
        let partner = |(root, path): (i64, Vec<u8>)| {
            let (path, path_escaped) = path_of(&path);
            Ok(PartnerRow {
                outside_share: None,
                path,
                path_escaped,
                relation: relation.to_owned(),
                repository: self.root(root)?.repository.clone(),
                share: Some(Ratio::of(shared_bytes, all_bytes)),
                shared_bytes,
                site: site.to_owned(),
                view,
            })
        };
        found.map(partner).transpose()
    }
}

/// The share of a document that its partner has; nothing where it has no content of its own.
pub(crate) fn share_of(shared_bytes: Option<u64>, all_bytes: Option<u64>) -> Option<Ratio> {
    shared_bytes.zip(all_bytes).map(|(shared_bytes, all_bytes)| Ratio::of(shared_bytes.min(all_bytes), all_bytes))
}

fn digest(bytes: [u8; 16]) -> u128 {
    u128::from_be_bytes(bytes)
}

row! {
    /// A listed document `d` with its content `c`, the row `t` of it that has the partner `p`, and its text `tc`.
    struct ListedDocument {
        id: i64 = "d.id",
        place: DocumentPlace = DocumentPlace::select(),
        status: String = "d.status",
        size_bytes: u64 = "d.size_bytes",
        payload_bytes: u64 = "coalesce(c.payload_bytes, 0)",
        content: Option<[u8; 16]> = "CASE WHEN d.layer = 0 THEN c.digest END",
        text_content: Option<[u8; 16]> = "tc.digest",
        text_bytes: Option<u64> = "tc.size_bytes",
        layer: usize = "t.layer",
        layer_bytes: Option<u64> = "(SELECT o.payload_bytes FROM content o WHERE o.id = t.content)",
        shared_bytes: Option<u64> = "t.partner_shared_bytes",
        relation: Option<String> = "t.partner_relation",
        outside_share: Option<Ratio> = "t.partner_outside",
        elsewhere: Option<String> = "d.elsewhere",
        at_sites: Option<Vec<u8>> = "d.at_sites",
        standard_text_sites: Option<Vec<u8>> = "d.standard_text_sites",
        loose_set: Option<i64> = "d.loose_set",
        undecided: Option<String> = "d.undecided",
        partner_root: Option<i64> = "p.root",
        partner_path: Option<Vec<u8>> = "p.path",
    }
}

/// The query for documents in a range of rows `d`.
fn document_sql(range: &str) -> String {
    format!(
        "SELECT {} FROM {LISTED} LEFT JOIN content c ON c.id = d.content LEFT JOIN document p ON p.id = t.partner
              LEFT JOIN content tc ON tc.id = CASE WHEN d.layer > 0 THEN d.content
                                                   ELSE (SELECT o.content FROM document o WHERE o.id = d.other) END
         WHERE d.listed AND {range} ORDER BY d.id",
        ListedDocument::select(),
    )
}

impl Report {
    /// Unreadable documents.
    pub fn unread<E: From<Error>>(&self, mut each: impl FnMut(UnreadSection) -> Result<(), E>) -> Result<(), E> {
        let rest = format!("JOIN root r ON r.id = t.root ORDER BY {}, t.path", self.by_root());
        self.each_row(&select::<Unread>(&rest), (), |unread: Unread| {
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
        self.each_row(&document_sql(range), (), |row: ListedDocument| {
            let id = row.id;
            self.document_of(row)?.map_or(Ok(()), |document| each(id, document))
        })
    }

    /// The document of a row; nothing if it is not of this slice.
    fn document_of(&self, row: ListedDocument) -> Result<Option<DocumentSection>, Error> {
        if !self.lists(&self.root(row.place.root)?.site) {
            return Ok(None);
        }
        let both = self.views.len() > 1;
        let partner = match (row.partner_root.zip(row.partner_path), row.relation, row.shared_bytes) {
            (Some((root, path)), Some(relation), Some(shared_bytes)) => {
                let (root, (path, path_escaped)) = (self.root(root)?, path_of(&path));
                Some(PartnerRow {
                    outside_share: row.outside_share,
                    path,
                    path_escaped,
                    relation,
                    repository: root.repository.clone(),
                    share: share_of(row.shared_bytes, row.layer_bytes),
                    shared_bytes,
                    site: root.site.clone(),
                    view: self.view(row.layer),
                })
            }
            _ => None,
        };
        let Located { message_id_hash, modified, path, path_escaped, recognised, repository, site, .. } =
            self.located(&row.place)?;
        let is_open = row.status == "undecided" || row.elsewhere.as_deref() == Some("not decided");
        Ok(Some(DocumentSection {
            at_sites: row.at_sites.unwrap_or_default(),
            standard_text_sites: row.standard_text_sites.unwrap_or_default(),
            loose_set: row.loose_set,
            content: row.content.map(|digest| hex(&digest)),
            elsewhere: row.elsewhere,
            message_id_hash,
            modified,
            partner,
            path,
            path_escaped,
            payload_bytes: row.payload_bytes,
            recognised,
            repository,
            site,
            size_bytes: row.size_bytes,
            status: row.status,
            text_bytes: row.text_bytes.filter(|_| both),
            text_content: row.text_content.filter(|_| both).map(|digest| hex(&digest)),
            undecided: row.undecided.clone().filter(|_| is_open),
            unmeasured: row.undecided,
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
        let (columns, rows, listed) = (FateColumns::select(), self.fated(), self.listed_number());
        let sql = format!("SELECT {columns}, {listed} FROM {rows} ORDER BY {listed}");
        self.each_row(&sql, (), |(row, id): (FateColumns, i64)| {
            let partner = row.shared_bytes.map(|shared_bytes| FatePartner {
                shared_bytes,
                share: row.payload_bytes.map(|all| Ratio::of(shared_bytes, all)),
                outside_share: row.outside_share,
                identical: row.identical.unwrap_or_default(),
                moved_to: row.moved_to.as_deref(),
            });
            each(Fate {
                site: self.place_of_root(row.root),
                path: &row.path,
                size_bytes: row.size_bytes,
                elsewhere: row.elsewhere.as_deref().and_then(Elsewhere::parse),
                partner,
                undecided: row.undecided.as_deref(),
                recognised: row.recognised,
                id,
                counterpart: row.counterpart,
            })
        })
    }
}

row! {
    /// What became of a document, in the row `t` that has its partner.
    struct FateColumns {
        root: usize = "t.root",
        path: Vec<u8> = "t.path",
        size_bytes: u64 = "t.size_bytes",
        elsewhere: Option<String> = "t.elsewhere",
        shared_bytes: Option<u64> = "t.partner_shared_bytes",
        identical: Option<bool> = "t.partner_relation = 'identical'",
        moved_to: Option<Vec<u8>> = "CASE WHEN t.partner_in_place THEN NULL
                                          ELSE (SELECT p.path FROM document p WHERE p.id = t.partner) END",
        payload_bytes: Option<u64> = "CASE WHEN t.partner_relation <> 'identical'
                                           THEN (SELECT c.payload_bytes FROM content c WHERE c.id = t.content) END",
        counterpart: Option<i64> = "t.counterpart",
        recognised: bool = "t.recognised",
        undecided: Option<String> = "t.undecided",
        outside_share: Option<Ratio> = "t.partner_outside",
    }
}
