//! `cognate find --hashes`: a list of known files is held against the hashes that sites keep of their own.

use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use anyhow::Context as _;
use cognate_desk::find::hashes::record::{CoverageRow, HashRow, HashesRecord, Head};
use cognate_desk::find::hashes::{HashAnswer, HashCoverage, HashHolder, Listed, record};
use cognate_proto::path::{escaped, printable};
use cognate_proto::v1::find_hashes_request::Message as Up;
use cognate_proto::v1::{FileHashState, FindHashesOpen, FindHashesRequest};
use serde_json::{Value, json};

use super::output::typed_line;
use super::{FindArgs, FindFormat, ask};
use crate::exit::{Exit, coded, usage};
use crate::operator::client::{Operator, refusal};
use crate::operator::members::{modified, time};
use crate::output::write_with;
use crate::stop::Stop;
use cognate_export::grid::csv_path;
use cognate_export::human::{bytes, count};
use cognate_export::table::{cell, table};

const COLUMNS: [&str; 11] = [
    "kind",
    "hash",
    "listed_as",
    "party",
    "site",
    "repository",
    "path",
    "path_escaped",
    "size_bytes",
    "modified",
    "state",
];
/// Of a hash, so many digits are shown to people.
const DIGITS_SHOWN: usize = 12;

/// Asks with a list, and writes what was found.
pub(super) async fn run(args: &FindArgs, list: &Path, stop: &Stop) -> anyhow::Result<Exit> {
    if args.how.is_given() {
        return Err(usage("--hashes are of whole files: leave out the method, the view, the key and what counts"));
    }
    let operator = Operator::open(&args.operator).await?;
    let listed = read(list)?;
    let answer = ask_with(&operator, &listed, args).await?;
    if answer.coverage.iter().all(|row| row.kinds.is_empty()) {
        return Err(coded(Exit::Failed, format!("nothing was looked through: {}", reasons(&answer))));
    }
    write_with(&args.output, stop, |out| match args.format {
        FindFormat::Text => text(&listed, &answer, out),
        FindFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &HashesRecord::of(&listed, &answer))?;
            Ok(writeln!(out)?)
        }
        FindFormat::Ndjson => lines(&listed, &answer, out),
        FindFormat::Csv => csv(&listed, &answer, out),
    })?;
    let is_whole = answer.coverage.iter().all(HashCoverage::is_whole);
    Ok(if is_whole { Exit::Complete } else { Exit::Incomplete })
}

/// Why no site answered, each reason with the first repository that it holds for.
fn reasons(answer: &HashAnswer) -> String {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in &answer.coverage {
        reasons.entry(&row.reason).or_default().push(format!("{}/{}", row.site, row.repository));
    }
    let told = reasons.iter().map(|(reason, places)| match places.len() {
        1 => format!("{}: {reason}", places[0]),
        more => format!("{} and {} more: {reason}", places[0], more - 1),
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { "there is no repository".to_owned() } else { told.join("; ") }
}

fn read(list: &Path) -> anyhow::Result<Listed> {
    let from: Box<dyn Read> = if list == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(list).with_context(|| format!("`{}` cannot be read", list.display()))?)
    };
    Listed::read(BufReader::new(from)).map_err(|error| usage(format!("`{}`: {error}", list.display())))
}

async fn ask_with(operator: &Operator, listed: &Listed, args: &FindArgs) -> anyhow::Result<HashAnswer> {
    let open = FindHashesOpen { repositories: ask::places(&args.how.sites)?, holders_max: args.limit };
    let messages = std::iter::once(Up::Open(open)).chain(listed.list.pieces().map(Up::Hashes));
    let requests: Vec<_> = messages.map(|message| FindHashesRequest { message: Some(message) }).collect();
    let mut told = operator
        .call(|mut client| {
            let requests = requests.clone();
            async move { client.find_hashes(tokio_stream::iter(requests)).await }
        })
        .await?;
    let mut answer = HashAnswer::default();
    while let Some(message) = told.message().await.map_err(|status| refusal(&status))? {
        message.message.into_iter().try_for_each(|message| answer.take(message))?;
    }
    let known = listed.list.hashes().len();
    match answer.hits.last_key_value() {
        Some((number, _)) if *number as usize >= known => {
            Err(coded(Exit::Protocol, "the coordinator answered about other hashes than were sought"))
        }
        _ => Ok(answer),
    }
}

fn text(listed: &Listed, answer: &HashAnswer, out: &mut impl Write) -> anyhow::Result<()> {
    let sought = listed.list.hashes().len() as u64;
    if answer.hits.is_empty() {
        writeln!(out, "No file that was looked at has one of the {} hashes.", count(sought))?;
    } else {
        let rows =
            answer.hits.iter().flat_map(|(number, hit)| hit.holders.iter().map(|holder| row(listed, *number, holder)));
        writeln!(out, "{}", table(&["HASH", "LISTED AS", "WHERE", " SIZE", "MODIFIED", "SINCE"], rows))?;
        let omitted: u64 = answer.hits.values().map(|hit| hit.omitted()).sum();
        if omitted > 0 {
            writeln!(out, "… and {} files more: --limit shows more of each hash", count(omitted))?;
        }
        let (found, files) = (answer.hits.len() as u64, answer.files());
        writeln!(
            out,
            "{} of {} hashes were found, in {} {}: {}.",
            count(found),
            count(sought),
            count(files),
            if files == 1 { "file" } else { "files" },
            by_site(answer)
        )?;
    }
    writeln!(out, "\nSearched, by {}:", listed.list.kinds())?;
    answer.coverage.iter().try_for_each(|row| coverage(row, out))?;
    let keeps = |row: &HashCoverage| row.reason.contains("policy.file_hashes");
    if answer.coverage.iter().any(keeps) {
        writeln!(
            out,
            "A site answers once `policy.file_hashes` in its worker.toml names the kind, and it was synced."
        )?;
    }
    Ok(())
}

fn row(listed: &Listed, number: u32, holder: &HashHolder) -> Vec<String> {
    let hash = record::hash(listed, number);
    let digits: String = hash.to_string().chars().take(DIGITS_SHOWN).collect();
    let name = listed.names.get(&number).and_then(|names| names.first());
    vec![
        format!("{} {digits}…", hash.kind().name()),
        name.map(|name| printable(name.as_bytes()).into_owned()).unwrap_or_default(),
        format!("{}/{}/{}", holder.site, holder.repository, printable(holder.path.as_bytes())),
        bytes(holder.size_bytes),
        modified(holder.modified),
        since(holder.state).to_owned(),
    ]
}

/// What has become of a file since it was hashed, if anything.
fn since(state: FileHashState) -> &'static str {
    match state {
        FileHashState::Changed => "changed since",
        FileHashState::Gone => "gone since",
        FileHashState::Unchanged | FileHashState::Unspecified => "",
    }
}

fn by_site(answer: &HashAnswer) -> String {
    let mut sites: BTreeMap<&str, u64> = BTreeMap::new();
    for holder in answer.hits.values().flat_map(|hit| &hit.holders) {
        *sites.entry(holder.site.as_str()).or_default() += 1;
    }
    sites.iter().map(|(site, files)| format!("{site} {}", count(*files))).collect::<Vec<_>>().join(", ")
}

fn coverage(row: &HashCoverage, out: &mut impl Write) -> anyhow::Result<()> {
    let place = format!("{}/{}", row.site, row.repository);
    if row.kinds.is_empty() {
        return Ok(writeln!(out, "  {place}: NOT LOOKED THROUGH, {}", row.reason)?);
    }
    let mut line = format!("  {place}: {} files as of {}", count(row.files), time(row.synced));
    if row.files_without > 0 {
        line.push_str(&format!(", {} without a hash WERE NOT LOOKED AT", count(row.files_without)));
    }
    if !row.reason.is_empty() {
        line.push_str(&format!(", by {} ALONE: {}", row.kinds, row.reason));
    }
    Ok(writeln!(out, "{line}")?)
}

fn lines(listed: &Listed, answer: &HashAnswer, out: &mut impl Write) -> anyhow::Result<()> {
    let mut line = |kind: &str, value: Value| typed_line(out, kind, value);
    line("find-hashes", json!(Head::of(listed, answer)))?;
    answer.coverage.iter().try_for_each(|row| line("coverage", json!(CoverageRow::from(row))))?;
    answer.hits.iter().try_for_each(|(number, hit)| line("match", json!(HashRow::of(listed, *number, hit))))
}

fn csv(listed: &Listed, answer: &HashAnswer, out: &mut impl Write) -> anyhow::Result<()> {
    let mut rows = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    rows.write_record(COLUMNS)?;
    for (number, hit) in &answer.hits {
        let hash = record::hash(listed, *number);
        let names = listed.names.get(number).map(|names| names.join("|")).unwrap_or_default();
        for holder in &hit.holders {
            let (path, is_escaped) = escaped(holder.path.as_bytes());
            let (path, is_escaped) = csv_path(&path, is_escaped);
            rows.write_record([
                hash.kind().name().to_owned(),
                hash.to_string(),
                cell(&names),
                cell(&holder.party),
                holder.site.to_string(),
                holder.repository.to_string(),
                cell(&path),
                if is_escaped { "yes" } else { "" }.to_owned(),
                holder.size_bytes.to_string(),
                modified(holder.modified),
                record::state(holder.state).to_owned(),
            ])?;
        }
    }
    Ok(rows.flush()?)
}
