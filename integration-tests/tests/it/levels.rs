//! `shingle sample=levels` in a federation: what scans and finds say of texts that repeat themselves holds what all shingles say.

use std::collections::BTreeMap;

use cognate_integration_tests::{Dice, Federation, Files};
use serde_json::Value;

/// A word of letters that is no stop word.
fn word(dice: &mut Dice) -> String {
    (0..dice.between(5, 9)).map(|_| char::from(b'a' + u8::try_from(dice.below(20)).unwrap())).collect()
}

/// The links of a report by the places of their documents.
fn links(report: &Value) -> BTreeMap<(String, String), Value> {
    let mut found = BTreeMap::new();
    for cluster in report["clusters"].as_array().unwrap() {
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

/// Texts that say few things over and over, short ones, and their versions; one of each kind at either site.
fn repetitive(dice: &mut Dice) -> [Files; 2] {
    let lines: Vec<String> = (0..60).map(|_| (0..9).map(|_| word(dice)).collect::<Vec<_>>().join(" ") + "\n").collect();
    let log = |dice: &mut Dice, kinds: usize, count: usize| -> String {
        (0..count).map(|_| lines[dice.below(kinds)].as_str()).collect()
    };
    let first = log(dice, 40, 900);
    let edited = first.replace(&lines[3], &lines[59]).replace(&lines[7][..20], "something else here");
    let short = lines[..3].concat();
    let pairs = [
        ("edited", first, edited),
        ("logs", log(dice, 55, 1500), log(dice, 50, 400) + lines[58].as_str()),
        ("line", lines[9].repeat(800), lines[9].repeat(5) + lines[10].as_str()),
        ("short", short.clone(), short + lines[4].as_str()),
    ];
    let mut trees = [Files::new(), Files::new()];
    for (name, a, b) in pairs {
        trees[0].insert(format!("{name}.txt"), a.into_bytes());
        trees[1].insert(format!("{name}.txt"), b.into_bytes());
    }
    trees
}

#[test]
fn levels_hold_the_truth_of_texts_that_repeat_themselves_in_scans_and_in_finds() {
    let mut federation = Federation::new(906);
    let trees = repetitive(&mut federation.dice);
    for (name, files) in ["a", "b"].iter().zip(&trees) {
        federation.add_with(
            name,
            None,
            files,
            "[policy]\nmethods = [\"tttd\", \"shingle\"]\nchunk_bytes_min = \"1\"\n",
        );
    }
    federation.sandbox.settle();
    federation.start_all();
    let scan = |sample: &str| {
        let param = format!("w=4,{sample}");
        let args = ["--method", "shingle", "--param", &param, "--min-containment", "0.02", "--min-shared-bytes", "1"];
        links(&federation.scan(&args).report())
    };
    let exact = scan("sample=all");
    for s in [100, 20] {
        let found = scan(&format!("sample=levels,s={s}"));
        for name in ["edited", "logs", "line", "short"] {
            let pair = (format!("a:{name}.txt"), format!("b:{name}.txt"));
            let truth = exact[&pair]["resemblance"].as_f64().unwrap();
            let holds = |shown: &Value, what: &str| {
                let of = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{name} {s} {what}: {shown}"));
                let ratio = of(&shown["resemblance"]);
                let (interval, close) = match what {
                    "scan" => (&shown["interval"], &shown["within_tenth"]),
                    _ => (&shown["intervals"]["resemblance"], &shown["within_tenth"]["resemblance"]),
                };
                assert_eq!(interval.is_array(), close.is_number(), "{name} {s} {what}: {shown}");
                let [low, high] = match interval.as_array() {
                    Some(ends) => [of(&ends[0]), of(&ends[1])],
                    None => [ratio, ratio],
                };
                assert!(
                    low - 0.000_1 <= truth && truth <= high + 0.000_1,
                    "{name} s={s} {what}: {ratio} in {low} to {high}, and not {truth}"
                );
            };
            holds(&found[&pair], "scan");
            let sought = federation.site("a").folder().join(format!("{name}.txt"));
            let param = format!("w=4,sample=levels,s={s}");
            let answer = federation
                .operate(&[
                    "find",
                    sought.to_str().unwrap(),
                    "--method",
                    "shingle",
                    "--param",
                    &param,
                    "--format",
                    "json",
                ])
                .expect(0)
                .json();
            let matches = answer["documents"][0]["matches"].as_array().unwrap();
            let holds_version = |one: &&Value| {
                let holders = one["holders"].as_array().unwrap();
                holders.iter().any(|holder| holder["site"] == "b" && holder["path"] == format!("{name}.txt").as_str())
            };
            let version = matches.iter().find(holds_version);
            holds(version.unwrap_or_else(|| panic!("find does not see {name}: {matches:?}")), "find");
        }
    }
}
