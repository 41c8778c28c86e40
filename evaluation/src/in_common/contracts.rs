//! The office set: contracts that a program wrote with one template, as drafted and as signed.
//!
//! Each is a text document (`.docx`) with the theme of the template, which is most of its bytes and says nothing of its words.
//! Its clauses are its own but for a few that all have, with other names, sums and dates. The signed version has a clause or two
//! rewritten, and other values. What the two versions share is in their text.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::rng::Rng;
use crate::synthetic::Generator;

/// The number of contracts.
const CONTRACTS: usize = 24;
/// The clauses of a contract, and its own among them.
const CLAUSES: usize = 17;
const OWN_CLAUSES: usize = 12;
/// The bytes of the theme that the template gives to every document.
const THEME_BYTES: usize = 33_000;

/// Writes both versions below a folder, and returns their folders: the drafted contracts, and the signed ones.
pub(super) fn write(below: &Path, seed: u64) -> Result<[PathBuf; 2], Error> {
    let folders = ["contracts-drafted", "contracts-signed"].map(|name| below.join(name));
    for folder in &folders {
        fs::create_dir(folder).map_err(Error::io("create the folder", folder))?;
    }
    let mut author = Author { words: Generator::new(seed), rng: Rng::of(seed, 24) };
    let theme = format!("<a:theme>{}</a:theme>", author.words.paragraph(THEME_BYTES / 6));
    let shared: Vec<String> = (OWN_CLAUSES..CLAUSES).map(|_| author.clause()).collect();
    for number in 0..CONTRACTS {
        let drafted = author.contract(&shared);
        let signed = author.signed(&drafted);
        for (folder, clauses) in folders.iter().zip([drafted, signed]) {
            let path = folder.join(format!("contract-{number:02}.docx"));
            fs::write(&path, document(&theme, &clauses)).map_err(Error::io("write", &path))?;
        }
    }
    Ok(folders)
}

struct Author {
    words: Generator,
    rng: Rng,
}

impl Author {
    fn clause(&mut self) -> String {
        let words = 40 + self.rng.below(60);
        self.words.paragraph(words).replace('\n', " ")
    }

    /// A name, a sum and a date, as the blanks of a form have them.
    fn values(&mut self) -> String {
        let name = self.words.paragraph(2);
        let (sum, day) = (1000 + self.rng.below(90_000), 1 + self.rng.below(28));
        format!("{name}, {sum} euros, by the {day}th")
    }

    fn contract(&mut self, shared: &[String]) -> Vec<String> {
        let mut clauses: Vec<String> = (0..OWN_CLAUSES).map(|_| self.clause()).collect();
        for (number, clause) in shared.iter().enumerate() {
            let (start, end) = clause.split_at(clause.find(' ').unwrap_or(0));
            clauses.insert(3 * number, format!("{start} {}{end}", self.values()));
        }
        clauses
    }

    /// The version that was signed: one or two clauses are written again, and in a third of the others a word or a sum differs.
    fn signed(&mut self, drafted: &[String]) -> Vec<String> {
        let mut signed = drafted.to_vec();
        for _ in 0..=self.rng.below(2) {
            let place = self.rng.below(signed.len());
            signed[place] = self.clause();
        }
        for clause in &mut signed {
            if self.rng.below(3) == 0 {
                let mut words: Vec<&str> = clause.split(' ').collect();
                let value = self.values();
                let place = self.rng.below(words.len());
                words[place] = &value;
                *clause = words.join(" ");
            }
        }
        signed
    }
}

/// A text document with the theme of the template.
fn document(theme: &str, clauses: &[String]) -> Vec<u8> {
    let body: String = clauses.iter().map(|text| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")).collect();
    let relations = "<Relationships><Relationship Id=\"a\" Type=\"http://schemas.example/officeDocument\" \
                     Target=\"word/document.xml\"/></Relationships>";
    archive(&[
        ("[Content_Types].xml", "<Types/>"),
        ("_rels/.rels", relations),
        ("word/theme/theme1.xml", theme),
        ("word/document.xml", &format!("<w:document><w:body>{body}</w:body></w:document>")),
    ])
}

/// A zip archive of files that are stored as they are.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let (at, size) = (length(archive.len()), length(content.len()));
        let mut head = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        head.extend(checksum(content.as_bytes()).to_le_bytes());
        head.extend([size, size].concat());
        head.extend(length(name.len()));
        archive.extend([b"PK\x03\x04", head.as_slice(), name.as_bytes(), content.as_bytes()].concat());
        directory.extend([b"PK\x01\x02\x14\x03", head.as_slice(), &[0; 10], &at, name.as_bytes()].concat());
    }
    let (at, size) = (length(archive.len()), length(directory.len()));
    let count = u16::try_from(files.len()).unwrap_or(u16::MAX).to_le_bytes();
    archive.extend(directory);
    archive.extend([b"PK\x05\x06\0\0\0\0", [count, count].concat().as_slice(), &size, &at, &[0; 2]].concat());
    archive
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).expect("a contract has some 50 KB").to_le_bytes()
}

/// CRC-32, bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0xEDB8_8320 } else { 0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::text_of;

    #[test]
    fn contracts_have_text_that_a_reader_sees_and_are_the_same_for_the_same_seed() {
        let made = |seed| {
            let folder = tempfile::tempdir().unwrap();
            let folders = write(folder.path(), seed).unwrap();
            folders.map(|folder| fs::read(folder.join("contract-07.docx")).unwrap())
        };
        let [drafted, signed] = made(1);
        assert_eq!(made(1), [drafted.clone(), signed.clone()]);
        assert_ne!(made(2)[0], drafted);
        let texts = [drafted, signed].map(|bytes| String::from_utf8(text_of(&bytes).unwrap()).unwrap());
        assert!(texts.iter().all(|text| text.len() > 4000 && text.contains(" euros, by the ")), "{texts:?}");
        assert!(!texts[0].contains("theme") && texts[0] != texts[1], "{texts:?}");
    }
}
