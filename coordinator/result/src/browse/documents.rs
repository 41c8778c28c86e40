//! Lists of documents, and the paths by which clusters are looked for.

use std::cmp::Reverse;

use cognate_result_file::row;
use memchr::memmem::Finder;
use rusqlite::functions::FunctionFlags;
use rusqlite::params_from_iter;
use rusqlite::types::Value;

use super::condition::Condition;
use super::filter::{begins, day, size};
use super::query::Pairs;
use super::{Browse, Page, Place, Window};
use crate::error::Error;
use crate::report::{DocumentPlace, Ratio, STATUSES, hex, path_of, share_of};

/// The `count` items from `offset` on in the order of all. Only they are put in order, so that a page far back costs no more
/// than the first.
fn window_of<T: Ord>(all: &mut [T], offset: u64, count: u64) -> &[T] {
    let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(all.len());
    let (first, end) = (place(offset), place(offset.saturating_add(count)));
    if first < all.len() {
        all.select_nth_unstable(first);
    }
    let rest = &mut all[first..];
    let count = end - first;
    if count < rest.len() {
        rest.select_nth_unstable(count);
    }
    let window = &mut rest[..count];
    window.sort_unstable();
    window
}

/// A text as it is looked for: letters in lower case.
fn lower(path: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(path) {
        Ok(text) if !text.is_ascii() => text.to_lowercase().into_bytes(),
        _ => path.to_ascii_lowercase(),
    }
}

/// Pattern of a path: a part of it, or all of it if there are wild cards.
pub(super) struct Pattern {
    literal: Finder<'static>,
    glob: Option<globset::GlobMatcher>,
}

impl Pattern {
    /// # Errors
    /// Fails if it is no pattern.
    pub(super) fn new(text: &str) -> Result<Pattern, Error> {
        let text = text.trim().to_lowercase();
        if !text.contains(['*', '?', '[', '{']) {
            return Ok(Pattern { literal: Finder::new(&text).into_owned(), glob: None });
        }
        let glob = globset::GlobBuilder::new(&text).literal_separator(false).build();
        let glob = glob.map_err(|error| Error::Invalid(format!("`path`: {}", error.kind())))?;
        // Whatever matches has the longest part without wild cards in it.
        let literal = match text.contains(['[', '{', '\\']) {
            true => "",
            false => text.split(['*', '?']).max_by_key(|part| part.len()).unwrap_or(""),
        };
        Ok(Pattern { literal: Finder::new(literal).into_owned(), glob: Some(glob.compile_matcher()) })
    }

    fn matches(&self, path: &[u8]) -> bool {
        if self.literal.find(path).is_none() {
            return false;
        }
        self.glob.as_ref().is_none_or(|glob| glob.is_match(String::from_utf8_lossy(path).as_ref()))
    }
}

/// Filter and order of a list of documents.
#[derive(Clone, Default, Debug)]
pub struct DocumentQuery {
    /// `identical`, `near`, `contains`, `contained`, `shares`, `undecided`, `unique`, `excluded`.
    pub status: Option<String>,
    /// At this site.
    pub site: Option<String>,
    /// A part of the path, or all of it with wild cards.
    pub path: Option<String>,
    /// Of at least this size.
    pub size_min: Option<u64>,
    /// Of at most this size.
    pub size_max: Option<u64>,
    /// Modified then or later; seconds since 1970.
    pub modified_from: Option<i64>,
    /// Modified then or before.
    pub modified_to: Option<i64>,
    /// The largest first, instead of by place.
    pub largest_first: bool,
}

impl DocumentQuery {
    /// Reads names and values. Names that are none of its own are left to others.
    ///
    /// # Errors
    /// Fails if a value makes no sense.
    pub fn parse<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Result<DocumentQuery, Error> {
        let mut query = DocumentQuery::default();
        for (name, value) in pairs.filter(|(_, value)| !value.is_empty()) {
            let refused = |why: String| Error::Invalid(format!("`{name}`: {why}"));
            match name {
                "status" => query.status = Some(value.to_owned()),
                "site" => query.site = Some(value.to_owned()),
                "path" => query.path = Some(value.to_owned()),
                "size" => query.size_min = Some(size(value).map_err(refused)?),
                "size_max" => query.size_max = Some(size(value).map_err(refused)?),
                "from" => query.modified_from = Some(begins(day(value).map_err(refused)?)),
                "to" => {
                    let day = day(value).map_err(refused)?;
                    query.modified_to = Some(begins(day.tomorrow().unwrap_or(day)) - 1);
                }
                "sort" => query.largest_first = value == "size",
                _ => {}
            }
        }
        Ok(query)
    }

    /// The query as an address has it.
    pub fn to_query(&self) -> String {
        let date =
            |time: i64| jiff::Timestamp::from_second(time).map(|time| time.strftime("%Y-%m-%d").to_string()).ok();
        let mut pairs = Pairs::new();
        pairs.put("status", self.status.as_ref());
        pairs.put("site", self.site.as_ref());
        pairs.put("path", self.path.as_ref());
        pairs.put("size", self.size_min);
        pairs.put("size_max", self.size_max);
        pairs.put("from", self.modified_from.and_then(date));
        pairs.put("to", self.modified_to.and_then(date));
        pairs.put("sort", self.largest_first.then_some("size"));
        pairs.finish()
    }
}

/// A document as a list shows it.
#[derive(Clone, Debug)]
pub struct DocumentRow {
    /// Its row in the result.
    pub row: u32,
    /// Its place and age.
    pub place: Place,
    /// Its size.
    pub size_bytes: u64,
    /// Status over all views.
    pub status: String,
    /// The reason why it is not decided that it has a relative elsewhere.
    pub undecided: Option<String>,
    /// The digest of its content.
    pub content: Option<String>,
    /// The cluster that it is in: its view and its id.
    pub cluster: Option<(String, String)>,
    /// The document of another repository that it is best compared with: relation, shared bytes, site, repository, path.
    pub partner: Option<(String, u64, String, String, String)>,
    /// The share of the document that this one has.
    pub partner_share: Option<Ratio>,
}

impl Browse {
    /// A page of the documents that a query asks for.
    ///
    /// # Errors
    /// Fails if there is no such status or site, the pattern is none, or the file cannot be read.
    pub fn documents(&self, query: &DocumentQuery, window: Window) -> Result<Page<DocumentRow>, Error> {
        let condition = self.document_condition(query)?;
        let (ids, total) = match query.largest_first {
            true => self.largest_documents(&condition, window)?,
            false => self.documents_by_place(&condition, window)?,
        };
        let rows = ids.into_iter().map(|id| self.document(id)).collect::<Result<Vec<_>, _>>()?;
        Ok(Page { rows: rows.into_iter().flatten().collect(), total })
    }

    fn documents_by_place(&self, condition: &Condition, window: Window) -> Result<(Vec<u32>, u64), Error> {
        let (mut ids, mut total) = (Vec::new(), 0);
        for range in self.report.document_ranges()? {
            let sql = format!("SELECT count(*) FROM document d WHERE {range} AND {}", condition.sql);
            let count: u64 = self.report.row(&sql, params_from_iter(condition.values.iter()))?;
            let (rows, offset) = (window.rows() - ids.len() as u64, window.offset().saturating_sub(total));
            if rows > 0 && offset < count {
                let sql = format!(
                    "SELECT d.id FROM document d WHERE {range} AND {} ORDER BY d.id LIMIT {rows} OFFSET {offset}",
                    condition.sql
                );
                ids.extend(self.report.rows::<u32>(&sql, params_from_iter(condition.values.iter()))?);
            }
            total += count;
        }
        Ok((ids, total))
    }

    /// `SQLite` sorts all rows before those of a page; here only the page is sorted.
    fn largest_documents(&self, condition: &Condition, window: Window) -> Result<(Vec<u32>, u64), Error> {
        let sql = format!("SELECT d.size_bytes, d.id FROM document d WHERE {}", condition.sql);
        let sizes: Vec<(u64, u32)> = self.report.rows(&sql, params_from_iter(condition.values.iter()))?;
        let mut sizes: Vec<_> = sizes.into_iter().map(|(size_bytes, id)| (Reverse(size_bytes), id)).collect();
        let ids = window_of(&mut sizes, window.offset(), window.rows()).iter().map(|(_, id)| *id).collect();
        Ok((ids, sizes.len() as u64))
    }

    fn document_condition(&self, query: &DocumentQuery) -> Result<Condition, Error> {
        let mut condition = Condition::new();
        condition.and("d.listed", None);
        match query.status.as_deref() {
            None => {}
            Some("excluded") => condition.and("d.status >= 'excluded' AND d.status < 'excludee'", None),
            Some(status) if STATUSES.contains(&status) => condition.is("d.status", Some(&status.to_owned())),
            Some(status) => return Err(Error::Invalid(format!("`status`: there is no `{}`", one_line(status)))),
        }
        if let Some(site) = &query.site {
            if !self.sites.contains(site) {
                return Err(Error::Invalid(format!("`site`: the scan has no site `{}`", one_line(site))));
            }
            condition.and("d.root IN (SELECT id FROM root WHERE site = ?)", Some(Value::Text(site.clone())));
        }
        let number = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        condition.at_least("d.size_bytes", query.size_min.map(number));
        condition.at_most("d.size_bytes", query.size_max.map(number));
        condition.at_least("d.modified", query.modified_from);
        condition.at_most("d.modified", query.modified_to);
        if let Some(path) = query.path.as_deref().filter(|path| !path.trim().is_empty()) {
            self.match_paths(Pattern::new(path)?)?;
            condition.and("path_matches(d.path)", None);
        }
        Ok(condition)
    }

    /// Lets queries say `path_matches(path)` of this pattern, until the next.
    fn match_paths(&self, pattern: Pattern) -> Result<(), Error> {
        let flags = FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
        let connection = self.report.connection();
        let defined = connection.create_scalar_function("path_matches", 1, flags, move |context| {
            Ok(context.get_raw(0).as_blob().is_ok_and(|path| pattern.matches(&lower(path))))
        });
        defined.map_err(|error| self.failed(error))
    }

    /// The numbers of the clusters that have a document with such a path. Documents and contents are each read in their order:
    /// a look-up for each document takes five times as long where most match.
    pub(super) fn clusters_with_path(&self, pattern: Pattern) -> Result<Vec<i64>, Error> {
        self.match_paths(pattern)?;
        let count: Option<usize> = self.report.row("SELECT max(id) + 1 FROM content", ())?;
        let mut matching = vec![false; count.unwrap_or(0)];
        let mut numbers = Vec::new();
        let sql = "SELECT content FROM document d WHERE path_matches(d.path) AND content IS NOT NULL";
        self.report.each_row(sql, (), |content: usize| {
            if let Some(content) = matching.get_mut(content) {
                *content = true;
            }
            Ok::<_, Error>(())
        })?;
        let sql = "SELECT cluster, id FROM content WHERE cluster IS NOT NULL ORDER BY cluster";
        self.report.each_row(sql, (), |(cluster, content): (i64, usize)| {
            if matching.get(content) == Some(&true) && numbers.last() != Some(&cluster) {
                numbers.push(cluster);
            }
            Ok::<_, Error>(())
        })?;
        Ok(numbers)
    }

    fn document(&self, id: u32) -> Result<Option<DocumentRow>, Error> {
        let sql = format!(
            "SELECT {} FROM document d JOIN document t ON t.id = CASE WHEN d.partner_in_other THEN d.other ELSE d.id END
                  LEFT JOIN content c ON c.id = d.content
                  LEFT JOIN cluster k ON k.id = c.cluster LEFT JOIN layer l ON l.number = k.layer
                  LEFT JOIN document o ON o.id = d.other LEFT JOIN content oc ON oc.id = o.content
                  LEFT JOIN cluster ok ON ok.id = oc.cluster LEFT JOIN layer ol ON ol.number = ok.layer
                  LEFT JOIN document p ON p.id = t.partner LEFT JOIN root pr ON pr.id = p.root
             WHERE d.id = ?",
            DocumentColumns::select()
        );
        let Some(row) = self.report.first_row::<DocumentColumns>(&sql, [id])? else { return Ok(None) };
        let (place, (relation, shared_bytes)) = (Place::of(&self.report, row.place)?, row.partner);
        let (site, repository, path) = row.partner_place;
        let path = path.map(|path| path_of(&path).0);
        Ok(Some(DocumentRow {
            row: id,
            place,
            size_bytes: row.size_bytes,
            status: row.status,
            undecided: row.undecided,
            content: row.content.map(|digest| hex(&digest)),
            cluster: row.view.zip(row.cluster),
            partner_share: share_of(shared_bytes, row.payload_bytes),
            partner: (|| Some((relation?, shared_bytes?, site?, repository?, path?)))(),
        }))
    }
}

row! {
    /// A document `d` with its cluster under whichever view, and its partner.
    struct DocumentColumns {
        place: DocumentPlace = DocumentPlace::select(),
        size_bytes: u64 = "d.size_bytes",
        status: String = "d.status",
        undecided: Option<String> = "CASE WHEN d.status = 'undecided' OR d.elsewhere = 'not decided' THEN d.undecided END",
        content: Option<[u8; 16]> = "c.digest",
        cluster: Option<String> = "coalesce(k.name, ok.name)",
        view: Option<String> = "CASE WHEN k.id IS NULL THEN ol.view ELSE l.view END",
        partner: (Option<String>, Option<u64>) = "t.partner_relation, t.partner_shared_bytes",
        partner_place: (Option<String>, Option<String>, Option<Vec<u8>>) = "pr.site, pr.repository, p.path",
        payload_bytes: Option<u64> = "(SELECT a.payload_bytes FROM content a WHERE a.id = t.content)",
    }
}

fn one_line(text: &str) -> String {
    cognate_proto::name::one_line(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_items_of_its_place_in_the_order_of_all() {
        let all: Vec<u32> = (0..257_u32).map(|number| number.wrapping_mul(0x9e37_79b9) >> 26).collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        for (offset, count) in [(0, 50), (50, 50), (200, 57), (250, 50), (257, 1), (999, 9), (0, 1000), (u64::MAX, 3)] {
            let first = usize::try_from(offset).unwrap().min(sorted.len());
            let end = first.saturating_add(usize::try_from(count).unwrap()).min(sorted.len());
            assert_eq!(window_of(&mut all.clone(), offset, count), &sorted[first..end], "{offset} {count}");
        }
        assert!(window_of::<u32>(&mut [], 0, 50).is_empty());
    }

    #[test]
    fn a_pattern_is_a_part_of_a_path_or_all_of_it_with_wild_cards() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let found = Pattern::new(pattern).unwrap().matches(&lower(path.as_bytes()));
            assert_eq!(found, expected, "{pattern} {path}");
        };
        check("Report", "a/REPORT final.docx", true);
        check("report", "a/repo.docx", false);
        check("*.docx", "a/b/Report.DOCX", true);
        check("*.docx", "a/b/report.docx.bak", false);
        check("a/*/x?.txt", "a/b/c/x1.txt", true);
        check("ÄRGER", "a/Ärger.txt", true);
        check("{a,b}.txt", "b.txt", true);
        assert!(Pattern::new("[").is_err());
    }
}
