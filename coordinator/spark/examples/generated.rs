//! Generated postings as a job, and the engine over them before and after grouping: for figures, and to see that nothing changes.
//!
//! ```sh
//! make_postings --documents 1000000 --out p            # the example of cognate-similarity
//! generated job p FOLDER sc://127.0.0.1:15002 file:///tmp/exchange 512MiB 2 coordinator
//! generated analyse FOLDER all 512MiB 2                 # before; prints the digest of what is found
//! cognate-spark group FOLDER < /dev/tty
//! generated analyse FOLDER kept 512MiB 2                # after: the same digest
//! generated found FOLDER                                # of a job with `workers` at the end: the same digest again
//! ```
//!
//! A third of the contents is held by each of three groups, and one of sixteen by two.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program that reports what it found")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use cognate_fingerprint::Tag;
use cognate_similarity::{
    Analysis, ContentIndex, Group, Holders, Holding, Input, Level, Link, LinkFile, Monitor, Options, Progress, Run,
    RunInput, RunRecord, RunShards, Thresholds, WriteRun, analyse_with_links, write_run,
};

const RECORD_BYTES: usize = 24;
/// Records of a run.
const RUN_RECORDS: usize = 1 << 23;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["job", postings, folder, server, exchange, memory, threads, join] => {
            job(Path::new(postings), Path::new(folder), (server, exchange, join), bytes(memory), threads);
        }
        ["analyse", folder, which, memory, threads] => {
            analyse(Path::new(folder), *which == "kept", bytes(memory), threads.parse().unwrap());
        }
        ["found", folder] => found(Path::new(folder)),
        _ => panic!("usage: see the top of examples/generated.rs"),
    }
}

fn bytes(text: &str) -> u64 {
    text.strip_suffix("MiB").unwrap().parse::<u64>().unwrap() << 20
}

fn is_several(content: u32) -> bool {
    content % 16 == 5
}

fn job(postings: &Path, folder: &Path, (server, exchange, join): (&str, &str, &str), memory: u64, threads: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let mut file = BufReader::with_capacity(1 << 20, File::open(postings).unwrap());
    let (mut records, mut runs, mut payloads) = (Vec::new(), Vec::new(), Vec::<u64>::new());
    let mut name = blake3::Hasher::new();
    let mut buffer = [0; RECORD_BYTES];
    let mut write = |records: &mut Vec<RunRecord>| {
        let path = std::path::absolute(folder.join(format!("input-{}.run", runs.len()))).unwrap();
        write_run(&path, records, &WriteRun { sync: false }).unwrap();
        records.clear();
        runs.push(path);
    };
    while file.read_exact(&mut buffer).is_ok() {
        name.update(&buffer);
        let word = |at: usize| u32::from_le_bytes(buffer[at..at + 4].try_into().unwrap());
        let (length_bytes, ordinal) = (word(16), word(20));
        records.push(RunRecord { tag: Tag(buffer[..16].try_into().unwrap()), length_bytes, template: false, ordinal });
        payloads.resize(payloads.len().max(ordinal as usize + 1), 0);
        payloads[ordinal as usize] += u64::from(length_bytes);
        if records.len() == RUN_RECORDS {
            write(&mut records);
        }
    }
    if !records.is_empty() {
        write(&mut records);
    }
    let contents = u32::try_from(payloads.len()).unwrap();
    let mut several = vec![0; payloads.len().div_ceil(8)];
    (0..contents)
        .filter(|content| is_several(*content))
        .for_each(|content| several[content as usize / 8] |= 1 << (content % 8));
    std::fs::write(folder.join("several"), several).unwrap();
    let map: Vec<u8> = (0..contents).flat_map(u32::to_le_bytes).collect();
    std::fs::write(folder.join("map-0"), map).unwrap();
    // A class for each group, and one for each pair of them.
    let class = |content: u32| content % 3 + if is_several(content) { 3 } else { 0 };
    let fact = |(content, payload): (u32, &u64)| [&payload.to_le_bytes()[..], &class(content).to_le_bytes()].concat();
    std::fs::write(folder.join("facts"), (0..).zip(&payloads).flat_map(fact).collect::<Vec<u8>>()).unwrap();
    let rules = format!(
        "contents {contents}\nmin-shared 16384\nmin-containment 0.5\nlevel 3 0 1 2\ngroups 3\nclass 0:1\nclass 1:1\nclass 2:1\n\
         class 0:1 1:1\nclass 1:1 2:1\nclass 0:1 2:1\n"
    );
    std::fs::write(folder.join("rules"), rules).unwrap();
    let payloads: Vec<u8> = payloads.iter().flat_map(|payload| payload.to_le_bytes()).collect();
    std::fs::write(folder.join("payloads"), payloads).unwrap();
    let mut text = format!(
        "cognate-spark 2\nname {}\nserver {server}\nexchange {exchange}\ncontents {contents}\nthreads {threads}\nmemory {memory}\njoin {join}\nmap map-0\n",
        &name.finalize().to_hex()[..32]
    );
    runs.iter().for_each(|run: &PathBuf| writeln!(text, "run {}", run.display()).unwrap());
    std::fs::write(folder.join("job"), text).unwrap();
}

fn analyse(folder: &Path, kept: bool, memory_budget_bytes: u64, threads: usize) {
    let payloads = std::fs::read(folder.join("payloads")).unwrap();
    let payload_bytes: Vec<u64> = payloads.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let contents = u32::try_from(payload_bytes.len()).unwrap();
    let paths: Vec<PathBuf> = match kept {
        true => vec![folder.join("kept.run")],
        false => {
            let job = std::fs::read_to_string(folder.join("job")).unwrap();
            job.lines().filter_map(|line| line.strip_prefix("run ")).map(PathBuf::from).collect()
        }
    };
    let runs = paths.iter().map(|path| RunInput {
        run: Run::open(path).unwrap(),
        contents: (0..contents).map(|content| Some(ContentIndex(content))).collect(),
    });
    let shards = RunShards::new(runs.collect());
    let mut holders = Holders::new();
    for content in 0..contents {
        let group = |more: u32| Holding { group: Group(u16::try_from((content + more) % 3).unwrap()), copies: 1 };
        let several = is_several(content).then(|| group(1));
        let mut held: Vec<Holding> = [group(0)].into_iter().chain(several).collect();
        held.sort_by_key(|holding| holding.group.0);
        holders.push(held);
    }
    let levels = [Level { labels: vec![0, 1, 2], label_count: 3 }];
    let input = Input { payload_bytes: &payload_bytes, holders: &holders, levels: &levels, across: None };
    let options = Options {
        thresholds: Thresholds { min_shared_bytes: 16384, min_containment: "0.5".parse().unwrap() },
        memory_budget_bytes,
        threads: NonZeroUsize::new(threads).unwrap(),
        spill_dir: folder,
    };
    let links = Mutex::new((0_u64, [0_u8; 32]));
    let sink = |found: &[Link]| {
        let mut links = links.lock().unwrap();
        found.iter().for_each(|link| add(&mut links, link));
        Ok(())
    };
    let (begun, before) = (Instant::now(), processor_seconds());
    // The time of the last progress message of each phase.
    let ends = Mutex::new(BTreeMap::new());
    let progress = |now: Progress| {
        ends.lock().unwrap().insert(now.phase, (begun.elapsed().as_secs_f64(), processor_seconds()));
    };
    let monitor = Monitor { progress: &progress, cancelled: &AtomicBool::new(false) };
    let analysis = analyse_with_links(&shards, &input, &options, &monitor, &sink).unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    let mut last = (0.0, before);
    for (phase, end) in ends.into_inner().unwrap() {
        println!(
            "{{\"stage\":\"{phase:?}\",\"seconds\":{:.3},\"processor_seconds\":{:.2}}}",
            end.0 - last.0,
            end.1 - last.1
        );
        last = end;
    }
    let links = *links.lock().unwrap();
    report(&analysis, links, seconds);
}

/// Processor time of this process, of all its threads. Linux counts it in hundredths of a second.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let words = stat.rsplit_once(')').unwrap().1.split(' ').skip(12).take(2);
    words.map(|word| word.parse::<u32>().unwrap()).map(f64::from).sum::<f64>() / 100.0
}

/// Adds a link to the number of links, and to what they are.
fn add(links: &mut (u64, [u8; 32]), link: &Link) {
    let hash = blake3::hash(format!("{link:?}").as_bytes());
    links.0 += 1;
    links.1.iter_mut().zip(hash.as_bytes()).for_each(|(sum, byte)| *sum ^= byte);
}

fn found(folder: &Path) {
    let job = std::fs::read_to_string(folder.join("job")).unwrap();
    let name = job.lines().find_map(|line| line.strip_prefix("name ")).unwrap();
    let mut binding = [0; 32];
    binding.copy_from_slice(name.as_bytes());
    let begun = Instant::now();
    let analysis = Analysis::read(&folder.join("analysis"), &binding).unwrap();
    let mut links = (0, [0; 32]);
    LinkFile::open(&folder.join("links"), &binding).unwrap().for_each(|link| add(&mut links, link)).unwrap();
    report(&analysis, links, begun.elapsed().as_secs_f64());
}

fn report(analysis: &Analysis, (count, xor): (u64, [u8; 32]), seconds: f64) {
    let mut digest = blake3::Hasher::new();
    digest.update(format!("{:?}{:?}{:?}", analysis.clusters, analysis.overlap, analysis.omitted).as_bytes());
    digest.update(&xor);
    println!(
        "{{\"postings\":{},\"links\":{count},\"clusters\":{},\"spilled_bytes\":{},\"seconds\":{seconds:.2},\"digest\":\"{}\"}}",
        analysis.stats.postings,
        analysis.clusters.len(),
        analysis.stats.spilled_bytes,
        &digest.finalize().to_hex()[..16]
    );
}
