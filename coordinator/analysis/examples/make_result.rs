//! Writes the file of a result as a scan would, of invented documents: to measure what reads results.
//!
//! `cargo run --release -p cognate-analysis --example make_result -- FILE [CLUSTERS] [DOCUMENTS] [SITES]`

#![expect(clippy::print_stderr, reason = "it talks to people")]

use std::error::Error;
use std::path::Path;

use cognate_fingerprint::SplitMix64;
use cognate_result_file::{PackedSet, Part};
use rusqlite::{Connection, Statement, params};

/// A second is added to this for every document.
const FIRST_TIME: i64 = 1_500_000_000;

/// A sequence of numbers that is the same every time.
struct Numbers(SplitMix64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0.next() % end.max(1)
    }
}

struct Content {
    size_bytes: u64,
    cluster: Option<u32>,
    copies: u32,
    set: Option<u32>,
    status: &'static str,
}

struct Document {
    root: u16,
    path: String,
    content: u32,
}

struct Link {
    cluster: u32,
    a: u32,
    b: u32,
    shared_bytes: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let file = arguments.first().ok_or("say which file to write")?;
    let number = |place: usize, otherwise: u64| arguments.get(place).map_or(Ok(otherwise), |word| word.parse::<u64>());
    make(Path::new(file), number(1, 100_000)?, number(2, 1_000_000)?, number(3, 6)?)
}

fn make(file: &Path, clusters: u64, documents: u64, sites: u64) -> Result<(), Box<dyn Error>> {
    let mut numbers = Numbers(SplitMix64::new(1));
    let mut contents = Vec::new();
    let mut links = Vec::new();
    let mut all = Vec::new();
    for cluster in 0..u32::try_from(clusters)? {
        make_cluster(cluster, &mut numbers, &mut contents, &mut links)?;
    }
    let mut count: u64 = contents.iter().map(|content| u64::from(content.copies)).sum();
    while count < documents {
        // Of the documents in no cluster, one in twelve has copies.
        let copies = if numbers.below(12) == 0 { 2 + u32::try_from(numbers.below(3))? } else { 1 };
        let status = if copies > 1 { "identical" } else { "unique" };
        let scale = numbers.below(14);
        let size_bytes = 200 + numbers.below(1 << (8 + scale));
        contents.push(Content { size_bytes, cluster: None, copies, set: None, status });
        count += u64::from(copies);
    }
    let mut sets: Vec<u32> = Vec::new();
    for (place, content) in (0..).zip(&contents) {
        for copy in 0..content.copies {
            let root = u16::try_from(numbers.below(sites))?;
            all.push(Document { root, path: path(&mut numbers, place, copy), content: place });
        }
        if content.copies > 1 {
            sets.push(place);
        }
    }
    sets.sort_by_key(|content| {
        let content = &contents[*content as usize];
        std::cmp::Reverse(content.size_bytes * u64::from(content.copies - 1))
    });
    for (set, content) in (0..).zip(&sets) {
        contents[*content as usize].set = Some(set);
    }
    all.sort_by(|a, b| (a.root, &a.path).cmp(&(b.root, &b.path)));
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    write(&Connection::open(file)?, sites, &contents, &all, &links, clusters)?;
    eprintln!(
        "{clusters} clusters, {} links, {} contents, {} documents, {} identical sets",
        links.len(),
        contents.len(),
        all.len(),
        sets.len()
    );
    Ok(())
}

/// Most are pairs, some have tens of members.
fn make_cluster(
    cluster: u32,
    numbers: &mut Numbers,
    contents: &mut Vec<Content>,
    links: &mut Vec<Link>,
) -> Result<(), Box<dyn Error>> {
    let members = match numbers.below(100) {
        0..60 => 2,
        60..90 => 3 + u32::try_from(numbers.below(4))?,
        90..99 => 7 + u32::try_from(numbers.below(14))?,
        _ => 30 + u32::try_from(numbers.below(90))?,
    };
    let first = u32::try_from(contents.len())?;
    let scale = numbers.below(13);
    let about = 2000 + numbers.below(1 << (10 + scale));
    for _ in 0..members {
        let copies = if numbers.below(4) == 0 { 2 + u32::try_from(numbers.below(4))? } else { 1 };
        let status = match (copies > 1, numbers.below(4)) {
            (true, _) => "identical",
            (false, 0) => "contains",
            (false, 1) => "contained",
            (false, 2) => "shares",
            _ => "near",
        };
        contents.push(Content {
            size_bytes: about + numbers.below(about / 4 + 1),
            cluster: Some(cluster),
            copies,
            set: None,
            status,
        });
    }
    for member in 1..members {
        // A chain, and as many links again at random.
        for other in [member - 1, u32::try_from(numbers.below(u64::from(member)))?] {
            let (a, b) = (first + other, first + member);
            let least = contents[a as usize].size_bytes.min(contents[b as usize].size_bytes);
            let shared_bytes = least * (50 + numbers.below(50)) / 100;
            if links.last().is_none_or(|last: &Link| (last.a, last.b) != (a, b)) {
                links.push(Link { cluster, a, b, shared_bytes });
            }
        }
    }
    Ok(())
}

fn path(numbers: &mut Numbers, content: u32, copy: u32) -> String {
    const WORDS: [&str; 12] = [
        "budget",
        "contract",
        "minutes",
        "offer",
        "plan",
        "report",
        "review",
        "schedule",
        "Änderung",
        "specification",
        "study",
        "letter",
    ];
    let word = WORDS[usize::try_from(numbers.below(12)).unwrap_or(0)];
    let (department, project) = (numbers.below(40), numbers.below(500));
    format!("departments/d{department:02}/projects/p{project:03}/{word}-{content:07}-v{copy}.docx")
}

fn write(
    out: &Connection,
    sites: u64,
    contents: &[Content],
    documents: &[Document],
    links: &[Link],
    clusters: u64,
) -> Result<(), Box<dyn Error>> {
    out.execute_batch(
        "PRAGMA foreign_keys = OFF; PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;",
    )?;
    let parts = [Part::Documents, Part::Others];
    parts.iter().try_for_each(|part| out.execute_batch(&part.tables()))?;
    out.execute_batch("BEGIN")?;
    out.execute(
        "INSERT INTO scan (schema, id, method, view, chunk_bytes, min_shared_bytes, min_containment, across_only, keyed, status,
           started, finished, passages, match_message_ids)
         VALUES ('cognate.result/1', '00000000000000aa', 'tttd', 'raw', 1000, 16384, '0.5', 0, 0, 'complete', 1, 2, 0, 0)",
        [],
    )?;
    out.execute(
        "INSERT INTO layer (number, view, chunk_bytes, min_shared_bytes, identical_sets, identical_in_place, wasted_bytes,
           hard_link_bytes)
         VALUES (0, 'raw', 1000, 16384, 0, 0, 0, 0)",
        [],
    )?;
    for site in 0..sites {
        let mine = documents.iter().filter(|document| u64::from(document.root) == site);
        let bytes: u64 = mine.clone().map(|document| contents[document.content as usize].size_bytes).sum();
        out.execute(
            "INSERT INTO root (id, party, site, repository, documents, bytes, chunks, empty, unreadable, changed,
               compressed_bytes, hard_links, hard_link_bytes, read_bytes, read_documents, sent_bytes, fine_read_bytes, place, contradicted_contents, recognised)
             VALUES (?,'home',?,'main',?,?,0,0,0,0,0,0,0,?,?,0,0,?,0,0)",
            params![site, format!("site-{site}"), mine.clone().count(), bytes, bytes, mine.count(), site],
        )?;
    }
    write_contents(out, contents)?;
    write_documents(out, contents, documents)?;
    write_links(out, contents, documents, links, clusters)?;
    out.execute_batch(SETS)?;
    write_packed_sets(out, contents, documents)?;
    write_places(out, sites)?;
    out.execute_batch(
        "INSERT INTO status (root, status, documents) SELECT root, status, count(*) FROM document GROUP BY 1, 2",
    )?;
    if sites == 2 {
        out.execute_batch(CHANGES)?;
    }
    out.execute_batch("COMMIT")?;
    parts.iter().try_for_each(|part| out.execute_batch(part.indexes()))?;
    Ok(())
}

fn digest(number: usize) -> [u8; 16] {
    *blake3::hash(&number.to_le_bytes()).as_bytes().first_chunk().expect("a hash has 32 bytes")
}

fn write_contents(out: &Connection, contents: &[Content]) -> Result<(), Box<dyn Error>> {
    let mut insert = out.prepare(
        "INSERT INTO content (id, digest, size_bytes, payload_bytes, chunks, documents, identical, in_place, cluster, layer)
         VALUES (?,?,?,?,?,?,?,0,?,0)",
    )?;
    for (id, content) in contents.iter().enumerate() {
        let Content { size_bytes, cluster, copies, set, .. } = content;
        insert.execute(params![id, digest(id), size_bytes, size_bytes, size_bytes / 1000 + 1, copies, set, cluster])?;
    }
    Ok(())
}

fn write_documents(out: &Connection, contents: &[Content], documents: &[Document]) -> Result<(), Box<dyn Error>> {
    let mut insert = out.prepare(
        "INSERT INTO document (id, root, path, content, size_bytes, modified, changing, status, partner, partner_shared_bytes,
           partner_relation, partner_in_place, partner_outside, layer, other, listed, layer_status, partner_in_other, elsewhere, recognised)
         VALUES (?,?,?,?,?,?,0,?,NULL,NULL,NULL,NULL,NULL,0,NULL,1,NULL,0,'no',0)",
    )?;
    for (id, document) in documents.iter().enumerate() {
        let content = &contents[document.content as usize];
        let modified = FIRST_TIME + i64::from(document.content) * 300;
        insert.execute(params![
            id,
            document.root,
            document.path.as_bytes(),
            document.content,
            content.size_bytes,
            modified,
            content.status
        ])?;
    }
    Ok(())
}

/// Counts the documents of each of two repositories that are the same, changed or moved at the other, or only in one.
const CHANGES: &str = "
  INSERT INTO change SELECT root, sum(coalesce(partner_in_place AND partner_relation = 'identical', 0)),
      sum(coalesce(partner_in_place AND partner_relation <> 'identical', 0)), sum(coalesce(NOT partner_in_place, 0)),
      0, 0, sum(partner_in_place IS NULL) FROM document GROUP BY root";

/// The identical sets, by the rows of contents and documents.
const SETS: &str = "
  INSERT INTO identical SELECT c.identical, lower(hex(c.digest)), lower(hex(c.digest)), 'same bytes', c.size_bytes,
      c.size_bytes * (c.documents - 1), c.documents, ',' || group_concat(DISTINCT d.root) || ',', count(DISTINCT d.root),
      count(DISTINCT d.root) > 1, min(d.modified), max(d.modified), d.root, d.path
    FROM content c JOIN document d ON d.content = c.id WHERE c.identical IS NOT NULL GROUP BY c.id";

/// The same sets, packed.
fn write_packed_sets(out: &Connection, contents: &[Content], documents: &[Document]) -> Result<(), Box<dyn Error>> {
    let mut of_content: Vec<Vec<&Document>> = vec![Vec::new(); contents.len()];
    documents.iter().for_each(|document| of_content[document.content as usize].push(document));
    let mut listed: Vec<(u32, usize)> = (0..contents.len()).filter_map(|id| Some((contents[id].set?, id))).collect();
    listed.sort_unstable();
    let mut insert = out.prepare("INSERT INTO packed_sets VALUES (?,?)")?;
    let (mut first, mut block) = (0, Vec::new());
    for (number, id) in listed {
        let mut set = PackedSet::new(number.into(), digest(id), contents[id].size_bytes);
        set.clusters.extend(contents[id].cluster.map(u64::from));
        for document in &of_content[id] {
            set.push(document.root.into(), FIRST_TIME + i64::from(document.content) * 300, document.path.as_bytes());
        }
        set.pack(&mut block);
        if PackedSet::ends_block(&block) {
            insert.execute(params![first, std::mem::take(&mut block)])?;
            first = number + 1;
        }
    }
    if !block.is_empty() {
        insert.execute(params![first, block])?;
    }
    Ok(())
}

fn write_links(
    out: &Connection,
    contents: &[Content],
    documents: &[Document],
    links: &[Link],
    clusters: u64,
) -> Result<(), Box<dyn Error>> {
    let mut of_content: Vec<Vec<&Document>> = vec![Vec::new(); contents.len()];
    documents.iter().for_each(|document| of_content[document.content as usize].push(document));
    let mut insert = out.prepare(
        "INSERT INTO link (cluster, a, b, shared_bytes, relation, resemblance, a_in_b, b_in_a, estimated, on_frame)
         VALUES (?,?,?,?,'shares',?,?,?,0,0)",
    )?;
    let mut cluster_insert = out.prepare(
        "INSERT INTO cluster (id, name, members_digest, relation, representative, total_bytes, members, links, links_omitted,
           min_resemblance, mean_resemblance, max_resemblance, max_containment, shared_bytes, joined_bytes, redundant_bytes, documents,
           sites, site_count, crosses, first_modified, last_modified, root, path, layer, frame_links, on_frame, second_root, second_path)
         VALUES (?,?,?,?,?,?,?,?,0,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,0,0,0,?,?)",
    )?;
    let mut families = out.prepare(
        "INSERT INTO family (cluster, number, representative, min_resemblance, over_representative_only) VALUES (?,0,?,8000,0)",
    )?;
    let mut family = out.prepare("INSERT INTO family_member (cluster, number, content) VALUES (?,0,?)")?;
    let (mut link_from, mut content_from) = (0, 0);
    for cluster in 0..clusters {
        let of = |link: &&Link| u64::from(link.cluster) == cluster;
        let mine: Vec<&Link> = links[link_from..].iter().take_while(of).collect();
        link_from += mine.len();
        let members = contents[content_from..].iter().take_while(|one| one.cluster.map(u64::from) == Some(cluster));
        let members: Vec<usize> = (content_from..).zip(members).map(|(place, _)| place).collect();
        content_from += members.len();
        let copies: Vec<&Document> = members.iter().flat_map(|member| &of_content[*member]).copied().collect();
        let roots: std::collections::BTreeSet<u16> = copies.iter().map(|document| document.root).collect();
        let sites: String = roots.iter().map(|root| format!("{root},")).collect();
        let modified = |document: &&Document| FIRST_TIME + i64::from(document.content) * 300;
        let mut resemblances = Vec::new();
        for link in &mine {
            let (a, b) = (contents[link.a as usize].size_bytes, contents[link.b as usize].size_bytes);
            let of = |whole: u64| link.shared_bytes * 10_000 / whole;
            let resemblance = of(a + b - link.shared_bytes);
            insert.execute(params![cluster, link.a, link.b, link.shared_bytes, resemblance, of(a), of(b)])?;
            resemblances.push(resemblance);
        }
        let total: u64 = members.iter().map(|member| contents[*member].size_bytes).sum();
        let hex = |seed: &str| blake3::hash(format!("{seed} {cluster}").as_bytes()).to_hex()[..32].to_owned();
        cluster_insert.execute(params![
            cluster,
            hex("name"),
            hex("members"),
            if members.len() == 2 { "pair" } else { "group" },
            members[0],
            total,
            members.len(),
            mine.len(),
            resemblances.iter().min(),
            resemblances.iter().sum::<u64>() / resemblances.len().max(1) as u64,
            resemblances.iter().max(),
            resemblances.iter().max(),
            mine.iter().map(|link| link.shared_bytes).max().unwrap_or(0),
            mine.iter().map(|link| link.shared_bytes).sum::<u64>(),
            mine.iter().map(|link| link.shared_bytes).sum::<u64>(),
            copies.len(),
            format!(",{sites}"),
            roots.len(),
            roots.len() > 1,
            copies.iter().map(modified).min(),
            copies.iter().map(modified).max(),
            copies[0].root,
            copies[0].path.as_bytes(),
            of_content[members[1]].first().map(|document| document.root),
            of_content[members[1]].first().map(|document| document.path.as_bytes()),
        ])?;
        families.execute(params![cluster, members[0]])?;
        write_family(&mut family, cluster, &members)?;
    }
    Ok(())
}

fn write_family(insert: &mut Statement<'_>, cluster: u64, members: &[usize]) -> Result<(), Box<dyn Error>> {
    for member in members {
        insert.execute(params![cluster, member])?;
    }
    Ok(())
}

fn write_places(out: &Connection, sites: u64) -> Result<(), Box<dyn Error>> {
    for a in 0..sites {
        for b in a + 1..sites {
            out.execute(
                "INSERT INTO overlap (level, a, b, documents_a, documents_b, documents_total_a, documents_total_b, contents_a, contents_b,
                   shared_bytes_a, shared_bytes_b, shared_once_bytes_a, shared_once_bytes_b, template_bytes_a, template_bytes_b,
                   estimated_bytes_a, estimated_bytes_b, estimate_error_bytes_a, estimate_error_bytes_b, bytes_total_a, bytes_total_b)
                 VALUES ('site',?,?,1000,1200,2000,2000,1000,1200,5000000,6000000,5000000,6000000,0,0,5100000,6100000,50000,60000,9000000,9000000)",
                params![format!("site-{a}"), format!("site-{b}")],
            )?;
        }
    }
    for pair in 0..20_000 {
        let path = format!("departments/d{:02}/projects/p{:03}", pair % 40, pair / 40);
        out.execute(
            "INSERT INTO folder (id, root_a, path_a, root_b, path_b, relation, documents_a, documents_b, shared_bytes_a,
               shared_bytes_b, documents_total_a, documents_total_b, bytes_a, bytes_b)
             VALUES (?,0,?,1,?,'overlaps',10,10,100000,100000,20,20,200000,200000)",
            params![pair, path.as_bytes(), path.as_bytes()],
        )?;
    }
    for (measure, buckets) in [("all", 1), ("containment", 20), ("resemblance", 20)] {
        for bucket in 0..buckets {
            out.execute(
                "INSERT INTO histogram (measure, bucket, links, documents, layer) VALUES (?,?,?,?,0)",
                params![measure, bucket, 1 + bucket * bucket * 900, 1 + bucket * 700],
            )?;
        }
    }
    Ok(())
}

#[test]
fn a_result_of_invented_documents_has_every_column_of_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.sqlite");
    make(&file, 10, 100, 3).unwrap();
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        Connection::open(&file).unwrap().query_row(&sql, [], |row| row.get::<_, u64>(0)).unwrap()
    };
    assert_eq!(count("cluster"), 10);
    assert!(count("document") >= 100 && count("link") >= 10 && count("identical") > 0);
}
