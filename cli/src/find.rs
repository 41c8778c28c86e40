//! `cognate find`: copies, versions and parts of files at the sites.
//!
//! The files are fingerprinted on this machine, as a worker would do it; the key, the files and their names stay here.

mod ask;
mod choose;
mod hashes;
mod output;
mod text;

pub(crate) use ask::opening;

use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use cognate_desk::find::record::{Under, relation};
use cognate_desk::find::{Answer, Fingerprints, SearchedDocument, Unsearched};
use cognate_fingerprint::{Feature, Key, Method, UnsupportedDocument, WindowSample};
use cognate_proto::limits::FIND_FINE_MAX;
use cognate_proto::options::Precision;
use cognate_proto::path::{escaped, printable};
use cognate_proto::v1;
use cognate_similarity::Containment;
use cognate_view::Candidate;

use crate::args::{KeyArgs, size};
use crate::exit::{Exit, coded, usage};
use crate::fingerprint::{Became, FineOfChunks, Found, Reader};
use crate::operator::client::{Operator, OperatorArg, block_on};
use crate::output::OutputArgs;
use crate::stop::Stop;

/// Finds copies, versions and parts of files at all sites.
///
/// The files are fingerprinted on this machine: only keyed fingerprints go to the coordinator, which compares them with
/// the indexes of earlier scans. If it has no index under the method, the answer names the scan to launch. The strongest matches
/// are measured by fine chunks, which the coordinator requests from their sites; --precision coarse asks no site.
///
/// With --hashes, the sites that store such hashes of their files search for a list of known files and return the matches.
/// The answer names the sites that store none.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate find contract.docx
  cognate find --key federation.key --view text *.docx --format json -o found.json
  cognate find draft.txt --site paris --site tokyo/kb --min-containment 0.5
  cognate find --hashes known.sha256 --site tokyo
  cognate fingerprint --format ndjson --fine -- draft.txt > draft.ndjson && cognate find --fingerprints draft.ndjson")]
pub(crate) struct FindArgs {
    /// Files to search for
    #[arg(value_name = "FILE", required_unless_present_any = ["fingerprints", "hashes"], conflicts_with_all = ["fingerprints", "hashes"])]
    files: Vec<PathBuf>,
    /// Search for the output of `cognate fingerprint --format ndjson` instead of files
    #[arg(long, value_name = "FILE")]
    fingerprints: Option<PathBuf>,
    /// Search for files with these MD5s, SHA-1s or SHA-256s, as `sha256sum` writes them; `-` reads standard input
    #[arg(long, value_name = "LIST", conflicts_with = "fingerprints")]
    hashes: Option<PathBuf>,
    #[command(flatten)]
    how: HowArgs,
    /// Most matches to show for each file, the strongest first
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: u32,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: FindFormat,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    operator: OperatorArg,
}

/// Method, places and thresholds of a search.
#[derive(Args, Debug)]
pub(crate) struct HowArgs {
    #[command(flatten)]
    key: KeyArgs,
    /// Method of fingerprinting; docs/methods.md compares them. similarity-index only proposes matches, 600 false ones a query among 10,000 documents; what fuzzy proposes is verified by the words; bsw and bsw-chunk win for no need [default: that of the finest index available]
    #[arg(long, value_parser = PossibleValuesParser::new(Method::NAMES), help_heading = "Method")]
    method: Option<String>,
    /// Part of a file to search for: raw (its bytes), text (the text that a reader sees), passages (each paragraph of the text), office (the text of office files, PDF and mail) [default: office for such files, else raw]
    #[arg(long, value_parser = PossibleValuesParser::new(["raw", "text", "passages", "office"]), help_heading = "Method")]
    view: Option<String>,
    /// Average length of a chunk [default: that of the finest index available]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Method")]
    chunk_bytes: Option<u64>,
    /// More parameters of the method: `w=20,n=100`
    #[arg(long, value_name = "K=V,…", help_heading = "Method")]
    param: Option<String>,
    /// Search only this site or repository; repeatable [default: everywhere]
    #[arg(long = "site", visible_alias = "repository", value_name = "SITE[/REPOSITORY]", help_heading = "What counts")]
    sites: Vec<String>,
    /// Count a match only with this many bytes in common, or with --min-containment [default: any chunk]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "What counts")]
    min_shared_bytes: Option<u64>,
    /// Count a match only with this share of either document in common, 0 to 1, or with --min-shared-bytes
    #[arg(long, value_name = "X", help_heading = "What counts")]
    min_containment: Option<Containment>,
    /// Precision of the figures: fine (what whole chunks do not share is cut once more, at the sites as well, and what fuzzy proposes is verified), coarse (whole chunks and proposals alone) [default: fine]
    #[arg(long, value_name = "PRECISION", value_parser = PossibleValuesParser::new(["fine", "coarse"]), help_heading = "What counts")]
    precision: Option<String>,
}

impl HowArgs {
    /// True if any option other than the places is given.
    fn is_given(&self) -> bool {
        let HowArgs { key, method, view, chunk_bytes, param, sites: _, min_shared_bytes, min_containment, precision } =
            self;
        key.key.is_some()
            || method.is_some()
            || view.is_some()
            || chunk_bytes.is_some()
            || param.is_some()
            || min_shared_bytes.is_some()
            || min_containment.is_some()
            || precision.is_some()
    }

    /// True unless whole chunks alone are asked for.
    fn is_fine(&self) -> bool {
        self.precision.as_deref() != Some(Precision::Coarse.name())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum FindFormat {
    /// Tables for people
    Text,
    /// One object, schema cognate.find/1
    Json,
    /// One object per line
    Ndjson,
    /// One row per match
    Csv,
}

/// The searched documents and their method.
pub(crate) struct Query {
    pub(crate) under: Under,
    pub(crate) spec: v1::MethodSpec,
    /// The method that verifies what the method proposes, if the documents have terms.
    pub(crate) verifier: Option<v1::MethodSpec>,
    pub(crate) names: Vec<String>,
    pub(crate) documents: Vec<SearchedDocument>,
    /// Fine chunks of their chunks, as far as there is memory for them.
    pub(crate) fine: FineOfChunks,
    /// True if all files could be read.
    pub(crate) all_read: bool,
}

/// Runs the command.
pub(crate) fn run(args: &FindArgs) -> anyhow::Result<Exit> {
    block_on(async {
        let stop = Stop::on_signals()?;
        if let Some(list) = &args.hashes {
            return hashes::run(args, list, &stop).await;
        }
        let operator = Operator::open(&args.operator).await?;
        let query = prepare(&operator, &args.how, &args.files, args.fingerprints.as_deref()).await?;
        let answer = ask::ask(&operator, &query, &args.how, args.limit).await?;
        output::write(&query, &answer, args.format, &args.output, &stop)?;
        ended(&query, &answer)
    })
}

/// Fingerprints the documents of a query, under the requested method or that of an available index.
pub(crate) async fn prepare(
    operator: &Operator,
    how: &HowArgs,
    files: &[PathBuf],
    fingerprints: Option<&Path>,
) -> anyhow::Result<Query> {
    if let Some(path) = fingerprints {
        return from_fingerprints(how, path);
    }
    let key = how.key.key()?;
    if how.view.is_none()
        && files.iter().all(|file| starts_as_office_file(file))
        && let Some(method) = choose::choose_text(operator, how, &key).await?
        && let Some(query) = read_text(&method, &key, how.is_fine(), files)?
    {
        return Ok(query);
    }
    let method = choose::choose(operator, how, &key).await?;
    read(&method, &key, how.is_fine(), files)
}

/// Bytes at the beginning of a file that show if it is an office file.
const HEAD_BYTES: u64 = 4096;

/// True if the first bytes of a file are those of an office file, a PDF or mail.
fn starts_as_office_file(file: &Path) -> bool {
    // A pipe gives its bytes once.
    if !std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut head = Vec::new();
    let opened = std::fs::File::open(file).map(|file| file.take(HEAD_BYTES));
    opened.and_then(|mut opened| opened.read_to_end(&mut head)).is_ok() && Candidate::of(&head) == Candidate::Document
}

/// The text of office files; `None` if one of them has none, so that only its bytes can be searched for.
fn read_text(method: &Method, key: &Key, fine: bool, files: &[PathBuf]) -> anyhow::Result<Option<Query>> {
    let mut reader = Reader::new(method, key, false)?;
    let has_text = |found: &Found| found.1.as_ref().is_ok_and(|found| searched_bytes(&found.became) > 0);
    for file in files {
        if !reader.read(file).iter().any(has_text) {
            return Ok(None);
        }
    }
    read(method, key, fine, files).map(Some)
}

fn searched_bytes(became: &Became) -> u64 {
    match became {
        Became::Chunks(_, content, _) => content.size_bytes,
        Became::Signature(signature, _) => signature.size_bytes,
    }
}

fn from_fingerprints(how: &HowArgs, path: &Path) -> anyhow::Result<Query> {
    if how.method.is_some() || how.view.is_some() || how.chunk_bytes.is_some() || how.key.key.is_some() {
        return Err(usage("--fingerprints contains method, view and key: leave these options out"));
    }
    let file = std::fs::File::open(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
    let refused = |error: String| usage(format!("`{}`: {error}", path.display()));
    let Fingerprints { method: spec, verifier, documents, fine } =
        Fingerprints::read(BufReader::new(file)).map_err(refused)?;
    let method = Method::try_from(&spec).map_err(|error| refused(error.to_string()))?;
    let id = cognate_proto::spec::method_id(&spec.method_id).map_err(|error| refused(error.to_string()))?;
    let (names, documents) = documents.into_iter().unzip();
    Ok(Query { under: Under { method, id }, spec, verifier, names, documents, fine, all_read: true })
}

fn read(method: &Method, key: &Key, fine: bool, files: &[PathBuf]) -> anyhow::Result<Query> {
    let id = method.id(key);
    let spec = v1::MethodSpec { method_id: id.0.to_vec(), ..v1::MethodSpec::from(method) };
    let under = Under { method: *method, id };
    let (names, documents) = (Vec::new(), Vec::new());
    let of_verifier =
        |verifier: Method| v1::MethodSpec { method_id: verifier.id(key).0.to_vec(), ..v1::MethodSpec::from(&verifier) };
    let verifier = cognate_query::verifier(method).filter(|_| fine).map(of_verifier);
    let mut query = Query { under, spec, verifier, names, documents, fine: FineOfChunks::new(), all_read: true };
    let mut fine_left = FIND_FINE_MAX;
    let mut reader = Reader::new(method, key, fine)?;
    for found in files.iter().flat_map(|file| reader.read(file)) {
        let (path, found): Found = found;
        match found {
            Ok(mut found) => {
                query.names.push(escaped(&path).0.into_owned());
                query.keep_fine(&mut found.became, &mut fine_left);
                query.documents.push(searched(found.became));
            }
            Err(error) => {
                let is_unfit = error.get_ref().is_some_and(|source| source.is::<UnsupportedDocument>());
                let cannot =
                    if is_unfit { format!("cannot be used with `{}`", method.name()) } else { "cannot be read".into() };
                tell!("cognate: `{}` {cannot}: {error}", printable(&path));
                query.all_read = false;
            }
        }
    }
    match query.documents.is_empty() {
        true => Err(coded(Exit::Failed, "none of the files of the query could be read")),
        false => Ok(query),
    }
}

impl Query {
    /// Stores the fine chunks of a document, all or none.
    fn keep_fine(&mut self, became: &mut Became, left: &mut usize) {
        let Became::Chunks(_, _, fine) = became else { return };
        let own: usize = fine.values().map(Vec::len).sum();
        if own <= *left {
            *left -= own;
            self.fine.append(fine);
        }
    }
}

fn searched(became: Became) -> SearchedDocument {
    let repeated = became.repeated().into_iter().filter_map(|place| u32::try_from(place).ok()).collect();
    match became {
        Became::Chunks(chunks, content, _) => SearchedDocument {
            size_bytes: content.size_bytes,
            digest: content.digest,
            windows: content.chunk_count,
            index: None,
            features: chunks.iter().map(|chunk| Feature { tag: chunk.tag, weight: chunk.length_bytes }).collect(),
            repeated,
            terms: Vec::new(),
            sample: content.sample,
        },
        Became::Signature(signature, terms) => SearchedDocument {
            size_bytes: signature.size_bytes,
            digest: signature.digest,
            windows: signature.windows,
            index: signature.index,
            features: signature.features,
            repeated,
            terms,
            sample: WindowSample::NONE,
        },
    }
}

/// Exit of a find: complete, with a repository not searched, or with nothing searched.
pub(crate) fn ended(query: &Query, answer: &Answer) -> anyhow::Result<Exit> {
    let covered = answer.coverage.iter().filter(|row| row.searched.is_ok()).count();
    if covered == 0 {
        let has = |why: Unsearched| answer.coverage.iter().any(|row| row.searched.err() == Some(why));
        let (exit, why) = match has(Unsearched::OtherKey) {
            _ if has(Unsearched::Refuses) => {
                (Exit::Failed, "the policies of sites allow nothing across parties without a key: give all sites a key")
            }
            true => (
                Exit::KeyMismatch,
                "the indexes were made with another key, or with none: give the key of the sites with --key",
            ),
            false => {
                (Exit::Failed, "no repository has an index under this method: launch the scan that is named above")
            }
        };
        return Err(coded(exit, format!("nothing was searched: {why}")));
    }
    let unread = answer.coverage.iter().filter_map(|row| row.searched.ok()).any(|searched| searched.unread > 0);
    let is_complete = query.all_read && covered == answer.coverage.len() && !unread;
    Ok(if is_complete { Exit::Complete } else { Exit::Incomplete })
}

/// The word for the relation between a match and the searched document.
fn word(found: &cognate_desk::find::Match) -> &'static str {
    relation(found.measure.relation)
}
