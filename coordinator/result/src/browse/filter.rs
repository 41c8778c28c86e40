//! Filter and order of a list of clusters. A filter is written as a query, and reads its own output.

use std::fmt;
use std::str::FromStr;

use cognate_proto::name::{ScanId, one_line};

use super::query::{Pairs, pairs};
use crate::error::Error;
use crate::report::VerdictWanted;

const SITES_MAX: usize = 16;
const PATH_BYTES_MAX: usize = 1024;

/// Filter of a list of clusters. A field that is `None` or empty excludes nothing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClusterFilter {
    /// With documents at each of these sites.
    pub sites: Vec<String>,
    /// With documents at several parties, or at several sites where there is one party.
    pub across: bool,
    /// `pair`, `archive` or `group`.
    pub relation: Option<String>,
    /// `raw` or `text`.
    pub view: Option<String>,
    /// True: those that rest on a frame; false: the others.
    pub frame: Option<bool>,
    /// The least resemblance over the links, from and to, in ten-thousandths.
    pub least: (Option<i64>, Option<i64>),
    /// The mean resemblance over the links.
    pub mean: (Option<i64>, Option<i64>),
    /// A link in which one content is in the other to this share.
    pub containment: Option<i64>,
    /// Bytes of the contents, from and to.
    pub size: (Option<u64>, Option<u64>),
    /// Contents, from and to.
    pub members: (Option<u64>, Option<u64>),
    /// A document with this in its path, or whose path is like this where it has wild cards.
    pub path: Option<String>,
    /// A document that was modified then or later; a day.
    pub from: Option<jiff::civil::Date>,
    /// A document that was modified then or before.
    pub to: Option<jiff::civil::Date>,
    /// The verdict.
    pub verdict: Option<VerdictWanted>,
    /// With each of these tags; `none`: without any.
    pub tags: Vec<String>,
    /// For this person; `none`: for nobody.
    pub assignee: Option<String>,
    /// Changes since this scan.
    pub since: Option<ScanId>,
    /// In which way.
    pub change: Change,
}

/// Change of a cluster since an earlier scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Change {
    /// It is new, or has other members.
    #[default]
    Either,
    /// There was none with its id.
    New,
    /// It has other members.
    Changed,
}

/// By which column clusters are sorted, and which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sort {
    /// The column's place in [`COLUMNS`].
    column: usize,
    descending: bool,
}

/// The view of a cluster `k`.
pub(super) const VIEW: &str = "(SELECT l.view FROM layer l WHERE l.number = k.layer)";

/// The columns: name, expression, and if the greatest come first by default.
const COLUMNS: [(&str, &str, bool); 18] = [
    ("joined", "k.joined_bytes", true),
    ("size", "k.total_bytes", true),
    ("members", "k.members", true),
    ("documents", "k.documents", true),
    ("sites", "k.site_count", true),
    ("least", "coalesce(k.min_resemblance, -1)", true),
    ("mean", "coalesce(k.mean_resemblance, -1)", true),
    ("most", "coalesce(k.max_resemblance, -1)", true),
    ("containment", "coalesce(k.max_containment, -1)", true),
    ("shared", "k.shared_bytes", true),
    ("redundant", "k.redundant_bytes", true),
    ("links", "k.links", true),
    ("first", "k.first_modified", true),
    ("last", "k.last_modified", true),
    ("path", "k.path", false),
    ("relation", "k.relation", false),
    ("view", VIEW, false),
    ("id", "k.name", false),
];

impl Default for Sort {
    fn default() -> Sort {
        Sort { column: 0, descending: true }
    }
}

impl Sort {
    /// The names of the columns.
    pub fn columns() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().map(|(name, ..)| *name)
    }

    /// By this column, the way that one wants to see first.
    pub fn by(name: &str) -> Option<Sort> {
        let column = COLUMNS.iter().position(|(known, ..)| *known == name)?;
        Some(Sort { column, descending: COLUMNS[column].2 })
    }

    /// The column's name.
    pub fn name(self) -> &'static str {
        COLUMNS[self.column].0
    }

    /// True if the greatest come first.
    pub fn is_descending(self) -> bool {
        self.descending
    }

    /// The other way round.
    #[must_use]
    pub fn reversed(self) -> Sort {
        Sort { descending: !self.descending, ..self }
    }

    pub(super) fn expression(self) -> &'static str {
        COLUMNS[self.column].1
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = COLUMNS[self.column].2 == self.descending;
        write!(f, "{}{}", if usual { "" } else { "-" }, self.name())
    }
}

impl FromStr for Sort {
    type Err = Error;

    /// A column, with a `-` before it the other way round.
    fn from_str(text: &str) -> Result<Sort, Error> {
        let (name, reversed) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
        let sort = Sort::by(name).ok_or_else(|| {
            let known: Vec<_> = Sort::columns().collect();
            Error::Invalid(format!("`sort`: there is no column `{}`; there are {}", one_line(text), known.join(", ")))
        })?;
        Ok(if reversed { sort.reversed() } else { sort })
    }
}

impl FromStr for ClusterFilter {
    type Err = Error;

    /// Reads a query. Names that are no filter (the page, the order) are left to others.
    fn from_str(query: &str) -> Result<ClusterFilter, Error> {
        let mut filter = ClusterFilter::default();
        for (name, value) in pairs(query) {
            if !value.is_empty() {
                filter.take(&name, value).map_err(|why| Error::Invalid(format!("`{}`: {why}", one_line(&name))))?;
            }
        }
        filter.sites.sort();
        filter.sites.dedup();
        filter.tags.sort();
        filter.tags.dedup();
        Ok(filter)
    }
}

impl ClusterFilter {
    fn take(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "site" if self.sites.len() < SITES_MAX => self.sites.push(value),
            "site" => return Err(format!("at most {SITES_MAX} sites")),
            "across" => self.across = value != "0",
            "relation" => self.relation = Some(known(&value, &["pair", "archive", "group"])?),
            "view" => self.view = Some(known(&value, &["raw", "text"])?),
            "frame" => self.frame = Some(known(&value, &["yes", "no"])? == "yes"),
            "least" => self.least.0 = Some(share(&value)?),
            "least_max" => self.least.1 = Some(share(&value)?),
            "mean" => self.mean.0 = Some(share(&value)?),
            "mean_max" => self.mean.1 = Some(share(&value)?),
            "contains" => self.containment = Some(share(&value)?),
            "size" => self.size.0 = Some(size(&value)?),
            "size_max" => self.size.1 = Some(size(&value)?),
            "members" => self.members.0 = Some(number(&value)?),
            "members_max" => self.members.1 = Some(number(&value)?),
            "path" if value.len() > PATH_BYTES_MAX => return Err("it is too long".to_owned()),
            "path" => self.path = Some(value),
            "from" => self.from = Some(day(&value)?),
            "to" => self.to = Some(day(&value)?),
            "verdict" => self.verdict = Some(value.parse()?),
            "tag" if self.tags.len() < SITES_MAX => self.tags.push(value),
            "tag" => return Err(format!("at most {SITES_MAX} tags")),
            "assignee" => self.assignee = Some(value),
            "since" => self.since = Some(scan(&value)?),
            "change" => {
                self.change = match known(&value, &["either", "new", "changed"])?.as_str() {
                    "new" => Change::New,
                    "changed" => Change::Changed,
                    _ => Change::Either,
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// True if it excludes nothing.
    pub fn is_empty(&self) -> bool {
        *self == ClusterFilter::default()
    }

    /// The filter as a query, the same for the same filter.
    pub fn to_query(&self) -> String {
        let mut pairs = Pairs::new();
        self.sites.iter().for_each(|site| pairs.put("site", Some(site)));
        pairs.put("across", self.across.then_some(1));
        pairs.put("relation", self.relation.as_ref());
        pairs.put("view", self.view.as_ref());
        pairs.put("frame", self.frame.map(|rests| if rests { "yes" } else { "no" }));
        pairs.put("least", self.least.0.map(percent));
        pairs.put("least_max", self.least.1.map(percent));
        pairs.put("mean", self.mean.0.map(percent));
        pairs.put("mean_max", self.mean.1.map(percent));
        pairs.put("contains", self.containment.map(percent));
        pairs.put("size", self.size.0);
        pairs.put("size_max", self.size.1);
        pairs.put("members", self.members.0);
        pairs.put("members_max", self.members.1);
        pairs.put("path", self.path.as_ref());
        pairs.put("from", self.from);
        pairs.put("to", self.to);
        pairs.put("verdict", self.verdict);
        self.tags.iter().for_each(|tag| pairs.put("tag", Some(tag)));
        pairs.put("assignee", self.assignee.as_ref());
        pairs.put("since", self.since);
        let change = match self.change {
            Change::Either => None,
            Change::New => Some("new"),
            Change::Changed => Some("changed"),
        };
        pairs.put("change", change);
        pairs.finish()
    }
}

fn known(value: &str, words: &[&str]) -> Result<String, String> {
    match words.contains(&value) {
        true => Ok(value.to_owned()),
        false => Err(format!("one of {}", words.join(", "))),
    }
}

/// A share in percent, in ten-thousandths.
fn share(value: &str) -> Result<i64, String> {
    let percent: f64 = value.trim_end_matches('%').trim().parse().map_err(|_| "a number from 0 to 100".to_owned())?;
    match (0.0..=100.0).contains(&percent) {
        #[expect(clippy::cast_possible_truncation, reason = "it is between 0 and 10,000")]
        true => Ok((percent * 100.0).round() as i64),
        false => Err("a number from 0 to 100".to_owned()),
    }
}

/// Ten-thousandths as percent.
fn percent(share: i64) -> String {
    match (share / 100, share % 100) {
        (whole, 0) => whole.to_string(),
        (whole, rest) if rest % 10 == 0 => format!("{whole}.{}", rest / 10),
        (whole, rest) => format!("{whole}.{rest:02}"),
    }
}

/// Bytes, with a unit if wished: `500`, `4KB`, `64MiB`.
pub(super) fn size(value: &str) -> Result<u64, String> {
    let value = value.replace([' ', ',', '_'], "");
    let digits = value.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (number, unit) = value.split_at(digits);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        _ => return Err("a size such as 500, 4KB or 64MiB".to_owned()),
    };
    let wrong = || "a size such as 500, 4KB or 64MiB".to_owned();
    match number.parse::<u64>() {
        Ok(number) => number.checked_mul(factor).ok_or_else(wrong),
        Err(_) => {
            let number: f64 = number.parse().map_err(|_| wrong())?;
            #[expect(clippy::cast_precision_loss, reason = "a unit is a small power")]
            let bytes = number * factor as f64;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
            match (0.0..1e18).contains(&bytes) {
                true => Ok(bytes.round() as u64),
                false => Err(wrong()),
            }
        }
    }
}

fn number(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| "a number".to_owned())
}

pub(super) fn day(value: &str) -> Result<jiff::civil::Date, String> {
    value.parse().map_err(|_| "a day such as 2026-01-31".to_owned())
}

/// Start of a day, in seconds since 1970.
pub(super) fn begins(day: jiff::civil::Date) -> i64 {
    day.to_zoned(jiff::tz::TimeZone::UTC).map_or(i64::MAX, |begins| begins.timestamp().as_second())
}

fn scan(value: &str) -> Result<ScanId, String> {
    let digits = value.len() == 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = if digits { u64::from_str_radix(value, 16).ok() } else { None };
    id.map(ScanId).ok_or_else(|| "the id of a scan: 16 hexadecimal digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_reads_what_it_wrote() {
        let check = |query: &str, expected: &str| {
            let filter: ClusterFilter = query.parse().unwrap();
            assert_eq!(filter.to_query(), expected, "{query}");
            assert_eq!(filter.to_query().parse::<ClusterFilter>().unwrap(), filter);
        };
        check("", "");
        check("?page=3&sort=-size&path=", "");
        check("site=b&site=a&site=b&across=1", "site=a&site=b&across=1");
        check("least=80&frame=no", "frame=no&least=80");
        check("least=80&least_max=95.5&mean=0.25%25", "least=80&least_max=95.5&mean=0.25");
        check("size=4KB&size_max=1.5MiB&members=2&members_max=9", "size=4000&size_max=1572864&members=2&members_max=9");
        check("path=a+b%2F%2A.txt&from=2026-01-31&verdict=open", "path=a+b%2F*.txt&from=2026-01-31&verdict=open");
        check("assignee=anna&tag=hot&tag=a+b&tag=hot", "tag=a+b&tag=hot&assignee=anna");
        check(
            "verdict=not-a-duplicate&since=00000000000000ff&change=new",
            "verdict=not-a-duplicate&since=00000000000000ff&change=new",
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for query in [
            "least=101",
            "least=x",
            "size=4XB",
            "relation=web",
            "from=31.1.2026",
            "verdict=maybe",
            "since=12",
            "frame=1",
            "change=no",
        ] {
            let error = query.parse::<ClusterFilter>().unwrap_err().to_string();
            let name = query.split('=').next().unwrap();
            assert!(error.starts_with(&format!("`{name}`: ")), "{error}");
        }
        assert!("colour".parse::<Sort>().is_err());
        assert_eq!("-size".parse::<Sort>().unwrap().to_string(), "-size");
        assert!(!"-size".parse::<Sort>().unwrap().is_descending());
        assert_eq!("path".parse::<Sort>().unwrap().to_string(), "path");
    }
}
