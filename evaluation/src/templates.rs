//! `templates`: a cluster that a template holds together, before and after its chunks are ignored (Forman et al. 2005, section 4).
//!
//! The paper's example has 185 documents in one clique and 17 chunks in all of them. Here 185 documents are made with a
//! preamble that is long enough for 17 chunks; among them are versions of each other, which the clique hides, and some have a
//! licence as well: a template within the template.

use std::collections::{BTreeSet, HashMap};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::AtomicBool;

use cognate_fingerprint::{Chunk, Key, Method, Tag, View};
use cognate_similarity::{
    Analysis, ContentIndex, Holders, Input, MemoryShards, Monitor, Options, Posting, Thresholds, analyse,
};

use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::machine::Stopwatch;
use crate::setting::Setting;
use crate::statistics::mean;
use crate::synthetic::Generator;

const DOCUMENTS: usize = 185;
const CHUNKS: usize = 17;
const MEAN: u64 = 100;
/// Every so many documents, the next one is a version of it.
const VERSIONS_EVERY: usize = 12;
/// Documents from the end that have a licence too.
const LICENSED: usize = 30;
const PREAMBLE_WORDS: usize = 600;

/// The chunks of the documents, and the pairs of them that were made as versions.
struct Made {
    chunks: Vec<Vec<Chunk>>,
    versions: BTreeSet<(u32, u32)>,
    /// The tags of the preamble's chunks, and its length.
    preamble: BTreeSet<Tag>,
    preamble_bytes: usize,
}

/// One run of the analysis.
struct Round {
    ignored: usize,
    clusters: usize,
    largest: usize,
    links: u64,
    /// The links in clusters, as pairs of documents.
    pairs: BTreeSet<(u32, u32)>,
    /// By document.
    payload: Vec<u64>,
    /// The chunks in all members of the largest cluster.
    common: Vec<Tag>,
    seconds: f64,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    setting.step("making documents", 0, 1)?;
    let watch = Stopwatch::start();
    let made = make(setting)?;
    let chunking = watch.seconds();
    let mut findings = Findings::new("A template of 185 documents", "Forman, Eshghi, Chiocchetti 2005, section 4.");
    findings.fact("corpus", "made from the seed");
    findings.fact("documents", format!("{DOCUMENTS}, chunked once, at a mean of {MEAN}, in {chunking:.3} s"));
    findings.fact("preamble", format!("{} bytes, the same in all", made.preamble_bytes));
    findings.fact("versions", format!("{} pairs, some words apart behind the preamble", made.versions.len()));
    findings.fact("licence", format!("in {LICENSED} of the documents, behind the preamble"));
    findings.fact("a link needs", "half of the smaller document, ignored chunks apart");
    let mut ignored: BTreeSet<Tag> = BTreeSet::new();
    let mut rounds: Vec<Round> = Vec::new();
    for number in 0..4 {
        setting.step("analysing", number, 4)?;
        let round = analysed(&made, &ignored)?;
        let is_last = round.largest <= 2;
        ignored.extend(&round.common);
        rounds.push(round);
        if is_last {
            break;
        }
    }
    report(&made, &rounds, &mut findings);
    Ok(findings)
}

fn make(setting: &Setting<'_>) -> Result<Made, Error> {
    let mut generator = Generator::new(setting.seed ^ 185);
    let preamble = generator.paragraph(PREAMBLE_WORDS);
    let licence = generator.paragraph(400);
    let method = Method::tttd(View::Raw, MEAN).map_err(|error| Error::Method(error.to_string()))?;
    let mut fingerprinter = method.fingerprinter(&Key::none());
    // As long as it takes for the wanted number of whole chunks; the last one depends on what follows.
    let mut of_preamble: Vec<Chunk> = Vec::new();
    let read = fingerprinter.read(&mut preamble.as_bytes(), |chunk| {
        of_preamble.push(chunk);
        Ok(())
    });
    read.map_err(Error::io("read", std::path::Path::new("the preamble")))?;
    of_preamble.truncate(CHUNKS);
    let preamble_bytes = of_preamble.iter().map(|chunk| chunk.length_bytes as usize).sum();
    let preamble = &preamble[..preamble_bytes];
    let (mut chunks, mut bodies): (Vec<Vec<Chunk>>, Vec<String>) = (Vec::new(), Vec::new());
    let mut versions = BTreeSet::new();
    for number in 0..DOCUMENTS {
        let is_version = number % VERSIONS_EVERY == 1;
        let body = if is_version {
            versions.insert((u32::try_from(number - 1).expect("few"), u32::try_from(number).expect("few")));
            format!("{} {}", bodies[number - 1], generator.paragraph(20))
        } else {
            generator.paragraph(120)
        };
        let licensed = if number >= DOCUMENTS - LICENSED { licence.as_str() } else { "" };
        let text = format!("{preamble}{licensed}{body}");
        let mut own = Vec::new();
        let read = fingerprinter.read(&mut text.as_bytes(), |chunk| {
            own.push(chunk);
            Ok(())
        });
        read.map_err(Error::io("read", std::path::Path::new("a document")))?;
        chunks.push(own);
        bodies.push(body);
    }
    let preamble = of_preamble.iter().map(|chunk| chunk.tag).collect();
    Ok(Made { chunks, versions, preamble, preamble_bytes })
}

fn analysed(made: &Made, ignored: &BTreeSet<Tag>) -> Result<Round, Error> {
    let watch = Stopwatch::start();
    let (mut postings, mut payload_bytes) = (Vec::new(), Vec::new());
    for (content, chunks) in (0_u32..).zip(&made.chunks) {
        let mut payload = 0;
        for chunk in chunks {
            let template = chunk.repeated_byte || ignored.contains(&chunk.tag);
            if !template {
                payload += u64::from(chunk.length_bytes);
            }
            let content = ContentIndex(content);
            postings.push(Posting { tag: chunk.tag, length_bytes: chunk.length_bytes, template, content });
        }
        payload_bytes.push(payload);
    }
    let scratch = std::env::temp_dir();
    let options = Options {
        thresholds: Thresholds { min_shared_bytes: u64::MAX, min_containment: "0.5".parse().expect("a share") },
        memory_budget_bytes: 32 << 20,
        threads: NonZeroUsize::MIN,
        spill_dir: &scratch,
    };
    let monitor = Monitor { progress: &|_| (), cancelled: &AtomicBool::new(false) };
    let input = Input { payload_bytes: &payload_bytes, holders: &Holders::new(), levels: &[], across: None };
    let analysis = analyse(&MemoryShards::new(postings, NonZeroU32::MIN), &input, &options, &monitor)?;
    let seconds = watch.seconds();
    Ok(round(made, ignored, &payload_bytes, &analysis, seconds))
}

fn round(made: &Made, ignored: &BTreeSet<Tag>, payload: &[u64], analysis: &Analysis, seconds: f64) -> Round {
    let largest = analysis.clusters.iter().max_by_key(|cluster| cluster.members.len());
    let mut holders: HashMap<Tag, BTreeSet<u32>> = HashMap::new();
    let members: Vec<u32> = largest.iter().flat_map(|cluster| &cluster.members).map(|member| member.0).collect();
    for &member in &members {
        for chunk in made.chunks[member as usize].iter().filter(|chunk| !chunk.repeated_byte) {
            holders.entry(chunk.tag).or_default().insert(member);
        }
    }
    let in_all = holders.into_iter().filter(|(tag, held)| held.len() == members.len() && !ignored.contains(tag));
    let links = analysis.clusters.iter().flat_map(|cluster| &cluster.links);
    Round {
        ignored: ignored.len(),
        clusters: analysis.clusters.len(),
        largest: members.len(),
        links: analysis.clusters.iter().map(|cluster| cluster.link_count).sum(),
        pairs: links.map(|link| (link.a.0, link.b.0)).collect(),
        payload: payload.to_vec(),
        common: in_all.map(|(tag, _)| tag).collect(),
        seconds,
    }
}

fn report(made: &Made, rounds: &[Round], findings: &mut Findings) {
    let mut table = Table::new(
        "templates",
        "The analysis, before and after each marking of its largest cluster",
        &[
            "markings",
            "chunks ignored",
            "mean payload, bytes",
            "clusters",
            "largest",
            "links",
            "in all of the largest",
            "s",
        ],
    );
    for (number, round) in rounds.iter().enumerate() {
        table.row([
            number.into(),
            round.ignored.into(),
            mean(&round.payload.iter().map(|bytes| *bytes as f64).collect::<Vec<_>>()).into(),
            round.clusters.into(),
            round.largest.into(),
            round.links.into(),
            round.common.len().into(),
            round.seconds.into(),
        ]);
    }
    findings.tables.push(table);
    let x = Axis::linear("markings").between(-0.5, rounds.len() as f64 - 0.5);
    let mut panel = Panel::new("links of the analysis", x, Axis::log("number"));
    let at = |value: fn(&Round) -> f64| {
        rounds.iter().enumerate().map(move |(number, round)| (number as f64, value(round).max(1.0)))
    };
    panel.add("links", Style::Line, at(|round| round.links as f64));
    panel.add("members of the largest cluster", Style::Line, at(|round| round.largest as f64));
    findings.figures.push(Figure::new("templates", "A template's cluster and its markings", vec![panel]));
    let [before, once, rest @ ..] = rounds else { return };
    let all = (DOCUMENTS * (DOCUMENTS - 1) / 2) as u64;
    findings.compare(
        "4: documents of one template are a single large clique",
        "\"all of these appeared in a single large clique\"",
        "one cluster of all 185, every pair linked",
        format!("{} cluster, {} members, {} of {all} links", before.clusters, before.largest, before.links),
        Agreement::of(before.clusters == 1 && before.largest == DOCUMENTS && before.links == all),
        "the preamble is more than half of each document",
    );
    findings.compare(
        "4: the chunks that all of its documents share are the template",
        "\"of the 185 documents in the cluster, there may be 17 chunks that are shared in all of them\"",
        "17 chunks, all of them of the preamble",
        format!("{} chunks in all members", before.common.len()),
        Agreement::of(before.common.iter().copied().collect::<BTreeSet<_>>() == made.preamble),
        "the preamble was made so; what follows differs in every document",
    );
    let found = |round: &Round| made.versions.iter().filter(|pair| round.pairs.contains(pair)).count();
    findings.compare(
        "4: ignoring them disbands the cluster; true duplication is no longer masked",
        "the size of a file becomes that of its non-template payload; generally one iteration is sufficient",
        "after one marking no cluster has more than two documents, and every planted version is linked",
        format!(
            "{} clusters, the largest of {}; {} of {} versions linked",
            once.clusters,
            once.largest,
            found(once),
            made.versions.len()
        ),
        Agreement::of(once.largest <= 2 && found(once) == made.versions.len()),
        "the first template hid a second one, the licence of 30 documents",
    );
    if let Some(last) = rest.last() {
        let false_ones = last.pairs.iter().filter(|pair| !made.versions.contains(pair)).count();
        findings.compare(
            "4: occasionally the process must be repeated",
            "occasionally more than once",
            "after the last marking the links are the planted versions and no others",
            format!(
                "after {} markings {} links, {} of {} versions among them, {false_ones} others",
                rounds.len() - 1,
                last.links,
                found(last),
                made.versions.len()
            ),
            Agreement::of(
                false_ones == 0 && found(last) == made.versions.len() && last.links == made.versions.len() as u64,
            ),
            "each marking ignores what all members of the largest cluster have in common",
        );
    }
    let behind = |(payload, chunks): (&u64, &Vec<Chunk>)| {
        let bytes: u64 =
            chunks.iter().filter(|chunk| !chunk.repeated_byte).map(|chunk| u64::from(chunk.length_bytes)).sum();
        *payload + made.preamble_bytes as u64 == bytes
    };
    let right = once.payload.iter().zip(&made.chunks).filter(|one| behind(*one)).count();
    findings.compare(
        "4: the size of a file becomes that of its payload, without chunking it again",
        "\"effectively reducing the file sizes to their non-template payload\", \"files do not need to be re-chunked\"",
        "after one marking every document counts with its bytes less those of the preamble",
        format!("{right} of {DOCUMENTS} documents do"),
        Agreement::of(right == DOCUMENTS),
        "the analysis applies the marks to the chunks of the first round",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_of_185_documents_and_17_chunks_is_disbanded_and_its_versions_remain() {
        let progress = |_: &str, _, _| true;
        let setting =
            Setting { corpus: None, pairs: &[], office_set: false, full: false, seed: 3, progress: &progress };
        let findings = run(&setting).unwrap();
        let agreement = |what: &str| {
            findings
                .comparisons
                .iter()
                .find(|row| row.what.contains(what))
                .map(|row| (row.agreement, &row.ours))
                .unwrap()
        };
        for what in [
            "single large clique",
            "that all of its documents share",
            "must be repeated",
            "becomes that of its payload",
        ] {
            assert_eq!(agreement(what).0, Agreement::Yes, "{what}: {}", agreement(what).1);
        }
    }
}
