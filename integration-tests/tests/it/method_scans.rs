//! Scans with every method: what they say against the estimators, made here from what `cognate fingerprint` says of files.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cognate_integration_tests::canonical::comparable;
use cognate_integration_tests::dice::seed;
use cognate_integration_tests::tree::Files;
use cognate_integration_tests::{Dice, Federation, Sandbox};
use serde_json::{Value, json};

/// Every method with parameters under which short documents have something to show, and what is told of them.
const METHODS: [(&str, &str); 13] = [
    ("mod", "n=50"),
    ("mod", "w=40,n=20"),
    ("bsw", "w=30,n=100"),
    ("bsw-chunk", "n=200"),
    ("min", "n=100"),
    ("sketch", "n=80"),
    ("shingle", "m=5"),
    ("shingle", "sample=all,option=a"),
    ("shingle", "sample=min,s=100"),
    ("shingle", "sample=min-of-mod,m=3,s=60"),
    ("shingle", "sample=levels,s=50"),
    ("fuzzy", "k=18,r=3,step=40"),
    ("similarity-index", "k=4,hash=unsigned"),
];

fn args<'a>(method: &'a str, param: &'a str) -> Vec<&'a str> {
    vec!["--method", method, "--param", param, "--min-containment", "0.3", "--min-shared-bytes", "4000"]
}

/// A word of letters that is no stop word.
fn word(dice: &mut Dice) -> String {
    (0..dice.between(5, 9)).map(|_| char::from(b'a' + u8::try_from(dice.below(20)).unwrap())).collect()
}

/// Texts at two sites: edited a little, much and past knowing, a part of a longer one, one that grew, a copy, and what is no
/// text.
fn trees(dice: &mut Dice) -> [Files; 2] {
    let words: Vec<String> = (0..4000).map(|_| word(dice)).collect();
    let text = |dice: &mut Dice, count: usize| -> Vec<String> {
        // Each text prefers words of its own, or all would be alike to whoever counts words.
        let first = dice.below(3000);
        (0..count).map(|_| words[first + dice.below(900)].clone()).collect()
    };
    let mut trees = [Files::new(), Files::new()];
    for (number, edits) in [0, 5, 40, 150, 500, 1500].into_iter().enumerate() {
        let mut edited = text(dice, 2500);
        trees[0].insert(format!("texts/{number}.txt"), edited.join(" ").into_bytes());
        for _ in 0..edits {
            let place = dice.below(edited.len());
            edited[place] = words[dice.below(words.len())].clone();
        }
        trees[1].insert(format!("texts/{number}.txt"), edited.join(" ").into_bytes());
        let part = edited[..edited.len() / 3].join(" ").into_bytes();
        trees[number % 2].insert(format!("parts/{number}.txt"), part);
    }
    for number in 0..4 {
        let grown = text(dice, 2000);
        trees[0].insert(format!("grown/{number}.txt"), grown.join(" ").into_bytes());
        let more = text(dice, 60 * number);
        trees[1].insert(format!("grown/{number}.txt"), [grown, more].concat().join(" ").into_bytes());
    }
    for tree in &mut trees {
        tree.insert("empty".to_owned(), Vec::new());
        tree.insert("binary".to_owned(), [b"\x7fELF\0", &dice.bytes(900)[..]].concat());
    }
    trees[0].insert("word".to_owned(), b"rose".to_vec());
    trees[1].insert("short".to_owned(), b"a few words and no more".to_vec());
    trees
}

fn sandbox(own: u64) -> (Sandbox, [PathBuf; 2]) {
    let seed = seed(own);
    let sandbox = Sandbox::seeded(seed);
    let trees = trees(&mut Dice::new(seed));
    let paths = [sandbox.tree("a", &trees[0]), sandbox.tree("b", &trees[1])];
    (sandbox, paths)
}

/// What a file became: its size, and its features.
struct Signature {
    size: f64,
    text: String,
    features: BTreeMap<String, f64>,
    index: Option<f64>,
}

/// Two files, by their places.
type Pair = (String, String);

/// What is said of a pair: resemblance, both containments where they are known, shared bytes.
#[derive(PartialEq, Debug)]
struct Said {
    resemblance: f64,
    contained: Option<[f64; 2]>,
    shared_bytes: f64,
}

fn signatures(sandbox: &Sandbox, paths: &[PathBuf; 2], args: &[&str]) -> BTreeMap<String, Signature> {
    let mut found = BTreeMap::new();
    for (site, path) in ["a", "b"].iter().zip(paths) {
        let files: BTreeMap<String, (String, Vec<u8>)> = cognate_integration_tests::sandbox::contents(path)
            .into_iter()
            .map(|(name, bytes)| {
                let file = path.join(&name).to_str().unwrap().to_owned();
                (file, (format!("{site}:{}", name.to_str().unwrap()), bytes))
            })
            .collect();
        let mut all = vec!["fingerprint", "--format", "ndjson"];
        all.extend(args);
        all.push("--");
        all.extend(files.keys().map(String::as_str));
        // What is no text has no line where words are read.
        for line in sandbox.cognate(all).lines() {
            let (name, bytes) = &files[line["path"].as_str().unwrap()];
            let list = line.get("features").or_else(|| line.get("chunks"));
            let mut features = BTreeMap::new();
            for feature in list.and_then(Value::as_array).into_iter().flatten() {
                let (tag, weight) = match feature.as_array().unwrap().as_slice() {
                    [tag, weight] => (tag, weight),
                    [_, weight, tag] => (tag, weight),
                    _ => panic!("{feature}"),
                };
                *features.entry(tag.as_str().unwrap().to_owned()).or_insert(0.0) += weight.as_f64().unwrap();
            }
            let signature = Signature {
                size: line["size_bytes"].as_f64().unwrap(),
                text: String::from_utf8(bytes.clone()).unwrap_or_default(),
                features,
                index: line["index"].as_f64(),
            };
            found.insert(name.clone(), signature);
        }
    }
    found
}

fn weight<'a>(features: impl Iterator<Item = &'a f64>) -> f64 {
    features.sum()
}

/// What both have, by weight: of chunks that occur several times, as often as they do in both.
fn common(a: &Signature, b: &Signature) -> f64 {
    a.features.iter().filter_map(|(tag, weight)| Some(weight.min(*b.features.get(tag)?))).sum()
}

fn by_sets(a: &Signature, b: &Signature) -> Said {
    let (shared, of_a, of_b) = (common(a, b), weight(a.features.values()), weight(b.features.values()));
    let contained = [shared / of_a, shared / of_b];
    Said {
        resemblance: shared / (of_a + of_b - shared),
        contained: Some(contained),
        shared_bytes: contained[0] * a.size,
    }
}

fn alike(resemblance: f64, a: &Signature, b: &Signature) -> Said {
    Said { resemblance, contained: None, shared_bytes: resemblance * (a.size + b.size) / (1.0 + resemblance) }
}

/// How rare a feature is: the last byte of its tag.
fn rank(tag: &str) -> u8 {
    u8::from_str_radix(&tag[30..], 16).unwrap()
}

fn by_smallest(a: &Signature, b: &Signature, s: usize, all_below: bool) -> Said {
    let all: BTreeSet<(Reverse<u8>, &String)> =
        a.features.keys().chain(b.features.keys()).map(|tag| (Reverse(rank(tag)), tag)).collect();
    let whole = all_below && a.features.len() < s && b.features.len() < s;
    let sample: Vec<_> = all.iter().take(if whole { usize::MAX } else { s }).collect();
    let both = sample.iter().filter(|(_, tag)| a.features.contains_key(*tag) && b.features.contains_key(*tag));
    alike(f64::from(u32::try_from(both.count()).unwrap()) / f64::from(u32::try_from(sample.len()).unwrap()), a, b)
}

fn by_levels(a: &Signature, b: &Signature, s: usize) -> Option<Said> {
    let level = |one: &Signature| match 2 * one.features.len() < s {
        true => 0,
        false => one.features.keys().map(|tag| rank(tag)).min().unwrap_or(0),
    };
    let level = level(a).max(level(b));
    let at = |one: &Signature| Signature {
        size: one.size,
        text: String::new(),
        features: one.features.iter().filter(|(tag, _)| rank(tag) >= level).map(|(tag, w)| (tag.clone(), *w)).collect(),
        index: None,
    };
    let (a, b) = (at(a), at(b));
    (!a.features.is_empty() && !b.features.is_empty()).then(|| by_sets(&a, &b))
}

/// The cosine of the angle between how often the words of two texts occur.
fn cosine(a: &str, b: &str) -> f64 {
    let count = |text: &str| {
        text.split(' ').fold(BTreeMap::<String, f64>::new(), |mut counts, word| {
            *counts.entry(word.to_owned()).or_default() += 1.0;
            counts
        })
    };
    let (a, b) = (count(a), count(b));
    let product: f64 = a.iter().filter_map(|(word, count)| Some(count * b.get(word)?)).sum();
    let square = |counts: &BTreeMap<String, f64>| counts.values().map(|count| count * count).sum::<f64>();
    product / (square(&a) * square(&b)).sqrt()
}

/// What the estimator of a method says of a pair that it proposes.
fn said(method: &str, param: &str, a: &Signature, b: &Signature, chunks: [&Signature; 2]) -> Option<Said> {
    let shares = || common(a, b) > 0.0;
    let said = match (method, param) {
        ("mod" | "bsw", _) | ("shingle", "m=5" | "sample=all,option=a") => by_sets(a, b),
        ("bsw-chunk", _) => Said { shared_bytes: common(a, b), ..by_sets(a, b) },
        ("min", _) | ("shingle", "sample=min,s=100") => by_smallest(a, b, 100, true),
        // One in three of a short document is no more than that: the sample is never all there is.
        ("shingle", "sample=min-of-mod,m=3,s=60") => by_smallest(a, b, 60, false),
        ("sketch", _) => alike(common(a, b) / 80.0, a, b),
        ("shingle", _) => return by_levels(a, b, 50).filter(|_| shares()),
        ("fuzzy", _) => return shares().then(|| alike(cosine(&a.text, &b.text), a, b)),
        _ => {
            let (of_a, of_b) = (a.index?, b.index?);
            let hit = |query: f64, other: f64| (other - query).abs() < 0.3 * query.abs();
            let said = Said { shared_bytes: common(chunks[0], chunks[1]), ..by_sets(chunks[0], chunks[1]) };
            return (hit(of_a, of_b) || hit(of_b, of_a)).then_some(said).filter(|said| said.shared_bytes > 0.0);
        }
    };
    shares().then_some(said)
}

/// Whether that makes a link. `features` are those in common, of which each stands for `chunk_bytes` where they are sampled.
fn is_link(said: &Said, sizes: [f64; 2], (features, chunk_bytes): (f64, Option<f64>), is_sampled: bool) -> bool {
    let Some([a_in_b, b_in_a]) = said.contained else { return said.resemblance >= 0.3 };
    let enough = match (is_sampled, chunk_bytes) {
        (false, _) => said.shared_bytes >= 4000.0,
        (true, Some(bytes)) => features >= (4000.0 / bytes).ceil(),
        (true, None) => (a_in_b * sizes[0]).max(b_in_a * sizes[1]).round() >= 4000.0,
    };
    a_in_b.max(b_in_a) >= 0.3 || enough
}

/// All links of a report, told from the document that comes first.
fn links(report: &Value) -> BTreeMap<Pair, Value> {
    let mut found = BTreeMap::new();
    for cluster in report["clusters"].as_array().unwrap() {
        assert_eq!(cluster["links_omitted"], 0);
        let name = |place: &Value| {
            let document = &cluster["documents"][usize::try_from(place.as_u64().unwrap()).unwrap()];
            format!("{}:{}", document["site"].as_str().unwrap(), document["path"].as_str().unwrap())
        };
        for link in cluster["links"].as_array().unwrap() {
            found.insert((name(&link["a"]), name(&link["b"])), link.clone());
        }
    }
    found
}

#[track_caller]
fn near(found: &Value, expected: f64, error: f64, what: &str) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{what}: no number"));
    assert!((found - expected).abs() <= error, "{what}: {found} is not {expected}");
}

fn check_method(sandbox: &Sandbox, paths: &[PathBuf; 2], method: &str, param: &str) {
    let folders: [(&str, &Path); 2] = [("a", &paths[0]), ("b", &paths[1])];
    let report = sandbox.report(&folders, &args(method, param));
    let signatures = signatures(sandbox, paths, &["--method", method, "--param", param]);
    let chunks = self::signatures(sandbox, paths, &[]);
    let found = links(&report);
    let what = format!("{method} {param}");
    assert!(found.len() >= 3, "{what} finds too little to check: {}", found.len());
    let sampled = !matches!(method, "bsw-chunk" | "similarity-index");
    let mut expected = 0;
    // What the first of identical documents says, its copies do not say again.
    let firsts: Vec<(&String, &Signature)> = signatures
        .iter()
        .filter(|(name, one)| {
            !signatures.iter().any(|(other, same)| other < *name && same.text == one.text && !one.text.is_empty())
        })
        .collect();
    for (place, (a, of_a)) in firsts.iter().enumerate() {
        for (b, of_b) in &firsts[place + 1..] {
            let pair = format!("{what}: {a} and {b}");
            let said = said(method, param, of_a, of_b, [&chunks[*a], &chunks[*b]]);
            let features = (common(of_a, of_b), report["scan"]["chunk_bytes"].as_f64());
            let said = said.filter(|said| is_link(said, [of_a.size, of_b.size], features, sampled));
            let link = found.get(&((*a).clone(), (*b).clone()));
            let (Some(said), Some(link)) = (&said, link) else {
                assert_eq!(link.is_some(), said.is_some(), "{pair}: {said:?} {link:?}");
                continue;
            };
            expected += 1;
            // A chunk of one repeated byte, such as the last two, carries no evidence.
            let (slack, error) = if sampled { (1.0, 0.000_051) } else { (9.0, 0.001) };
            near(&link["resemblance"], said.resemblance, error, &pair);
            near(&link["shared_bytes"], said.shared_bytes, slack, &pair);
            match said.contained {
                None => assert_eq!((&link["a_in_b"], &link["b_in_a"]), (&Value::Null, &Value::Null), "{pair}"),
                Some([a_in_b, b_in_a]) => {
                    near(&link["a_in_b"], a_in_b, error, &pair);
                    near(&link["b_in_a"], b_in_a, error, &pair);
                }
            }
            let relation = match said.contained {
                None if said.resemblance >= 0.8 => "near",
                None => "shares",
                Some([a, b]) if a >= 0.8 && b >= 0.8 => "near",
                Some([_, b]) if b >= 0.8 => "contains",
                Some([a, _]) if a >= 0.8 => "contained",
                Some(_) => "shares",
            };
            assert_eq!(link["relation"], relation, "{pair}");
            assert_eq!(link.get("estimated"), sampled.then_some(&json!(true)), "{pair}");
            match link.get("interval").and_then(Value::as_array) {
                None => assert!(!sampled || matches!(method, "fuzzy" | "bsw"), "{pair} has no interval"),
                Some(interval) => {
                    assert_ne!(method, "bsw", "{pair} has an interval");
                    let [low, high] = [0, 1].map(|end: usize| interval[end].as_f64().unwrap());
                    assert!((0.0..=said.resemblance + 0.000_1).contains(&low), "{pair}: {interval:?}");
                    assert!((said.resemblance - 0.000_1..=1.0).contains(&high), "{pair}: {interval:?}");
                }
            }
        }
    }
    assert_eq!(found.len(), expected, "{what} tells pairs that are none");
    check_rest(&report, method, &what);
}

/// What stands beside the links.
fn check_rest(report: &Value, method: &str, what: &str) {
    let scan = &report["scan"];
    assert_eq!((&scan["method"], scan["param"].is_string()), (&json!(method), true), "{what}");
    let verified_by = match method {
        "fuzzy" => json!("cosine"),
        "similarity-index" => json!("tttd"),
        _ => Value::Null,
    };
    assert_eq!(scan["verified_by"], verified_by, "{what}");
    let is_of_words = matches!(method, "shingle" | "fuzzy" | "similarity-index");
    for site in report["sites"].as_array().unwrap() {
        let counts = |name: &str| site["status"].get(name).and_then(Value::as_u64).unwrap_or(0);
        let sum: u64 = site["status"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(site["documents"].as_u64(), Some(sum), "{what}: {site}");
        assert_eq!(site["excluded"]["empty"], 1, "{what}: {site}");
        assert_eq!(site["excluded"].get("no text"), is_of_words.then_some(&json!(1)), "{what}: {site}");
        assert_eq!(site["unreadable"], 0, "{what}: {site}");
        assert!(counts("identical") >= 1, "{what}: {site}");
    }
    let overlap = &report["overlap"][0];
    for side in ["a", "b"] {
        let site = &report["sites"][usize::from(side == "b")];
        let (shared, all) =
            (overlap[format!("shared_bytes_{side}")].as_u64().unwrap(), site["bytes"].as_u64().unwrap());
        assert!(shared > 15_000 && shared < all, "{what}: {shared} of {all}");
    }
    let has_containment = !report["histogram"]["containment"].as_array().unwrap().is_empty();
    let links = links(report);
    let link = links.values().next().unwrap();
    assert_eq!(has_containment, link["a_in_b"].is_number(), "{what}");
}

#[test]
fn every_method_says_what_its_estimator_says_and_finds_all_that_it_would_link() {
    let (sandbox, paths) = sandbox(901);
    for (method, param) in METHODS {
        check_method(&sandbox, &paths, method, param);
    }
}

#[test]
fn threads_memory_and_order_change_nothing_whatever_the_method() {
    let (sandbox, paths) = sandbox(902);
    let folders: [(&str, &Path); 2] = [("a", &paths[0]), ("b", &paths[1])];
    let reversed = [folders[1], folders[0]];
    let state = sandbox.path("state");
    for (method, param) in METHODS {
        let greedy: &[&[&str]] = if matches!(param, "n=50" | "n=100") { &[&["--cluster", "greedy"]] } else { &[] };
        for cluster in [&[][..]].iter().chain(greedy) {
            let of = |more: &[&'static str]| [&args(method, param)[..], cluster, more].concat();
            let first = sandbox.report(&folders, &of(&["--threads", "1"]));
            for other in [
                sandbox.report(&folders, &of(&["--threads", "3", "--memory-budget", "32MiB"])),
                sandbox.report(&reversed, &of(&[])),
                sandbox.report(&folders, &[&of(&["--state"])[..], &[state.to_str().unwrap()]].concat()),
                sandbox.report(&folders, &[&of(&["--no-sync", "--state"])[..], &[state.to_str().unwrap()]].concat()),
            ] {
                assert_eq!(comparable(&other), comparable(&first), "{method} {param} {cluster:?}");
            }
        }
    }
}

#[test]
fn a_federation_says_what_a_comparison_says_with_every_method() {
    let mut federation = Federation::new(903);
    let trees = trees(&mut federation.dice);
    let names: Vec<&str> = METHODS.iter().map(|(method, _)| *method).chain(["tttd"]).collect();
    let policy = format!("[policy]\nmethods = {names:?}\nchunk_bytes_min = \"1\"\n");
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add_with(name, None, files, &policy);
    }
    federation.sandbox.settle();
    federation.start_all();
    for (method, param) in METHODS {
        let args = args(method, param);
        let report = federation.check(federation.scan(&args), &args);
        assert!(!links(&report).is_empty(), "{method} {param}");
        // Again, and of what is there: nothing is asked for twice.
        let again = federation.check(federation.scan(&[&args[..], &["--no-sync"]].concat()), &args);
        assert_eq!(comparable(&again), comparable(&report), "{method} {param}");
    }
}

#[test]
fn what_a_site_does_not_allow_is_refused_with_the_reason() {
    let mut federation = Federation::new(904);
    let trees = trees(&mut federation.dice);
    federation.add_with("a", None, &trees[0], "");
    let open = "[policy]\nmethods = [\"tttd\", \"mod\", \"min\", \"fuzzy\"]\nrefine = false\n";
    federation.add_with("b", None, &trees[1], open);
    federation.sandbox.settle();
    federation.start_all();
    let check = |repositories: &str, method: &str, param: &str, parts: &[&str]| {
        let args = args(method, param);
        let run = federation.operate(&Federation::launching(repositories, &args));
        assert!(matches!(run.code, Some(1 | 3)), "{run:?}");
        let told = format!("{}{}", String::from_utf8_lossy(&run.stdout), run.stderr);
        parts.iter().for_each(|part| assert!(told.contains(part), "`{part}` is not said: {told}"));
    };
    check("a/kb,b/kb", "mod", "n=100", &["a/kb", "policy.methods is tttd, the scan asks for mod"]);
    check("b/kb", "mod", "w=10,n=100", &["policy.window_bytes_min is 20, the scan asks for 10"]);
    check("b/kb", "mod", "n=50", &["policy.chunk_bytes_min is 80, the scan asks for 50"]);
    check("b/kb", "min", "n=2000", &["policy.signature_features_max is 1000, the scan asks for 2000"]);
    check("b/kb", "fuzzy", "", &["the proposals of `fuzzy` cannot be verified", "policy.refine is false"]);
}

#[test]
fn sites_with_other_parameters_are_not_compared() {
    let mut federation = Federation::new(905);
    let trees = trees(&mut federation.dice);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add_with(name, None, files, "[policy]\nmethods = [\"mod\"]\n");
    }
    federation.sandbox.settle();
    federation.start_all();
    for (site, param) in [("a/kb", "n=100"), ("b/kb", "n=200")] {
        federation.operate(&Federation::launching(site, &args("mod", param))).expect(0);
    }
    for (param, without) in [("n=100", "b"), ("n=200", "a")] {
        let run = federation.scan(&[&args("mod", param)[..], &["--no-sync"]].concat()).expect(1);
        assert!(
            run.stderr.contains(&format!("`{without}/kb`")) || run.stderr.contains(&format!("{without}/kb")),
            "{run:?}"
        );
    }
    let synced = federation.scan(&args("mod", "n=200")).report();
    assert_eq!(synced["scan"]["status"], "complete");
}

#[test]
fn parameters_that_make_no_sense_are_refused_before_anything_is_read() {
    let sandbox = Sandbox::new();
    sandbox.folder("x", &[("a", b"text")]);
    let check = |args: &[&str], part: &str| {
        let line = sandbox.cognate([&["compare", "x"], args].concat()).refusal(2);
        assert!(line.contains(part), "`{part}` is not said: {line}");
    };
    check(&["--method", "mod", "--param", "w=1"], "2 to 1024");
    check(&["--method", "min", "--param", "n=0"], "1 to 65536");
    check(&["--method", "sketch", "--param", "s=3"], "w and n");
    check(&["--method", "mod", "--chunk-bytes", "2MiB"], "1 to 1048576");
    check(&["--method", "tttd", "--param", "n=3"], "--chunk-bytes");
    for (args, part) in [(["--method", "terms"], "similarity-index"), (["--cluster", "magic"], "greedy")] {
        let run = sandbox.cognate([&["compare", "x"], &args[..]].concat()).expect(2);
        assert!(run.stderr.contains(part), "{run:?}");
    }
}

#[test]
fn greedy_clusters_are_around_their_representatives() {
    let seed = seed(906);
    let sandbox = Sandbox::seeded(seed);
    let mut dice = Dice::new(seed);
    // A chain: each shares half of itself with the next, and nothing with the one after that.
    let pieces: Vec<Vec<u8>> = (0..6).map(|_| dice.bytes(20_000)).collect();
    let mut files = Files::new();
    for number in 0..5 {
        let more = dice.bytes(100 * number);
        files.insert(format!("{number}"), [&pieces[number][..], &pieces[number + 1], &more].concat());
    }
    let folder = sandbox.tree("x", &files);
    let connected = sandbox.report(&[("x", &folder)], &["--min-containment", "0.3"]);
    assert_eq!(connected["clusters"].as_array().unwrap().len(), 1);
    assert_eq!(connected["scan"].get("cluster"), None);
    for method in
        [&["--method", "tttd"][..], &["--method", "mod", "--param", "n=100"], &["--method", "min", "--param", "n=400"]]
    {
        let args =
            [method, &["--min-containment", "0.2", "--min-shared-bytes", "5000", "--cluster", "greedy"]].concat();
        let report = sandbox.report(&[("x", &folder)], &args);
        assert_eq!(report["scan"]["cluster"], "greedy");
        let clusters: BTreeSet<BTreeSet<&str>> = report["clusters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|cluster| {
                // Every member is linked with the representative.
                let representative = &cluster["representative"];
                let of = |link: &&Value| link["a"] == *representative || link["b"] == *representative;
                let members = cluster["documents"].as_array().unwrap();
                assert_eq!(cluster["links"].as_array().unwrap().iter().filter(of).count(), members.len() - 1);
                members.iter().map(|document| document["path"].as_str().unwrap()).collect()
            })
            .collect();
        // 4 is the largest and takes 3; 2, the largest that is left, takes 1; 0 finds nobody who represents.
        assert_eq!(clusters, BTreeSet::from([BTreeSet::from(["3", "4"]), BTreeSet::from(["1", "2"])]), "{method:?}");
    }
}

#[test]
fn text_views_work_with_methods_of_words_and_bytes() {
    let (sandbox, paths) = sandbox(907);
    let folders: [(&str, &Path); 2] = [("a", &paths[0]), ("b", &paths[1])];
    for view in [&["--view", "text"][..], &["--view", "both"], &["--view", "text", "--passages"]] {
        for (method, param) in
            [("shingle", "m=2"), ("fuzzy", "k=18,r=3,step=40"), ("similarity-index", "k=4"), ("mod", "n=50")]
        {
            let report = sandbox.report(&folders, &[&args(method, param)[..], view].concat());
            let found = links(&report);
            assert!(!found.is_empty(), "{method} {view:?}");
            if view.contains(&"both") {
                let views: BTreeSet<&str> =
                    report["clusters"].as_array().unwrap().iter().map(|one| one["view"].as_str().unwrap()).collect();
                assert_eq!(views, BTreeSet::from(["raw", "text"]), "{method}");
                assert!(report["scan"]["layers"][1]["param"].is_string());
            }
        }
    }
}
