//! Folders made from a seed: contents with copies, edits, parts, archives and repetitions among them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::dice::Dice;

/// Contents by relative path.
pub type Files = BTreeMap<String, Vec<u8>>;

/// No generated document is larger.
const DOCUMENT_BYTES_MAX: usize = 120_000;

/// Writes files below a folder, making what folders they need.
pub fn write(folder: &Path, files: &Files) {
    std::fs::create_dir_all(folder).unwrap();
    for (path, bytes) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
    }
}

/// Documents for several sites, made from the same stock, so that every relation occurs within and across sites.
pub fn varied(dice: &mut Dice, sites: usize, documents: usize) -> Vec<Files> {
    let mut stock: Vec<Vec<u8>> = vec![dice.bytes(9000), dice.bytes(30_000)];
    let mut all = vec![Files::new(); sites];
    for number in 0..documents {
        let mut content = next_content(dice, &stock);
        content.truncate(DOCUMENT_BYTES_MAX);
        let depth = dice.below(4);
        let folders: String = (0..depth).map(|_| format!("d{}/", dice.below(5))).collect();
        let site = dice.below(sites);
        all[site].insert(format!("{folders}f{number}.bin"), content.clone());
        stock.push(content);
    }
    all
}

fn next_content(dice: &mut Dice, stock: &[Vec<u8>]) -> Vec<u8> {
    match dice.below(18) {
        0..=3 => fresh(dice),
        // A copy, which its new place moves or renames.
        4 | 5 => dice.pick(stock).clone(),
        6..=9 => {
            let edits = dice.between(1, 4);
            (0..edits).fold(dice.pick(stock).clone(), |content, _| edited(dice, content))
        }
        // An archive of several, one after the other.
        10 | 11 => {
            let parts = dice.between(2, 4);
            (0..parts).flat_map(|_| dice.pick(stock).clone()).collect()
        }
        12 => Vec::new(),
        // One byte over and over: its chunks are the built-in template.
        13 => vec![*dice.pick(b"\0 x"); dice.between(1, 20_000)],
        14 => {
            let mut content = dice.pick(stock).clone();
            content.extend(std::iter::repeat_n(0, dice.between(3000, 12_000)));
            content.extend(fresh(dice));
            content
        }
        // The same chunks several times, here more often than there.
        15 => {
            let block = dice.pick(stock).clone();
            let times = dice.between(2, 6);
            let mut content = block.repeat(times);
            content.extend(fresh(dice));
            content
        }
        // A part of another.
        _ => {
            let document = dice.pick(stock);
            let start = dice.below(document.len());
            let end = dice.between(start, document.len());
            document[start..end].to_vec()
        }
    }
}

fn fresh(dice: &mut Dice) -> Vec<u8> {
    let count = match dice.below(10) {
        0 | 1 => dice.between(1, 460),
        2..=5 => dice.between(400, 4000),
        6..=8 => dice.between(3000, 30_000),
        _ => dice.between(30_000, 80_000),
    };
    dice.bytes(count)
}

/// The content after one edit: bytes put in, taken out, overwritten, or added at an end.
pub fn edited(dice: &mut Dice, mut content: Vec<u8>) -> Vec<u8> {
    let place = dice.between(0, content.len());
    let count = dice.between(1, 400);
    let end = (place + count).min(content.len());
    match dice.below(4) {
        0 => drop(content.splice(place..place, dice.bytes(count))),
        1 => drop(content.drain(place..end)),
        2 => drop(content.splice(place..end, dice.bytes(end - place))),
        _ => content.extend(dice.bytes(count)),
    }
    content
}

/// Lines of a text, and the same with a word changed in one line of twelve: every chunk of a thousand bytes differs.
pub fn versions(dice: &mut Dice) -> [String; 2] {
    let mut texts = [String::new(), String::new()];
    for line in 0..400 {
        let words: Vec<String> = (0..12).map(|_| format!("{:x}", dice.below(1 << 24))).collect();
        let text = words.join(" ");
        let edited = if line % 12 == 5 { text.replacen(&words[6], "another word", 1) } else { text.clone() };
        texts[0].push_str(&format!("{text}\n"));
        texts[1].push_str(&format!("{edited}\n"));
    }
    texts
}

/// Two trees of so many documents: of each document two [`versions`], one in each tree.
pub fn of_versions(dice: &mut Dice, documents: usize) -> [Files; 2] {
    let mut trees = [Files::new(), Files::new()];
    for number in 0..documents {
        for (tree, text) in trees.iter_mut().zip(versions(dice)) {
            tree.insert(format!("{number}.txt"), text.into_bytes());
        }
    }
    trees
}
