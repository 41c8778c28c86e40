//! The auditor's report: what is said of related and of unrelated sides, what was planted, and who signed it.

mod three_parties;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use cognate_integration_tests::dice::text;
use cognate_integration_tests::{Dice, Federation, Files};
use serde_json::Value;

/// Two companies: documents of their own, a few in common (one of them twice at the first), and a control at each.
fn companies(own_seed: u64, related: bool) -> Federation {
    let mut federation = Federation::new(own_seed);
    let mut sides = [Files::new(), Files::new()];
    for number in 0..30 {
        for (side, files) in sides.iter_mut().enumerate() {
            files.insert(format!("own{side}/{number}.txt"), federation.dice.bytes(12_000));
        }
    }
    if related {
        let (same, near) = (federation.dice.bytes(20_000), federation.dice.bytes(40_000));
        let edit = federation.dice.bytes(900);
        sides[0].insert("contracts/same.txt".to_owned(), same.clone());
        sides[0].insert("contracts/copy of same.txt".to_owned(), same.clone());
        sides[1].insert("papers/same.txt".to_owned(), same);
        sides[0].insert("contracts/near.txt".to_owned(), near.clone());
        sides[1].insert("papers/near.txt".to_owned(), [&near[..], &edit].concat());
    }
    let sample = federation.dice.bytes(30_000);
    let edit = federation.dice.bytes(700);
    sides[0].insert("control/sample.txt".to_owned(), sample.clone());
    sides[1].insert("control/sample edited.txt".to_owned(), [&edit[..], &sample].concat());
    let [a, b] = sides;
    let policy = "[policy]\nunkeyed_across_parties = true\n";
    federation.add_with("alpha", Some("acquirer"), &a, policy);
    federation.add_with("beta", Some("target"), &b, policy);
    federation.sandbox.settle();
    federation.start_all();
    federation
}

fn audit(federation: &Federation, format: &str) -> PathBuf {
    let file = federation.sandbox.path(format!("audit.{format}"));
    let path = file.to_str().unwrap();
    federation.operate(&["report", "audit", "latest", "--format", format, "-o", path]).expect(0);
    file
}

fn json(federation: &Federation) -> Value {
    let text = std::fs::read_to_string(audit(federation, "json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["audit"].take()
}

fn statement(audit: &Value) -> String {
    audit["statement"].as_array().unwrap().iter().map(|row| row.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn two_unrelated_companies_have_nothing_in_common_but_what_was_planted_and_that_was_found() {
    let federation = companies(7001, false);
    federation.scan(&["--control", "control/*"]).expect(0);
    let audit = json(&federation);
    let said = statement(&audit);
    assert!(said.contains("Reported shares of two documents are within "), "{said}");
    assert!(said.contains("have nothing in common"), "{said}");
    assert!(said.contains("Every one of the 2 documents planted as controls"), "{said}");
    assert!(said.contains("that two documents share word for word is found in 95 of 100 cases"), "{said}");
    assert!(!said.contains("as identical copies"), "one control is an edited one: {said}");
    assert!(!said.contains("reviewed"), "there is no match that somebody could review: {said}");
    for direction in audit["overlap"][0]["directions"].as_array().unwrap() {
        for count in ["documents", "contents", "shared_bytes", "shared_once_bytes", "template_bytes"] {
            assert_eq!(direction[count], 0, "{direction}");
        }
        assert_eq!(direction["documents_total"], 31);
    }
    assert_eq!(audit["folders"].as_array().map_or(0, Vec::len), 0, "the folders of controls are no folders in common");
    // Documents of equal names are compared, and by the default policy sites give no fine chunks across parties without a key: none of these
    // pairs is measured.
    for side in audit["sides"].as_array().unwrap() {
        let counts = ["only_here_documents", "undecided_documents", "controls"].map(|field| side[field].as_u64());
        assert_eq!(counts, [Some(0), Some(30), Some(1)], "{side}");
    }
    assert!(said.contains("Of 60 documents IT IS NOT DECIDED"), "{said}");
    check_decided(&audit);
    let why: Vec<&str> = audit["decided"].as_array().unwrap().iter().filter_map(|row| row["how"].as_str()).collect();
    assert_eq!(why, ["no fine chunks"; 2]);
    for control in audit["controls"].as_array().unwrap() {
        assert_eq!(control["found"][0]["relation"], "near", "{control}");
        assert_eq!(control["missed"].as_array().unwrap().len(), 0);
    }
}

/// Of each side, what was decided of how many documents, and how, are the numbers of the other sections.
fn check_decided(audit: &Value) {
    for side in audit["sides"].as_array().unwrap() {
        let sum = |wanted: &dyn Fn(&Value) -> bool| {
            let own =
                audit["decided"].as_array().unwrap().iter().filter(|row| row["side"] == side["name"] && wanted(row));
            own.map(|row| row["documents"].as_u64().unwrap()).sum::<u64>()
        };
        let number = |field: &str| side[field].as_u64().unwrap();
        assert_eq!(sum(&|row| row["elsewhere"] == "no"), number("only_here_documents"), "{audit}");
        assert_eq!(sum(&|row| row["elsewhere"] == "not decided"), number("undecided_documents"), "{audit}");
        assert_eq!(sum(&|row| row["elsewhere"] == "standard text"), number("standard_text_documents"), "{audit}");
        let all = sum(&|_| true) + number("controls") + number("unreadable");
        assert_eq!(all, number("documents"), "{audit}");
        let mut directions = audit["overlap"][0]["directions"].as_array().unwrap().iter();
        let direction = directions.find(|direction| direction["of"] == side["name"]).unwrap();
        assert_eq!(sum(&|row| row["elsewhere"] == "yes"), direction["documents"].as_u64().unwrap(), "{audit}");
    }
}

#[test]
fn a_pdf_that_says_what_the_signed_page_says_is_accepted_and_another_is_not() {
    let federation = companies(7006, true);
    // Names that a print breaks at their hyphens.
    for (site, top) in [("alpha", "contracts"), ("beta", "papers")] {
        let folder = federation.site(site).folder().join(top);
        let long = folder
            .join("non-disclosure-agreements-with-our-suppliers/which-were-signed-in-the-first-quarter-of-the-year");
        std::fs::create_dir_all(&long).unwrap();
        std::fs::copy(folder.join("same.txt"), long.join("agreement-with-a-supplier-of-parts.txt")).unwrap();
    }
    federation.sandbox.settle();
    federation.scan(&["--control", "control/*", "--view", "both"]).expect(0);
    let full = "Northwind Trading & Shipping GmbH";
    federation.operate(&["site", "party", "acquirer", full]).expect(0);
    let signed = audit(&federation, "html");
    let page = std::fs::read_to_string(&signed).unwrap();
    assert!(page.contains("Northwind Trading &amp; Shipping GmbH"), "{page}");
    assert!(page.contains("No person has reviewed a random sample"), "{page}");
    let print = |name: &str, page: &str| {
        let (html, pdf) =
            (federation.sandbox.path(format!("{name}.html")), federation.sandbox.path(format!("{name}.pdf")));
        std::fs::write(&html, page).unwrap();
        cognate_integration_tests::browser::print(&html, &pdf).then_some(pdf)
    };
    let Some(pdf) = print("same", &page) else { return };
    let verify = |pdf: &std::path::Path| {
        let words = ["report", "verify", signed.to_str().unwrap(), "--printed", pdf.to_str().unwrap()];
        federation.sandbox.cognate(words)
    };
    let told = verify(&pdf).expect(0);
    assert!(told.text().contains("every word of the signed page"), "{}", told.text());
    // Two figures in each other's place, and a sentence less.
    let once = |from: &str, to: &str| page.replacen(from, to, 1);
    let lists = once("<li>It describes the state of the files at the time of the scan.</li>", "");
    for (name, changed) in [("swapped", once("acquirer", "target")), ("shorter", lists)] {
        assert_ne!(changed, page, "{name}");
        let told = verify(&print(name, &changed).unwrap());
        assert!(
            told.code == Some(1) && told.stderr.contains("does not say what the signed page says"),
            "{name}: {told:?}"
        );
    }
}

#[test]
fn what_two_companies_share_is_told_both_ways_with_and_without_copies() {
    let federation = companies(7002, true);
    federation.scan(&["--control", "control/*"]).expect(0);
    let audit = json(&federation);
    let [a, b] = [0, 1].map(|side| audit["overlap"][0]["directions"][side].clone());
    assert_eq!((a["of"].as_str(), a["at"].as_str()), (Some("acquirer"), Some("target")));
    assert_eq!((&a["documents"], &a["contents"]), (&3.into(), &2.into()), "{a}");
    assert_eq!((&b["documents"], &b["contents"]), (&2.into(), &2.into()), "{b}");
    let bytes = |side: &Value, name: &str| side[name].as_u64().unwrap();
    assert_eq!(bytes(&a, "shared_bytes") - bytes(&a, "shared_once_bytes"), 20_000);
    assert_eq!(bytes(&b, "shared_bytes"), bytes(&b, "shared_once_bytes"));
    assert!((50_000..=60_000).contains(&bytes(&b, "shared_bytes")), "{b}");
    // Of what only one side may have, by folder, no pair is measured; controls and what is shared are not of it.
    let alone: BTreeMap<String, u64> = audit["only_here"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                format!("{}:{}", row["site"].as_str().unwrap(), row["folder"].as_str().unwrap()),
                row["undecided_documents"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(alone, BTreeMap::from([("alpha:own0".to_owned(), 30), ("beta:own1".to_owned(), 30)]));
    // What was received is what the sites' ledgers say.
    for row in audit["evidence"].as_array().unwrap() {
        let site = row["site"].as_str().unwrap();
        let verified = federation.worker(site, &["ledger", "verify"]).expect(0);
        let line = verified.text().lines().find(|line| line.contains(row["epoch"].as_str().unwrap()));
        let cells: Vec<&str> = line.unwrap().split_whitespace().collect();
        let [batches, bytes] = ["batches", "bytes"].map(|count| row[count].to_string());
        assert_eq!(cells[3..], [&batches, &batches, &bytes, &bytes, "same"], "{row}");
    }
}

#[test]
fn what_a_side_shares_and_what_only_it_has_add_up_over_both_views_in_one_unit() {
    let mut federation = Federation::new(7011);
    let mut text = |words: usize| -> String {
        let word = |bytes: Vec<u8>| bytes.iter().map(|byte| char::from(b'a' + byte % 26)).collect::<String>();
        (0..words).map(|_| word(federation.dice.bytes(7)) + " ").collect()
    };
    let page =
        |text: &str| format!("<html><head><title>-</title></head><body><p>{text}</p></body></html>").into_bytes();
    let mut sides = [Files::new(), Files::new()];
    for number in 0..6 {
        sides[0].insert(format!("own/{number}.html"), page(&text(300)));
        sides[1].insert(format!("own/{number}.txt"), text(300).into_bytes());
        let shared = text(300);
        sides[0].insert(format!("shared/{number}.html"), page(&shared));
        sides[0].insert(format!("copies/{number}.html"), page(&shared));
        sides[1].insert(format!("notes/{number}.txt"), shared.into_bytes());
    }
    let policy = "[policy]\nunkeyed_across_parties = true\n";
    for (site, party, files) in [("alpha", "acquirer", &sides[0]), ("beta", "target", &sides[1])] {
        federation.add_with(site, Some(party), files, policy);
    }
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&["--view", "both"]).expect(0);
    let audit = json(&federation);
    check_decided(&audit);
    for (side, (alone, related)) in audit["sides"].as_array().unwrap().iter().zip([(6, 12), (6, 6)]) {
        let directions = audit["overlap"][0]["directions"].as_array().unwrap();
        let direction = directions.iter().find(|direction| direction["of"] == side["name"]).unwrap();
        let number = |row: &Value, field: &str| row[field].as_u64().unwrap();
        assert_eq!((number(side, "only_here_documents"), number(side, "undecided_documents")), (alone, 0), "{side}");
        assert_eq!((number(direction, "documents"), number(direction, "documents_total")), (related, alone + related));
        assert_eq!(number(direction, "bytes_total"), number(side, "compared_bytes"), "one unit: {side} {direction}");
        let sum = number(direction, "shared_bytes") + number(side, "only_here_bytes");
        let all = number(side, "compared_bytes");
        assert!(sum <= all && all - sum < all / 50, "{side} {direction}");
    }
}

#[test]
fn documents_of_which_another_side_has_standard_text_alone_are_counted_apart_from_what_is_only_here() {
    let mut federation = Federation::new(7012);
    let with_key = key_setting(&federation);
    let terms = text(&mut federation.dice, 6000);
    let mut sides = [Files::new(), Files::new()];
    for (side, files) in sides.iter_mut().enumerate() {
        for number in 0..12 {
            let [head, own] = [400, 3700].map(|bytes| text(&mut federation.dice, bytes));
            files.insert(
                format!("contracts/{} {number}.txt", ["draft", "signed"][side]),
                format!("{head}{terms}{own}").into(),
            );
        }
        for number in 0..3 {
            files.insert(format!("own{side}/{number}.txt"), text(&mut federation.dice, 5000).into());
        }
    }
    for (site, party, files) in [("alpha", "acquirer", &sides[0]), ("beta", "target", &sides[1])] {
        federation.add_with(site, Some(party), files, &with_key);
    }
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&[]).expect(0);
    let audit = json(&federation);
    let counts = ["only_here_documents", "standard_text_documents", "undecided_documents", "documents"];
    for side in audit["sides"].as_array().unwrap() {
        assert_eq!(counts.map(|field| side[field].as_u64().unwrap()), [3, 12, 0, 15], "{side}");
        let bytes = ["only_here_bytes", "standard_text_bytes", "undecided_bytes", "compared_bytes"];
        let [only_here, standard_text, undecided, all] = bytes.map(|field| side[field].as_u64().unwrap());
        assert_eq!((only_here + standard_text, undecided), (all, 0), "{side}");
    }
    let folders = ["documents", "standard_text_documents", "undecided_documents"];
    let rows = audit["only_here"].as_array().unwrap().iter();
    let rows = rows.map(|row| (row["folder"].as_str().unwrap(), folders.map(|field| row[field].as_u64().unwrap())));
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [("own0", [3, 0, 0]), ("contracts", [0, 12, 0]), ("own1", [3, 0, 0]), ("contracts", [0, 12, 0])]
    );
    for direction in audit["overlap"][0]["directions"].as_array().unwrap() {
        assert_eq!((&direction["documents"], &direction["documents_total"]), (&0.into(), &15.into()), "{direction}");
    }
    let said = statement(&audit);
    assert!(said.contains("Of 24 documents, another side has standard text and nothing else"), "{said}");
}

/// The setting of a worker that has the federation key.
fn key_setting(federation: &Federation) -> String {
    let key = federation.sandbox.path("key");
    std::fs::write(&key, "5a".repeat(32)).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    format!("key = \"{}\"\n", key.display())
}

#[test]
fn the_report_and_the_sites_call_parties_by_their_full_names() {
    let federation = companies(7009, true);
    federation.scan(&["--control", "control/*"]).expect(0);
    let full = "Northwind Trading GmbH";
    federation.operate(&["site", "party", "acquirer", full]).expect(0);
    federation.operate(&["site", "invite", "gamma", "--party", "target", "--party-name", "Target Foods Ltd"]).expect(0);
    federation.operate(&["site", "party", "nobody", full]).refusal(1);
    federation.operate(&["site", "party", "target", &"x".repeat(101)]).refusal(2);
    let audit = json(&federation);
    let said = statement(&audit);
    assert!(said.contains(&format!("of the bytes of {full} are also at Target Foods Ltd")), "{said}");
    assert!(!said.contains("acquirer"), "{said}");
    assert_eq!((&audit["sides"][0]["name"], &audit["sides"][0]["full_name"]), (&"acquirer".into(), &full.into()));
    let page = std::fs::read_to_string(self::audit(&federation, "html")).unwrap();
    assert!(page.contains("Northwind Trading GmbH") && page.contains("in this federation <em>"), "{page}");
    let shown = federation.operate(&["site", "show", "alpha"]).expect(0);
    assert!(shown.text().contains(&format!("acquirer ({full})")), "{}", shown.text());
    // Without words that only the program has.
    let words = page.split("<body>").nth(1).unwrap().to_lowercase();
    for word in ["tttd", ">raw<", "epoch", "by admin "] {
        assert!(!words.contains(word), "the page says `{word}`");
    }
    // An empty name takes it away.
    federation.operate(&["site", "party", "acquirer", ""]).expect(0);
    assert!(statement(&json(&federation)).contains("of the bytes of acquirer"));
}

#[test]
fn the_report_names_the_federation_key_as_each_site_prints_it() {
    let mut federation = Federation::new(7010);
    let with_key = key_setting(&federation);
    let trees = cognate_integration_tests::tree::varied(&mut federation.dice, 2, 20);
    for ((name, party), files) in [("alpha", "acquirer"), ("beta", "target")].into_iter().zip(&trees) {
        federation.add_with(name, Some(party), files, &with_key);
    }
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&[]).expect(0);
    // A scan of what was synced before knows it too.
    for _ in 0..2 {
        let audit = json(&federation);
        let (fingerprint, words) = (
            audit["asked"]["federation_key"]["fingerprint"].as_str().unwrap(),
            &audit["asked"]["federation_key"]["words"],
        );
        let printed = format!("the key's fingerprint is {fingerprint}, in words {}", words.as_str().unwrap());
        for site in ["alpha", "beta"] {
            assert_eq!(federation.worker(site, &["key", "check"]).expect(0).text().trim(), printed);
        }
        assert!(
            statement(&audit).contains(&format!("known by its fingerprint {fingerprint} (")),
            "{}",
            statement(&audit)
        );
        let page = std::fs::read_to_string(self::audit(&federation, "html")).unwrap();
        assert!(
            page.contains("<dt>federation key</dt>") && page.matches(words.as_str().unwrap()).count() > 1,
            "{page}"
        );
        assert_ne!(audit["made"]["key_words"], *words, "the key that signs is another one");
        federation.scan(&["--no-sync"]).expect(0);
    }
}

#[test]
fn what_was_planted_at_one_side_alone_is_told_as_missed() {
    let federation = companies(7003, true);
    federation.scan(&["--control", "own0/7.txt", "--control", "control/*"]).expect(0);
    let audit = json(&federation);
    let said = statement(&audit);
    for part in ["1 of 2 controls that", "planted were NOT FOUND at", "if not, they show nothing"] {
        assert!(said.contains(part), "who planted them is told, and what it means: {said}");
    }
    check_decided(&audit);
    let first = &audit["controls"][0];
    assert_eq!((first["path"].as_str(), first["missed"][0].as_str()), (Some("own0/7.txt"), Some("target")));
    federation.scan(&[]).expect(0);
    assert!(statement(&json(&federation)).contains("No document was planted"));
}

#[test]
fn a_signed_report_is_verified_without_a_connection_and_a_changed_byte_is_refused() {
    let mut federation = companies(7004, true);
    federation.scan(&[]).expect(0);
    let files = ["json", "html"].map(|format| audit(&federation, format));
    federation.stop_coordinator();
    for file in &files {
        let path = file.to_str().unwrap();
        let told = federation.operate(&["report", "verify", path]).expect(0);
        assert!(told.text().contains("the authority of your own federation"), "{}", told.text());
        let told = federation.sandbox.cognate(["report", "verify", path]).expect(0);
        assert!(told.text().contains("unchanged, signed with the key"), "{}", told.text());
        let sealed = std::fs::read(file).unwrap();
        for place in [sealed.len() / 3, sealed.len() - 40] {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            std::fs::write(file, &changed).unwrap();
            let refused = federation.sandbox.cognate(["report", "verify", path]).refusal(1);
            assert!(refused.contains("does not match its signature"), "{refused}");
        }
    }
}

#[test]
fn the_page_needs_nothing_beside_it_and_shows_hostile_names_harmlessly() {
    let mut federation = Federation::new(7006);
    let shared = federation.dice.bytes(20_000);
    let mut files = Files::new();
    files.insert("<img src=x onerror=alert(1)>/a\u{202e}fdp.exe".to_owned(), shared);
    federation.add("a", &files);
    federation.add("b", &files);
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&["--control", "*fdp*"]).expect(0);
    let page = std::fs::read_to_string(audit(&federation, "html")).unwrap();
    assert!(!page.contains("<img") && !page.contains('\u{202e}') && page.contains("&lt;img"), "{page}");
    for address in ["http:", "https:", "//cdn", "<script", "@import", "url("] {
        assert!(!page.contains(address), "{address}");
    }
    assert!(page.contains("no document of the one is identical"), "controls count in no overlap");
}
