//! Lists of documents. The documents of a result stand in blocks of records that are gone through whole: a million take some
//! ten milliseconds, whatever the filter. Only those that a page shows are looked up in the result.
//!
//! A record: row, cluster, cluster of the same document under the other view (u32 each), repository (u16), status (u8), a zero,
//! size (u64), modified (i64), length of the path (u32), all little-endian, and the path in lower case.

use std::cmp::Reverse;

use memchr::memmem::Finder;
use rusqlite::{Connection, Statement, params};

use super::filter::{begins, day, size};
use super::query::Pairs;
use super::{Browse, Page, Window};
use crate::error::Error;
use crate::report::{hex, path_of, time};

const HEAD_BYTES: usize = 36;
const BLOCK_RECORDS: u32 = 1024;
const NONE: u32 = u32::MAX;
/// Those that exclude come last.
const STATUSES: [&str; 11] = [
    "identical",
    "near",
    "contains",
    "contained",
    "shares",
    "unique",
    "excluded(empty)",
    "excluded(template)",
    "excluded(no text)",
    "excluded(container)",
    "excluded(too short)",
];
const FIRST_EXCLUDED: u8 = 6;

/// What stands from `offset` on in the order of all, as much as `count`: only that is put in order, so that a page far
/// back costs no more than the first.
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

/// Writes the blocks.
pub(super) struct BlockWriter<'a> {
    insert: Statement<'a>,
    block: Vec<u8>,
    first: u32,
    records: u32,
    /// Where the record begins that was pushed last.
    last: usize,
}

impl<'a> BlockWriter<'a> {
    pub(super) fn new(out: &'a Connection) -> rusqlite::Result<BlockWriter<'a>> {
        let insert = out.prepare("INSERT INTO block VALUES (?,?)")?;
        Ok(BlockWriter { insert, block: Vec::new(), first: 0, records: 0, last: 0 })
    }

    #[expect(clippy::too_many_arguments, reason = "a record has these fields")]
    pub(super) fn push(
        &mut self,
        id: u32,
        root: u16,
        path: &[u8],
        size_bytes: u64,
        modified: i64,
        status: &str,
        cluster: u32,
    ) -> rusqlite::Result<()> {
        // Flushed before the next begins: the other view's row of the last one has been seen by then.
        if self.records == BLOCK_RECORDS {
            self.flush()?;
        }
        if self.records == 0 {
            self.first = id;
        }
        let status = STATUSES
            .iter()
            .position(|known| *known == status)
            .and_then(|place| u8::try_from(place).ok())
            .unwrap_or(u8::MAX);
        let path = lower(path);
        let length = u32::try_from(path.len()).unwrap_or(0);
        self.last = self.block.len();
        self.block.extend_from_slice(&id.to_le_bytes());
        self.block.extend_from_slice(&cluster.to_le_bytes());
        self.block.extend_from_slice(&NONE.to_le_bytes());
        self.block.extend_from_slice(&root.to_le_bytes());
        self.block.extend_from_slice(&[status, 0]);
        self.block.extend_from_slice(&size_bytes.to_le_bytes());
        self.block.extend_from_slice(&modified.to_le_bytes());
        self.block.extend_from_slice(&length.to_le_bytes());
        self.block.extend_from_slice(&path[..length as usize]);
        self.records += 1;
        Ok(())
    }

    /// The cluster of the document pushed last under the other view.
    pub(super) fn second(&mut self, cluster: u32) {
        if let Some(place) = self.block.get_mut(self.last + 8..self.last + 12) {
            place.copy_from_slice(&cluster.to_le_bytes());
        }
    }

    fn flush(&mut self) -> rusqlite::Result<()> {
        if self.records > 0 {
            self.insert.execute(params![self.first, self.block])?;
        }
        self.block.clear();
        (self.records, self.last) = (0, 0);
        Ok(())
    }

    pub(super) fn finish(mut self) -> rusqlite::Result<()> {
        self.flush()
    }
}

/// A text as it is looked for: letters in lower case.
fn lower(path: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(path) {
        Ok(text) if !text.is_ascii() => text.to_lowercase().into_bytes(),
        _ => path.to_ascii_lowercase(),
    }
}

/// A record as it is read.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) id: u32,
    pub(super) clusters: [u32; 2],
    root: u16,
    status: u8,
    size_bytes: u64,
    modified: i64,
    path: &'a [u8],
}

impl<'a> Record<'a> {
    /// The first record of these bytes, and what follows it; nothing where they are no records.
    fn read(bytes: &'a [u8]) -> Option<(Record<'a>, &'a [u8])> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let four = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        let (path, rest) = rest.split_at_checked(four(32) as usize)?;
        let record = Record {
            id: four(0),
            clusters: [four(4), four(8)],
            root: u16::from_le_bytes([head[12], head[13]]),
            status: head[14],
            size_bytes: eight(16),
            modified: eight(24).cast_signed(),
            path,
        };
        Some((record, rest))
    }
}

/// What a path must be like: a part of it, or all of it where there are wild cards.
pub(super) struct Pattern {
    literal: Finder<'static>,
    glob: Option<globset::GlobMatcher>,
}

impl Pattern {
    /// # Errors
    /// When it is no pattern.
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

/// Which documents are listed, and in which order.
#[derive(Clone, Default, Debug)]
pub struct DocumentQuery {
    /// `identical`, `near`, `contains`, `contained`, `shares`, `unique`, `excluded`.
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
    /// When a value makes no sense.
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

    /// The query as it stands in an address.
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
#[derive(Clone, Debug, serde::Serialize)]
pub struct DocumentRow {
    /// Its row in the result.
    pub row: u32,
    /// Its site.
    pub site: String,
    /// Its repository.
    pub repository: String,
    /// Its path.
    pub path: String,
    /// Whether the path is percent-escaped.
    pub path_escaped: bool,
    /// Its size.
    pub size_bytes: u64,
    /// When it was last modified.
    pub modified: String,
    /// What became of it, over all views.
    pub status: String,
    /// The digest of its content.
    pub content: Option<String>,
    /// The cluster that it is in: its view and its id.
    pub cluster: Option<(String, String)>,
    /// The document of another repository that it is best compared with: relation, shared bytes, site, repository, path.
    pub partner: Option<(String, u64, String, String, String)>,
}

/// Which records are wanted.
struct Wanted {
    statuses: Option<std::ops::RangeInclusive<u8>>,
    roots: Option<Vec<bool>>,
    pattern: Option<Pattern>,
    sizes: std::ops::RangeInclusive<u64>,
    times: std::ops::RangeInclusive<i64>,
}

impl Wanted {
    fn admits(&self, record: &Record<'_>) -> bool {
        self.statuses.as_ref().is_none_or(|statuses| statuses.contains(&record.status))
            && self.roots.as_ref().is_none_or(|roots| roots.get(usize::from(record.root)).copied().unwrap_or(false))
            && self.sizes.contains(&record.size_bytes)
            && self.times.contains(&record.modified)
            && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(record.path))
    }
}

impl Browse {
    /// A page of the documents that are asked for.
    ///
    /// # Errors
    /// When there is no such status or site, the pattern is none, or the file cannot be read.
    pub fn documents(&self, query: &DocumentQuery, window: Window) -> Result<Page<DocumentRow>, Error> {
        let wanted = self.wanted(query)?;
        let (offset, count) = (window.offset(), window.rows());
        let mut total: u64 = 0;
        let mut ids: Vec<u32> = Vec::new();
        if query.largest_first {
            let mut sizes: Vec<(Reverse<u64>, u32)> = Vec::new();
            self.records(|record| {
                if wanted.admits(record) {
                    sizes.push((Reverse(record.size_bytes), record.id));
                }
            })?;
            total = sizes.len() as u64;
            ids.extend(window_of(&mut sizes, offset, count).iter().map(|(_, id)| *id));
        } else {
            self.records(|record| {
                if wanted.admits(record) {
                    if total >= offset && total - offset < count {
                        ids.push(record.id);
                    }
                    total += 1;
                }
            })?;
        }
        let rows = ids.into_iter().map(|id| self.document(id)).collect::<Result<Vec<_>, _>>()?;
        Ok(Page { rows: rows.into_iter().flatten().collect(), total })
    }

    fn wanted(&self, query: &DocumentQuery) -> Result<Wanted, Error> {
        let statuses = match query.status.as_deref() {
            None => None,
            Some("excluded") => Some(FIRST_EXCLUDED..=u8::MAX),
            Some(status) => {
                let place = STATUSES.iter().position(|known| *known == status);
                let place =
                    place.ok_or_else(|| Error::Invalid(format!("`status`: there is no `{}`", one_line(status))))?;
                let place = u8::try_from(place).unwrap_or(u8::MAX);
                Some(place..=place)
            }
        };
        let roots = match &query.site {
            None => None,
            Some(site) if !self.sites.contains(site) => {
                return Err(Error::Invalid(format!("`site`: the scan has no site `{}`", one_line(site))));
            }
            Some(site) => {
                Some(self.collect("SELECT site = ? FROM root ORDER BY id", [site], |row| row.get::<_, bool>(0))?)
            }
        };
        let pattern = query.path.as_deref().filter(|path| !path.trim().is_empty()).map(Pattern::new).transpose()?;
        Ok(Wanted {
            statuses,
            roots,
            pattern,
            sizes: query.size_min.unwrap_or(0)..=query.size_max.unwrap_or(u64::MAX),
            times: query.modified_from.unwrap_or(i64::MIN)..=query.modified_to.unwrap_or(i64::MAX),
        })
    }

    /// Hands over every listed document's record, in the order of the rows.
    pub(super) fn records(&self, mut each: impl FnMut(&Record<'_>)) -> Result<(), Error> {
        let mut go = || -> rusqlite::Result<()> {
            let mut statement =
                self.report.connection().prepare_cached("SELECT records FROM side.block ORDER BY first")?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let mut rest = row.get_ref(0)?.as_blob()?;
                while let Some((record, after)) = Record::read(rest) {
                    each(&record);
                    rest = after;
                }
            }
            Ok(())
        };
        go().map_err(|error| self.failed(error))
    }

    /// The clusters, by number, that have a document with such a path.
    pub(super) fn clusters_with_path(&self, pattern: &Pattern) -> Result<Vec<bool>, Error> {
        let count: Option<usize> = self.one("SELECT count(*) FROM side.cluster", [], |row| row.get(0))?;
        let mut found = vec![false; count.unwrap_or(0)];
        self.records(|record| {
            let is_new = |cluster: &&u32| found.get(**cluster as usize) == Some(&false);
            // Most documents are in none, or in one that is found already.
            if record.clusters.iter().find(is_new).is_some() && pattern.matches(record.path) {
                for cluster in record.clusters {
                    if let Some(found) = found.get_mut(cluster as usize) {
                        *found = true;
                    }
                }
            }
        })?;
        Ok(found)
    }

    fn document(&self, id: u32) -> Result<Option<DocumentRow>, Error> {
        let sql = "
          SELECT r.site, r.repository, d.path, d.size_bytes, d.modified, d.status, c.digest,
                 coalesce(k.name, ok.name), CASE WHEN k.id IS NULL THEN ol.view ELSE l.view END,
                 t.partner_relation, t.partner_shared_bytes, pr.site, pr.repository, p.path
          FROM document d JOIN root r ON r.id = d.root
               JOIN document t ON t.id = CASE WHEN d.tells_other THEN d.other ELSE d.id END
               LEFT JOIN content c ON c.id = d.content
               LEFT JOIN cluster k ON k.id = c.cluster LEFT JOIN layer l ON l.number = k.layer
               LEFT JOIN document o ON o.id = d.other LEFT JOIN content oc ON oc.id = o.content
               LEFT JOIN cluster ok ON ok.id = oc.cluster LEFT JOIN layer ol ON ol.number = ok.layer
               LEFT JOIN document p ON p.id = t.partner LEFT JOIN root pr ON pr.id = p.root
          WHERE d.id = ?";
        self.one(sql, [id], |row| {
            let (path, escaped) = path_of(row.get_ref(2)?.as_blob()?);
            let partner = match row.get_ref(13)?.as_blob_or_null()? {
                None => None,
                Some(bytes) => {
                    let path = path_of(bytes).0;
                    Some((row.get(9)?, row.get(10)?, row.get(11)?, row.get(12)?, path))
                }
            };
            let cluster: Option<String> = row.get(7)?;
            Ok(DocumentRow {
                row: id,
                site: row.get(0)?,
                repository: row.get(1)?,
                path,
                path_escaped: escaped.is_some(),
                size_bytes: row.get(3)?,
                modified: time(row.get(4)?),
                status: row.get(5)?,
                content: row.get_ref(6)?.as_blob_or_null()?.map(hex),
                cluster: match cluster {
                    None => None,
                    Some(name) => Some((row.get(8)?, name)),
                },
                partner,
            })
        })
    }
}

fn one_line(text: &str) -> String {
    cognate_proto::name::one_line(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_what_stands_there_in_the_order_of_all() {
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
