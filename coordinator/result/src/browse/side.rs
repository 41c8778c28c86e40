//! The file beside a result that holds what pages sort and filter by. It is made in one pass over the result, in memory
//! that grows with contents and clusters alone.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cognate_durable::whole::Draft;
use rusqlite::{Connection, params};

use super::cluster::root;
use super::documents::BlockWriter;
use crate::error::Error;
use crate::report::Report;

const FORMAT: &str = "cognate.browse/1";
const SCHEMA: &str = include_str!("side.sql");
const INDEXES: &str = include_str!("side_indexes.sql");
/// Not in a cluster, not in a set.
const NONE: u32 = u32::MAX;

/// One at a time: two who open the same result wait for the same file.
static MAKING: Mutex<()> = Mutex::new(());

/// Sees to it that the file is there and of this result, and says where.
pub(super) fn ensure(report: &Report) -> Result<PathBuf, Error> {
    let path = report.path().with_file_name("browse.sqlite");
    let about = About::of(report)?;
    let _one_at_a_time = MAKING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if about.is_that_of(&path) {
        return Ok(path);
    }
    let draft = Draft::begin(&path).map_err(Error::state(&path))?;
    make(report, &about, draft.temporary()).map_err(|source| Error::Result { path: path.clone(), source })?;
    // After a loss of power too, only a complete file has the name.
    draft.sync().map_err(Error::state(&path))?;
    cognate_storage::failpoint!("browse.before_rename");
    draft.publish().map_err(Error::state(&path))?;
    Ok(path)
}

/// Of which result a file is.
struct About {
    scan: String,
    result_bytes: i64,
}

impl About {
    fn of(report: &Report) -> Result<About, Error> {
        let scan = report.connection().query_row("SELECT id FROM scan", [], |row| row.get(0));
        let length = std::fs::metadata(report.path()).map_err(Error::state(report.path()))?.len();
        Ok(About {
            scan: scan.map_err(|error| report.failed(error))?,
            result_bytes: i64::try_from(length).unwrap_or(i64::MAX),
        })
    }

    fn is_that_of(&self, path: &Path) -> bool {
        let found = || {
            let connection = Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            connection.query_row("SELECT format, scan, result_bytes FROM about", [], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
            })
        };
        found().is_ok_and(|(format, scan, bytes)| format == FORMAT && scan == self.scan && bytes == self.result_bytes)
    }
}

fn make(report: &Report, about: &About, path: &Path) -> rusqlite::Result<()> {
    let out = Connection::open(path)?;
    out.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA cache_size = -8000;",
    )?;
    out.execute_batch(SCHEMA)?;
    out.execute_batch("BEGIN")?;
    out.execute("INSERT INTO about VALUES (?,?,?)", params![FORMAT, about.scan, about.result_bytes])?;
    let from = report.connection();
    let places = Places::read(from)?;
    for (number, name) in places.sites.iter().enumerate() {
        out.execute("INSERT INTO site VALUES (?,?)", params![number, name])?;
    }
    let contents = Contents::read(from)?;
    let mut gathered = Gathered::new(&contents, from)?;
    gathered.documents(from, &out, &places, &contents)?;
    write_clusters(from, &out, &places, &gathered.clusters)?;
    write_sets(from, &out, &places, &gathered)?;
    let mut insert = out.prepare("INSERT INTO member VALUES (?,?)")?;
    let mut members = from.prepare("SELECT digest, cluster FROM content WHERE cluster IS NOT NULL")?;
    let mut rows = members.query([])?;
    while let Some(row) = rows.next()? {
        insert.execute(params![row.get_ref(0)?.as_blob()?, row.get::<_, i64>(1)?])?;
    }
    out.execute_batch("COMMIT")?;
    out.execute_batch(INDEXES)
}

/// Which site and party each repository is of.
struct Places {
    sites: Vec<String>,
    site_of: Vec<u16>,
    party_of: Vec<u16>,
    names: Vec<(String, String)>,
    /// Whether there are several parties: then what crosses is what several of them have.
    by_party: bool,
}

impl Places {
    fn read(from: &Connection) -> rusqlite::Result<Places> {
        let mut places = Places { sites: vec![], site_of: vec![], party_of: vec![], names: vec![], by_party: false };
        let mut parties: Vec<String> = Vec::new();
        let mut statement = from.prepare("SELECT site, repository, party FROM root ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (site, repository, party): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            places.site_of.push(number_of(&mut places.sites, &site));
            places.party_of.push(number_of(&mut parties, &party));
            places.names.push((site, repository));
        }
        places.by_party = parties.len() > 1;
        Ok(places)
    }

    fn crosses(&self, roots: &[u16]) -> bool {
        let of = if self.by_party { &self.party_of } else { &self.site_of };
        let mut labels = roots.iter().map(|root| of[usize::from(*root)]);
        let first = labels.next();
        labels.any(|label| Some(label) != first)
    }

    /// The sites of these repositories, as a text that can be searched, and how many they are.
    fn sites(&self, roots: &[u16]) -> (String, i64) {
        let mut sites: Vec<u16> = roots.iter().map(|root| self.site_of[usize::from(*root)]).collect();
        sites.sort_unstable();
        sites.dedup();
        let mut text = String::from(",");
        sites.iter().for_each(|site| {
            text.push_str(&site.to_string());
            text.push(',');
        });
        (text, i64::try_from(sites.len()).unwrap_or(i64::MAX))
    }
}

fn number_of(names: &mut Vec<String>, name: &str) -> u16 {
    let place = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    u16::try_from(place).unwrap_or(u16::MAX)
}

/// What is kept of every content while the file is made.
struct Contents {
    cluster: Vec<u32>,
    set: Vec<u32>,
}

impl Contents {
    fn read(from: &Connection) -> rusqlite::Result<Contents> {
        let mut contents = Contents { cluster: vec![], set: vec![] };
        let mut statement = from.prepare("SELECT cluster, identical FROM content ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            contents.cluster.push(row.get::<_, Option<u32>>(0)?.unwrap_or(NONE));
            contents.set.push(row.get::<_, Option<u32>>(1)?.unwrap_or(NONE));
        }
        Ok(contents)
    }
}

/// What the documents of a cluster or set come to.
#[derive(Clone, Default)]
struct Group {
    documents: u64,
    document_bytes: u64,
    first: i64,
    last: i64,
    /// The repositories, ascending.
    roots: Vec<u16>,
    /// The content of whose first document the place is told.
    representative: Option<u32>,
    place: Option<(u16, Vec<u8>)>,
    size_bytes: u64,
    /// The sum of hashes of the places of all documents.
    digest: u128,
}

impl Group {
    fn add(&mut self, root: u16, path: &[u8], content: u32, size_bytes: u64, modified: i64) {
        if self.documents == 0 {
            (self.first, self.last) = (modified, modified);
        }
        self.first = self.first.min(modified);
        self.last = self.last.max(modified);
        self.documents += 1;
        self.document_bytes = self.document_bytes.saturating_add(size_bytes);
        if let Err(place) = self.roots.binary_search(&root) {
            self.roots.insert(place, root);
        }
        if self.place.is_none() && self.representative.is_none_or(|known| known == content) {
            self.place = Some((root, path.to_owned()));
            self.size_bytes = size_bytes;
        }
    }
}

struct Gathered {
    clusters: Vec<Group>,
    sets: Vec<Group>,
    messages: Vec<Group>,
}

impl Gathered {
    fn new(contents: &Contents, from: &Connection) -> rusqlite::Result<Gathered> {
        let mut clusters = Vec::new();
        let mut statement = from.prepare("SELECT representative FROM cluster ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            clusters.push(Group { representative: Some(row.get(0)?), ..Group::default() });
        }
        let sets = contents.set.iter().filter(|set| **set != NONE).max().map_or(0, |last| *last as usize + 1);
        let messages: usize = from.query_row("SELECT count(*) FROM message", [], |row| row.get(0))?;
        Ok(Gathered { clusters, sets: vec![Group::default(); sets], messages: vec![Group::default(); messages] })
    }

    /// Goes through all documents once.
    fn documents(
        &mut self,
        from: &Connection,
        out: &Connection,
        places: &Places,
        contents: &Contents,
    ) -> rusqlite::Result<()> {
        let mut blocks = BlockWriter::new(out)?;
        let mut statement = from.prepare(
            "SELECT id, root, path, content, size_bytes, modified, status, listed, message FROM document ORDER BY id",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, root): (u32, u16) = (row.get(0)?, row.get(1)?);
            let path = row.get_ref(2)?.as_blob()?;
            let content: Option<u32> = row.get(3)?;
            let (size_bytes, modified): (u64, i64) = (row.get(4)?, row.get(5)?);
            let mut cluster = NONE;
            if let Some(content) = content {
                let place = content as usize;
                cluster = contents.cluster[place];
                if let Some(group) = self.clusters.get_mut(cluster as usize) {
                    group.add(root, path, content, size_bytes, modified);
                }
                if let Some(group) = self.sets.get_mut(contents.set[place] as usize) {
                    group.add(root, path, content, size_bytes, modified);
                    group.digest = group.digest.wrapping_add(place_hash(&places.names[usize::from(root)], path));
                }
            }
            if let Some(message) = row.get::<_, Option<usize>>(8)?
                && let Some(group) = self.messages.get_mut(message)
            {
                group.add(root, path, 0, size_bytes, modified);
                group.digest = group.digest.wrapping_add(place_hash(&places.names[usize::from(root)], path));
            }
            if row.get::<_, bool>(7)? {
                blocks.push(id, root, path, size_bytes, modified, row.get_ref(6)?.as_str()?, cluster)?;
            } else {
                blocks.second(cluster);
            }
        }
        blocks.finish()
    }
}

/// A hash of where a document is; sums of them do not depend on an order.
fn place_hash((site, repository): &(String, String), path: &[u8]) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for part in [site.as_bytes(), repository.as_bytes(), path] {
        hasher.update(part).update(&[0]);
    }
    let hash = hasher.finalize();
    u128::from_be_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
}

/// What the links of a cluster come to.
#[derive(Default)]
struct Strength {
    max_resemblance: Option<i64>,
    max_containment: Option<i64>,
    shared_bytes: u64,
    /// What each member shares with the one it is joined to best.
    joined_bytes: u64,
}

fn write_clusters(from: &Connection, out: &Connection, places: &Places, groups: &[Group]) -> rusqlite::Result<()> {
    let mut insert = out.prepare("INSERT INTO cluster VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
    let mut statement = from.prepare(
        "SELECT k.id, k.name, k.members_digest, l.view, k.relation, k.total_bytes, k.members, k.links,
                k.min_resemblance, k.mean_resemblance
         FROM cluster k JOIN layer l ON l.number = k.layer ORDER BY k.id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id: usize = row.get(0)?;
        let group = &groups[id];
        let total_bytes: u64 = row.get(5)?;
        let strength = strength(from, id)?;
        let (sites, site_count) = places.sites(&group.roots);
        let (root, path) = group.place.as_ref().map_or((0, &[][..]), |(root, path)| (*root, path.as_slice()));
        let copies_bytes = group.document_bytes.saturating_sub(total_bytes);
        insert.execute(params![
            id,
            row.get_ref(1)?.as_str()?,
            row.get_ref(2)?.as_str()?,
            row.get_ref(3)?.as_str()?,
            row.get_ref(4)?.as_str()?,
            integer(total_bytes),
            row.get::<_, i64>(6)?,
            integer(group.documents),
            sites,
            site_count,
            places.crosses(&group.roots),
            row.get::<_, i64>(7)?,
            row.get::<_, Option<i64>>(8)?,
            row.get::<_, Option<i64>>(9)?,
            strength.max_resemblance,
            strength.max_containment,
            integer(strength.shared_bytes),
            integer(copies_bytes.saturating_add(strength.joined_bytes)),
            group.first,
            group.last,
            root,
            path,
        ])?;
    }
    Ok(())
}

/// Goes through the links of a cluster.
fn strength(from: &Connection, cluster: usize) -> rusqlite::Result<Strength> {
    let sql = "SELECT a, b, shared_bytes, resemblance, max(a_in_b, b_in_a) FROM link WHERE cluster = ?";
    let mut statement = from.prepare_cached(sql)?;
    let mut rows = statement.query([cluster])?;
    let mut strength = Strength::default();
    let mut links: Vec<(u64, u32, u32)> = Vec::new();
    while let Some(row) = rows.next()? {
        let shared: u64 = row.get(2)?;
        // What a method cannot tell is less than what it can.
        strength.max_resemblance = strength.max_resemblance.max(row.get(3)?);
        strength.max_containment = strength.max_containment.max(row.get(4)?);
        strength.shared_bytes = strength.shared_bytes.max(shared);
        links.push((shared, row.get(0)?, row.get(1)?));
    }
    strength.joined_bytes = joined_bytes(links);
    Ok(strength)
}

/// What the strongest links come to that join all members without a circle.
fn joined_bytes(mut links: Vec<(u64, u32, u32)>) -> u64 {
    if let [(shared, ..)] = links[..] {
        return shared;
    }
    let mut members: Vec<u32> = links.iter().flat_map(|(_, a, b)| [*a, *b]).collect();
    members.sort_unstable();
    members.dedup();
    let mut parent: Vec<usize> = (0..members.len()).collect();
    links.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum: u64 = 0;
    for (shared, a, b) in links {
        let place = |content| members.binary_search(&content).unwrap_or(0);
        let (a, b) = (root(&mut parent, place(a)), root(&mut parent, place(b)));
        if a != b {
            parent[a] = b;
            sum = sum.saturating_add(shared);
        }
    }
    sum
}

fn write_sets(from: &Connection, out: &Connection, places: &Places, gathered: &Gathered) -> rusqlite::Result<()> {
    let mut insert = out.prepare("INSERT INTO identical VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
    let mut write = |id: usize, name: &[u8], view: &str, tier: &str, group: &Group| -> rusqlite::Result<()> {
        let (sites, site_count) = places.sites(&group.roots);
        let (root, path) = group.place.as_ref().map_or((0, &[][..]), |(root, path)| (*root, path.as_slice()));
        insert
            .execute(params![
                id,
                crate::report::hex(name),
                crate::report::hex(&group.digest.to_be_bytes()),
                view,
                tier,
                integer(group.size_bytes),
                integer(group.documents),
                sites,
                site_count,
                places.crosses(&group.roots),
                integer(group.document_bytes.saturating_sub(group.size_bytes)),
                group.first,
                group.last,
                root,
                path,
            ])
            .map(drop)
    };
    let mut statement = from.prepare(
        "SELECT c.identical, c.digest, l.view FROM content c JOIN layer l ON l.number = c.layer
         WHERE c.identical IS NOT NULL ORDER BY c.identical",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, view): (usize, String) = (row.get(0)?, row.get(2)?);
        let tier = if view == "text" { "same text" } else { "same bytes" };
        write(id, row.get_ref(1)?.as_blob()?, &view, tier, &gathered.sets[id])?;
    }
    let mut statement = from.prepare("SELECT id, hash FROM message ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id: usize = row.get(0)?;
        let number = gathered.sets.len() + id;
        write(number, row.get_ref(1)?.as_blob()?, "", "same message", &gathered.messages[id])?;
    }
    Ok(())
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
