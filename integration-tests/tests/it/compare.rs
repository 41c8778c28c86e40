//! A comparison finds the same as brute force: identical sets, links, clusters, statuses, overlap.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cognate_integration_tests::dice::seed;
use cognate_integration_tests::tree::{edited, varied};
use cognate_integration_tests::{Corpus, Dice, Files, Rules, Sandbox, sandbox};
use serde_json::{Value, json};

/// Folders of a generated corpus, with the names under which they are compared.
struct Made {
    sandbox: Sandbox,
    folders: Vec<(&'static str, PathBuf)>,
}

impl Made {
    fn new(own_seed: u64, documents: usize, names: &[&'static str]) -> Made {
        let seed = seed(own_seed);
        let sandbox = Sandbox::seeded(seed);
        let trees = varied(&mut Dice::new(seed), names.len(), documents);
        let folders = names.iter().zip(&trees).enumerate();
        let folders =
            folders.map(|(place, (name, files))| (*name, sandbox.tree(&format!("tree{place}"), files))).collect();
        Made { sandbox, folders }
    }

    fn folders(&self) -> Vec<(&'static str, &Path)> {
        self.folders.iter().map(|(name, path)| (*name, path.as_path())).collect()
    }

    fn corpus(&self, chunk_bytes: u64) -> Corpus {
        Corpus::read(&self.sandbox, &self.folders(), chunk_bytes)
    }

    /// Compares with these options and checks the complete report against brute force under these rules.
    #[track_caller]
    fn check(&self, corpus: &Corpus, rules: Rules, args: &[&str]) -> Value {
        // Brute force counts whole chunks.
        let args = &[args, &["--precision", "coarse"]].concat();
        let report = self.sandbox.report(&self.folders(), args);
        check_report(&report, corpus, rules);
        let all: Vec<&str> = args.iter().chain(&["--format", "ndjson"]).copied().collect();
        let lines = self.sandbox.cognate(sandbox::compare_args(&self.folders(), &all)).expect(0).lines();
        check_documents(&lines, &report, corpus, rules);
        report
    }
}

#[track_caller]
fn check_report(report: &Value, corpus: &Corpus, rules: Rules) {
    check_lists(report, corpus, rules);
    assert_eq!((&report["set_aside"], &report["scan"]["templates_digest"]), (&json!([]), &Value::Null));
}

/// Checks what a report lists against brute force, but for what was set aside.
#[track_caller]
pub(crate) fn check_lists(report: &Value, corpus: &Corpus, rules: Rules) {
    let shown = without_times(report);
    same_rows("identical", &shown["identical"], &corpus.identical(rules));
    same_rows("clusters", &shown["clusters"], &corpus.clusters(rules));
    same_rows("overlap", &shown["overlap"], &corpus.overlap(rules));
    assert_eq!(report["histogram"], histogram(report));
    for pair in report["folders"].as_array().unwrap() {
        let number = |field: &str| pair[field].as_f64().unwrap();
        let share = |side: &str| number(&format!("shared_bytes_{side}")) / number(&format!("bytes_{side}")).max(1.0);
        // A share that is neither nothing nor all is at least 0.0001 and at most 0.9999.
        assert!(
            ["a", "b"].iter().all(|side| (number(&format!("share_{side}")) - share(side)).abs() < 0.000_1),
            "{pair}"
        );
    }
    for site in report["sites"].as_array().unwrap() {
        let sum: u64 = site["status"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(site["documents"], sum, "the counts of status add up: {site}");
    }
}

/// Totals of the links of all clusters, which are few enough that none is omitted.
fn histogram(report: &Value) -> Value {
    const BUCKETS: u64 = 20;
    let number = |value: &Value| value.as_u64().unwrap();
    let mut links = vec![[0u64; 2]; 20];
    let mut documents = vec![[0u64; 2]; 20];
    let (mut all_links, mut all_documents) = (0, 0);
    for cluster in report["clusters"].as_array().unwrap() {
        assert_eq!(cluster["links_omitted"], 0);
        let members = cluster["documents"].as_array().unwrap();
        let mut touched = vec![[0u32; 2]; members.len()];
        for link in cluster["links"].as_array().unwrap() {
            let ends = [&link["a"], &link["b"]].map(|end| usize::try_from(number(end)).unwrap());
            let sizes = ends.map(|end| number(&members[end]["payload_bytes"]));
            let shared = number(&link["shared_bytes"]);
            for (measure, total) in [sizes[0] + sizes[1] - shared, sizes[0].min(sizes[1])].into_iter().enumerate() {
                let bucket = usize::try_from((shared * BUCKETS / total).min(BUCKETS - 1)).unwrap();
                links[bucket][measure] += 1;
                ends.iter().for_each(|end| touched[*end][measure] |= 1 << bucket);
            }
            all_links += 1;
        }
        for (member, touched) in members.iter().zip(touched) {
            let copies = number(&member["copies"]);
            all_documents += copies;
            for (bucket, documents) in documents.iter_mut().enumerate() {
                (0..2)
                    .filter(|measure| touched[*measure] >> bucket & 1 == 1)
                    .for_each(|measure| documents[measure] += copies);
            }
        }
    }
    if all_links == 0 {
        return Value::Null;
    }
    let bound = |bucket: usize| match bucket {
        0 => json!(0),
        20 => json!(1),
        _ => json!(bucket as f64 / 20.0),
    };
    let rows = |measure: usize| {
        let row = |bucket: usize| {
            json!({
                "documents": documents[bucket][measure],
                "from": bound(bucket),
                "links": links[bucket][measure],
                "to": bound(bucket + 1),
            })
        };
        (0..20).map(row).collect::<Value>()
    };
    json!({"containment": rows(1), "documents": all_documents, "links": all_links, "resemblance": rows(0)})
}

#[track_caller]
pub(crate) fn check_documents(lines: &[Value], report: &Value, corpus: &Corpus, rules: Rules) {
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let shown: Vec<[String; 4]> = lines
        .iter()
        .filter(|line| line["type"] == "document")
        .map(|line| ["site", "repository", "path", "status"].map(|name| text(line, name)))
        .collect();
    let expected = corpus.statuses(rules);
    for (shown, expected) in shown.iter().zip(&expected) {
        assert_eq!(shown, expected, "the status of a document");
    }
    assert_eq!(shown.len(), expected.len(), "every document has a line");
    let mut counts: BTreeMap<(String, String), BTreeMap<String, u64>> = BTreeMap::new();
    for [site, repository, _, status] in expected {
        let status = status.split('(').next().unwrap().to_owned();
        *counts.entry((site, repository)).or_default().entry(status).or_default() += 1;
    }
    for site in report["sites"].as_array().unwrap() {
        let counted = &counts[&(text(site, "site"), text(site, "repository"))];
        assert_eq!(site["status"], json!(counted), "the counts of {site}");
    }
}

/// Row by row, so that a failure shows the first row that differs and not both lists.
#[track_caller]
fn same_rows(what: &str, shown: &Value, expected: &Value) {
    let (shown, expected) = (shown.as_array().unwrap(), expected.as_array().unwrap());
    for (place, (shown, expected)) in shown.iter().zip(expected).enumerate() {
        assert_eq!(shown, expected, "{what} {place}");
    }
    assert_eq!(shown.len(), expected.len(), "as many {what}");
}

/// The value without the times of documents.
fn without_times(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let remaining = fields.iter().filter(|(name, _)| *name != "modified");
            remaining.map(|(name, value)| (name.clone(), without_times(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_times).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_comparison_finds_the_same_as_brute_force() {
    let made = Made::new(1, 600, &["a", "b"]);
    let corpus = made.corpus(1000);
    let report = made.check(&corpus, Rules::default(), &[]);
    // The corpus has something of everything, or the comparison above says little.
    let statuses: Vec<&str> = report["sites"][0]["status"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(statuses, ["contained", "contains", "excluded", "identical", "near", "shares", "undecided"]);
    assert!(report["clusters"].as_array().unwrap().len() > 5 && report["identical"].as_array().unwrap().len() > 10);
    let rules = Rules { min_shared_bytes: 500, min_containment: (9, 10), ..Rules::default() };
    made.check(&corpus, rules, &["--min-shared-bytes", "500", "--min-containment", "0.9"]);
    let rules = Rules { min_containment: (1, 1), min_shared_bytes: u64::MAX, ..Rules::default() };
    made.check(&corpus, rules, &["--min-shared-bytes", &u64::MAX.to_string(), "--min-containment", "1"]);
    let rules = Rules { across_only: true, ..Rules::default() };
    made.check(&corpus, rules, &["--across-only"]);
}

#[test]
fn small_chunks_find_the_same_as_brute_force() {
    let made = Made::new(2, 150, &["a", "b"]);
    let corpus = made.corpus(100);
    made.check(&corpus, Rules::default(), &["--chunk-bytes", "100"]);
    let rules = Rules { min_shared_bytes: 500, min_containment: (9, 10), across_only: true };
    let args = ["--chunk-bytes", "100", "--min-shared-bytes", "500", "--min-containment", "0.9", "--across-only"];
    made.check(&corpus, rules, &args);
}

#[test]
fn several_parties_and_repositories_compare_as_brute_force_does() {
    let made = Made::new(3, 200, &["acme:a", "acme:b/kb", "acme:b/wiki", "umbrella:c"]);
    let corpus = made.corpus(1000);
    made.check(&corpus, Rules::default(), &[]);
    // Across means across parties now: what a and b share between them does not count.
    let rules = Rules { across_only: true, ..Rules::default() };
    made.check(&corpus, rules, &["--across-only"]);
}

#[test]
fn one_folder_alone_is_compared_within() {
    let made = Made::new(4, 120, &["only"]);
    let report = made.check(&made.corpus(1000), Rules::default(), &[]);
    assert_eq!(report["overlap"], json!([]));
}

#[test]
fn a_pair_is_linked_exactly_at_its_threshold_and_not_one_byte_above() {
    let seed = seed(5);
    let sandbox = Sandbox::seeded(seed);
    let mut dice = Dice::new(seed);
    let original = dice.bytes(40_000);
    let mut other = dice.bytes(50_000);
    other.extend(&original[..20_000]);
    let a = sandbox.folder("a", &[("original", &original)]);
    let b = sandbox.folder("b", &[("other", &other)]);
    let folders = [("a", a.as_path()), ("b", b.as_path())];
    let links = |least: u64| {
        let least = least.to_string();
        let thresholds = ["--min-containment", "1", "--min-shared-bytes", &least];
        let report = sandbox.report(&folders, &[&thresholds[..], &["--precision", "coarse"]].concat());
        report["clusters"].as_array().unwrap().clone()
    };
    let found = links(1);
    let shared = found[0]["links"][0]["shared_bytes"].as_u64().unwrap();
    assert!((15_000..=20_000).contains(&shared), "{shared}");
    assert_eq!(links(shared).len(), 1);
    assert_eq!(links(shared + 1).len(), 0);
    // The share of the smaller, as a decimal that is exact: shared / 40,000 has at most seven digits.
    let share_at = |shared: u64| format!("{}.{:07}", shared * 250 / 10_000_000, shared * 250 % 10_000_000);
    for (share, links) in [(share_at(shared), 1), (share_at(shared + 1), 0)] {
        let thresholds = ["--min-shared-bytes", "1000000000", "--min-containment", share.as_str()];
        let report = sandbox.report(&folders, &[&thresholds[..], &["--precision", "coarse"]].concat());
        assert_eq!(report["clusters"].as_array().unwrap().len(), links, "{share} of 40000, {shared} shared");
    }
}

#[test]
fn copies_of_identical_documents_do_not_multiply_the_links() {
    // Seed 001, figure 7: two clusters, of three and of two documents, each document with a copy in another folder. Told
    // apart they would have 15 and 6 links; collapsed they have 3 and 1.
    let seed = seed(7);
    let sandbox = Sandbox::seeded(seed);
    let mut dice = Dice::new(seed);
    let mut files = Files::new();
    for (cluster, members) in [("three", 3), ("two", 2)] {
        let base = dice.bytes(30_000);
        for member in 0..members {
            let content = edited(&mut dice, base.clone());
            files.insert(format!("here/{cluster}{member}"), content.clone());
            files.insert(format!("there/{cluster}{member}"), content);
        }
    }
    let folder = sandbox.tree("files", &files);
    let report = sandbox.report(&[("site", &folder)], &[]);
    let counts: Vec<u64> =
        report["clusters"].as_array().unwrap().iter().map(|cluster| cluster["link_count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [3, 1]);
    assert_eq!(report["identical"].as_array().unwrap().len(), 5);
    for document in report["clusters"].as_array().unwrap().iter().flat_map(|c| c["documents"].as_array().unwrap()) {
        assert_eq!(document["copies"], 2);
    }
}

#[test]
fn a_chain_is_one_cluster_whose_ends_are_in_no_family() {
    let seed = seed(8);
    let sandbox = Sandbox::seeded(seed);
    let bytes = Dice::new(seed).bytes(100_000);
    let files = [("1", &bytes[..50_000]), ("2", &bytes[25_000..75_000]), ("3", &bytes[50_000..])];
    let folder = sandbox.folder("files", &files);
    let report = sandbox.report(&[("site", &folder)], &["--min-containment", "0.4"]);
    let cluster = &report["clusters"][0];
    assert_eq!((&cluster["relation"], &cluster["link_count"]), (&json!("group"), &json!(2)));
    assert_eq!((&cluster["representative"], &cluster["families"]), (&json!(1), &json!([])));
}

#[test]
fn an_archive_is_distinguished_from_its_parts() {
    let seed = seed(9);
    let sandbox = Sandbox::seeded(seed);
    let mut dice = Dice::new(seed);
    let parts: Vec<Vec<u8>> = (0..4).map(|_| dice.bytes(20_000)).collect();
    let joined = parts.concat();
    let a = sandbox.folder("a", &[("whole", &joined)]);
    let b = sandbox.folder("b", &[("0", &parts[0]), ("1", &parts[1]), ("2", &parts[2]), ("3", &parts[3])]);
    let report = sandbox.report(&[("a", &a), ("b", &b)], &[]);
    let cluster = &report["clusters"][0];
    assert_eq!((&cluster["relation"], &cluster["representative"]), (&json!("archive"), &json!(0)));
    for link in cluster["links"].as_array().unwrap() {
        assert_eq!((&link["a"], &link["relation"]), (&json!(0), &json!("contains")));
    }
    assert_eq!(report["sites"][0]["status"], json!({"contains": 1}));
    assert_eq!(report["sites"][1]["status"], json!({"contained": 4}));
}

#[test]
fn all_of_a_file_of_zeros_that_both_have_is_in_common() {
    let sandbox = Sandbox::seeded(seed(0x5BA5_0001));
    let mut image = vec![0; 3 << 20];
    image[..11].copy_from_slice(b"disk image!");
    let files: Files = [("disk.img".to_owned(), image)].into_iter().collect();
    let folders = ["a", "b"].map(|name| (name, sandbox.tree(name, &files)));
    let folders = folders.each_ref().map(|(name, path)| (*name, path.as_path()));
    let report = sandbox.report(&folders, &[]);
    let overlap = &report["overlap"][0];
    assert_eq!(
        (&overlap["shared_bytes_a"], &overlap["shared_bytes_b"]),
        (&json!(3 << 20), &json!(3 << 20)),
        "{overlap}"
    );
}
