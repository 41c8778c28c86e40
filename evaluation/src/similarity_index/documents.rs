//! The fifteen documents of the paper, or substitutes of their shape; and a large collection.

use std::collections::HashMap;
use std::fs;
use std::ops::{Range, RangeInclusive};

use crate::corpus::{entries, name_number};
use crate::document::Document;
use crate::error::Error;
use crate::setting::Setting;
use crate::synthetic::Generator;

/// The documents in the order of the zones.
pub(crate) const NAMES: [&str; 15] = [
    "Proverbs.txt",
    "Proverbs1-16.txt",
    "Proverbs1-24.txt",
    "Proverbs25-31.txt",
    "usConstitution(copy).txt",
    "usConstitution-BillofRights.txt",
    "usConstitution-noPreamble.txt",
    "usConstitution.txt",
    "usDOI-1.txt",
    "usDOI-Grievances.txt",
    "usDOI.txt",
    "AddToClipboardAction.java",
    "DeleteDocument.class",
    "Gettysburg.txt",
    "TargetSetup.Result.txt",
];
/// The groups of relatives among them.
pub(crate) const ZONES: [Range<usize>; 3] = [0..4, 4..8, 8..11];

/// The size of a text in the large collection, in bytes.
const TEXT_BYTES: RangeInclusive<usize> = 500..=1 << 20;

/// The fifteen documents: files of these names anywhere in the corpus, or substitutes if there is no corpus.
pub(crate) fn fifteen(setting: &Setting<'_>) -> Result<Vec<Document>, Error> {
    let Some(corpus) = setting.corpus else { return Ok(substitutes(setting.seed)) };
    let mut found = HashMap::new();
    for entry in entries(corpus)? {
        if let Some(name) = entry.path.file_name().and_then(|name| name.to_str())
            && NAMES.contains(&name)
        {
            found.entry(name.to_owned()).or_insert(entry.path);
        }
    }
    let mut documents = Vec::new();
    for name in NAMES {
        let Some(path) = found.get(name) else {
            return Err(Error::Corpus {
                corpus: corpus.to_owned(),
                found: format!("no `{name}`"),
                needed: "the fifteen documents of the paper under their names; without --corpus, stand-ins are made",
            });
        };
        let bytes = fs::read(path).map_err(Error::io("read", path))?;
        documents.push(Document { path: name.to_owned(), bytes: as_text(bytes) });
    }
    Ok(documents)
}

/// A program among the documents as the paper's program read it: a text in which each byte is a letter of ISO 8859-1. Control
/// characters end words. A text stays as it is.
fn as_text(bytes: Vec<u8>) -> Vec<u8> {
    if !bytes.contains(&0) {
        return bytes;
    }
    let letter = |byte: u8| match char::from(byte) {
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    bytes.into_iter().map(letter).collect::<String>().into_bytes()
}

/// Texts of the paper's lengths that contain each other as its documents do.
fn substitutes(seed: u64) -> Vec<Document> {
    let mut generator = Generator::new(seed);
    let mut text = |bytes: usize| {
        let mut text = generator.paragraph(bytes / 4);
        text.truncate(bytes);
        text
    };
    let (proverbs, constitution, declaration) = (text(91_384), text(48_067), text(8_179));
    let grievances = format!("{}{}", &declaration[..2000], &declaration[6086..]);
    let less_a_sentence = format!("{}{}", &declaration[..4000], &declaration[4032..]);
    let texts = [
        proverbs.clone(),
        proverbs[..42_069].to_owned(),
        proverbs[..69_016].to_owned(),
        proverbs[69_016..].to_owned(),
        constitution.clone(),
        constitution[..32_006].to_owned(),
        constitution[339..].to_owned(),
        constitution,
        less_a_sentence,
        grievances,
        declaration,
        text(3_632),
        program(text(9_234)),
        text(1_473),
        text(3_115),
    ];
    let document = |(name, text): (&&str, String)| Document { path: (*name).to_owned(), bytes: text.into_bytes() };
    NAMES.iter().zip(texts).map(document).collect()
}

/// What is read of a program: names and sentences between bytes that are no letters.
fn program(text: String) -> String {
    let bytes = text.into_bytes().into_iter().flat_map(|byte| [byte, if byte == b' ' { 0 } else { byte }]);
    String::from_utf8(as_text(bytes.collect())).expect("letters of ISO 8859-1 are written in UTF-8")
}

/// At most `count` other texts of the corpus, chosen by their names, so that versions of a document are taken together. If
/// there are fewer than a hundred, documents are generated from the seed.
pub(crate) fn collection(setting: &Setting<'_>, count: usize) -> Result<Vec<Document>, Error> {
    let mut documents = Vec::new();
    if let Some(corpus) = setting.corpus {
        let mut entries = entries(corpus)?;
        entries.retain(|entry| TEXT_BYTES.contains(&entry.size_bytes));
        entries.retain(|entry| !NAMES.iter().any(|name| entry.path.ends_with(name)));
        entries.sort_by_key(|entry| name_number(&entry.path));
        for (number, entry) in entries.iter().enumerate() {
            if documents.len() == count {
                break;
            }
            if number % 256 == 0 {
                setting.step("reading", documents.len(), count)?;
            }
            let bytes = fs::read(&entry.path).map_err(Error::io("read", &entry.path))?;
            if !bytes.contains(&0) {
                let path = entry.path.strip_prefix(corpus).unwrap_or(&entry.path);
                documents.push(Document { path: path.to_string_lossy().into_owned(), bytes });
            }
        }
        documents.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }
    if documents.len() < 100 {
        documents = Generator::new(setting.seed).collection(count, 5000);
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substitutes_contain_each_other_as_the_papers_documents_do() {
        let documents = substitutes(1);
        let text = |name: &str| {
            let place = NAMES.iter().position(|known| *known == name).unwrap();
            String::from_utf8(documents[place].bytes.clone()).unwrap()
        };
        assert!(text("Proverbs.txt").starts_with(&text("Proverbs1-24.txt")));
        assert!(text("Proverbs1-24.txt").starts_with(&text("Proverbs1-16.txt")));
        assert!(text("Proverbs.txt").ends_with(&text("Proverbs25-31.txt")));
        assert_eq!(text("usConstitution.txt"), text("usConstitution(copy).txt"));
        assert_eq!(
            (text("usDOI.txt").len(), text("usDOI-1.txt").len(), text("usDOI-Grievances.txt").len()),
            (8179, 8147, 4093)
        );
    }

    #[test]
    fn a_program_is_read_as_letters_and_its_control_characters_end_words() {
        assert_eq!(as_text(b"ab\0cd\x01\xe9f".to_vec()), "ab cd éf".as_bytes());
        assert_eq!(as_text(b"a text\n".to_vec()), b"a text\n");
    }

    #[test]
    fn a_collection_has_as_many_texts_as_were_asked_for_and_versions_of_a_name_together() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["a", "b"] {
            fs::create_dir(folder.path().join(version)).unwrap();
            for number in 0..150 {
                let byte = if number % 10 == 0 { 0 } else { b'a' };
                fs::write(folder.path().join(format!("{version}/{number}")), vec![byte; 490 + number]).unwrap();
            }
        }
        let progress = |_: &str, _, _| true;
        let setting = Setting {
            corpus: Some(folder.path()),
            pairs: &[],
            office_set: false,
            full: true,
            seed: 1,
            progress: &progress,
        };
        let found = |count| -> Vec<String> {
            collection(&setting, count).unwrap().into_iter().map(|document| document.path).collect()
        };
        let hundred = found(100);
        assert_eq!(hundred.len(), 100);
        let (a, b) = hundred.split_at(50);
        assert!(a.iter().zip(b).all(|(a, b)| a[1..] == b[1..]), "{hundred:?}");
        // Of 2 times 140 that are long enough, 2 times 14 are binary.
        assert_eq!(found(1000).len(), 252);
    }
}
