//! The part of a score that is chance: the same documents with their letters exchanged.

use cognate_fingerprint::Formula;

use crate::document::Document;
use crate::error::Error;
use crate::findings::{Agreement, Findings, Table};
use crate::rng::Rng;
use crate::setting::Setting;
use crate::similarity_index::score::{hash, index_all};
use crate::threads::each;

/// Measures the part of a score that is chance: the same documents with other letters differ in their hashes only.
pub(super) fn add(setting: &Setting<'_>, documents: &[Document], findings: &mut Findings) -> Result<(), Error> {
    let count = setting.either(20, 100);
    let mut table = Table::new(
        "similarity-index-ciphers",
        "Scores of the same documents with their letters exchanged",
        &["way", "k", "hash", "ciphers", "least", "median", "greatest", "own letters"],
    );
    let mut described = Vec::new();
    for (way, k, signed) in
        [("23A", 40, true), ("3A", 16, true), ("29A", 40, true), ("23A", 40, false), ("21A", 40, false)]
    {
        setting.step("exchanging letters", described.len(), 5)?;
        let parsed = Formula::parse(way).ok_or_else(|| Error::Method(format!("no way {way}")))?;
        let own = index_all(parsed, (k, 100), signed, documents)?.score.ratio();
        let mut scores = each(count, |number| {
            let mut rng = Rng::of(setting.seed, 40_000 + number as u64);
            let mut letters: Vec<(u64, u8)> = (b'a'..=b'z').map(|letter| (rng.next(), letter)).collect();
            letters.sort_unstable();
            let exchanged = |byte: &u8| match byte {
                b'a'..=b'z' => letters[usize::from(byte - b'a')].1,
                b'A'..=b'Z' => letters[usize::from(byte - b'A')].1.to_ascii_uppercase(),
                other => *other,
            };
            let exchange = |document: &Document| Document {
                path: document.path.clone(),
                bytes: document.bytes.iter().map(exchanged).collect(),
            };
            let documents: Vec<Document> = documents.iter().map(exchange).collect();
            Ok(index_all(parsed, (k, 100), signed, &documents)?.score.ratio())
        })?;
        scores.sort_unstable_by(f64::total_cmp);
        let (least, median, greatest) = (scores[0], scores[count / 2], scores[count - 1]);
        table.row([
            way.into(),
            k.into(),
            hash(signed).into(),
            count.into(),
            least.into(),
            median.into(),
            greatest.into(),
            own.into(),
        ]);
        described.push(format!("{way} k = {k} {}: {least:.2} to {greatest:.2}, median {median:.2}", hash(signed)));
    }
    findings.tables.push(table);
    findings.compare("how much of a score is chance (not in the paper)", "none", "none: the paper claims nothing", described.join("; "), Agreement::Other, "documents with exchanged letters have the same words, repeats and lengths and other hashes: the difference is chance, and the best of 656 draws proves no method");
    Ok(())
}
