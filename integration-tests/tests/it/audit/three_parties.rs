//! An audit of three parties, number by number against every text compared with every other.

use std::collections::HashSet;

use super::*;
use crate::fine::truth;

const PARTIES: [(&str, &str); 3] = [("alpha", "acquirer"), ("beta", "target"), ("gamma", "partner")];
const FOLDERS: [&str; 2] = ["letters", "offers"];

/// A document of a party.
struct Document {
    path: String,
    text: String,
    /// True of each party that has a document related to it.
    is_at: [bool; 3],
}

/// The text with another word in some lines, so that most of it stays.
fn edited(dice: &mut Dice, text: &str) -> String {
    let line = |(number, line): (usize, &str)| match number % 7 {
        3 => format!("{} {:x}\n", &line[..line.len() / 2], dice.below(1 << 30)),
        _ => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}

/// Of some texts every party has none, the text itself, an edited one or both; as pages or as plain text.
fn documents(dice: &mut Dice) -> [Vec<Document>; 3] {
    let mut parties = [const { Vec::new() }; 3];
    for number in 0..16 {
        let original = text(dice, 4000);
        for party in &mut parties {
            let version = edited(dice, &original);
            let texts = [(dice.below(3) == 0, original.clone()), (dice.below(4) == 0, version)];
            for (variant, (_, text)) in texts.into_iter().enumerate().filter(|(_, (is_there, _))| *is_there) {
                let kind = ["html", "txt"][dice.below(2)];
                let folder = FOLDERS[dice.below(2)];
                party.push(Document { path: format!("{folder}/{number}-{variant}.{kind}"), text, is_at: [false; 3] });
            }
        }
    }
    let windows = parties.each_ref().map(|documents| documents.iter().map(windows).collect::<Vec<_>>());
    let is_at =
        |own: &HashSet<&[u8]>| windows.each_ref().map(|others| others.iter().any(|other| are_related(own, other)));
    let all = windows.each_ref().map(|documents| documents.iter().map(is_at).collect::<Vec<[bool; 3]>>());
    for (document, is_at) in parties.iter_mut().flatten().zip(all.into_iter().flatten()) {
        document.is_at = is_at;
    }
    parties
}

fn files(documents: &[Document]) -> Files {
    let page = |text: &str| format!("<html><head><title>-</title></head><body><pre>{text}</pre></body></html>");
    let file = |document: &Document| match document.path.ends_with(".html") {
        true => (document.path.clone(), page(&document.text).into_bytes()),
        false => (document.path.clone(), document.text.clone().into_bytes()),
    };
    documents.iter().map(file).collect()
}

/// The windows of 32 bytes.
fn windows(document: &Document) -> HashSet<&[u8]> {
    document.text.as_bytes().windows(32).collect()
}

/// True if half of the windows of one are in the other. Texts are related nearly whole, or not at all.
fn are_related(a: &HashSet<&[u8]>, b: &HashSet<&[u8]>) -> bool {
    2 * a.intersection(b).count() >= a.len().min(b.len())
}

#[test]
fn every_number_of_an_audit_of_three_parties_is_that_of_brute_force() {
    let mut federation = Federation::new(7013);
    let parties = documents(&mut federation.dice);
    let policy = format!("{}[policy]\nunkeyed_across_parties = true\n", key_setting(&federation));
    for ((site, party), documents) in PARTIES.iter().zip(&parties) {
        federation.add_with(site, Some(party), &files(documents), &policy);
    }
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&["--view", "both"]).expect(0);
    let audit = json(&federation);
    let number = |row: &Value, field: &str| row[field].as_u64().unwrap();
    let party = |name: &Value| PARTIES.iter().position(|(_, party)| name == party).unwrap();
    let is_alone = |own: usize, document: &Document| (0..3).all(|other| other == own || !document.is_at[other]);
    let mut alone = 0;
    for side in audit["sides"].as_array().unwrap() {
        let own = party(&side["name"]);
        let only_here = parties[own].iter().filter(|document| is_alone(own, document)).count() as u64;
        assert_eq!(
            [number(side, "only_here_documents"), number(side, "undecided_documents")],
            [only_here, 0],
            "{side}"
        );
        assert_eq!(number(side, "documents"), parties[own].len() as u64, "{side}");
        alone += only_here;
    }
    assert!(alone > 0);
    let rows = audit["overlap"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for direction in rows.iter().flat_map(|row| row["directions"].as_array().unwrap()) {
        let (of, at) = (party(&direction["of"]), party(&direction["at"]));
        let documents = parties[of].iter().filter(|document| document.is_at[at]).count() as u64;
        assert_eq!(number(direction, "documents"), documents, "{direction}");
        assert_eq!(number(direction, "documents_total"), parties[of].len() as u64, "{direction}");
        let all_there: Vec<u8> =
            parties[at].iter().flat_map(|document| [document.text.as_bytes(), b"\0"].concat()).collect();
        let bytes = |document: &Document| truth(document.text.as_bytes(), &all_there) * document.text.len() as f64;
        let truly = parties[of].iter().map(bytes).sum::<f64>() / number(direction, "bytes_total") as f64;
        let told = number(direction, "shared_bytes") as f64 / number(direction, "bytes_total") as f64;
        assert!(told <= truly + 0.01 && truly - told < 0.04, "{told} of {truly}: {direction}");
    }
    for row in audit["only_here"].as_array().unwrap() {
        let own = PARTIES.iter().position(|(site, _)| row["site"] == *site).unwrap();
        let folder = row["folder"].as_str().unwrap();
        let here = parties[own].iter().filter(|document| document.path.starts_with(folder) && is_alone(own, document));
        assert_eq!(number(row, "documents"), here.count() as u64, "{row}");
    }
    // What the parties say of each document adds up to their documents.
    for (_, name) in PARTIES {
        let of_side = audit["decided"].as_array().unwrap().iter().filter(|row| row["side"] == name);
        let decided = of_side.map(|row| number(row, "documents")).sum::<u64>();
        assert_eq!(decided, parties[party(&name.into())].len() as u64, "{}", audit["decided"]);
    }
}
