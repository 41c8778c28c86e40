//! `similarity-index`: one number for a document, by all formulas of the paper.
//!
//! Roth (2011): 15 documents in three zones of relatives. The 15 × 15 matrix of hits scores every formula: ones inside the
//! zones are correct, zeros there are false negatives, ones elsewhere false positives. The paper's future work, a much larger
//! collection, follows.

mod ciphers;
mod documents;
mod large;
mod paper;
mod score;
mod scores;
mod zones;

use cognate_fingerprint::Formula;

use crate::error::Error;
use crate::findings::Findings;
use crate::setting::Setting;
use crate::similarity_index::documents::fifteen;
use crate::similarity_index::score::index_all;
use crate::threads::each;

/// (k, w) of the four runs.
const RUNS: [(usize, usize); 4] = [(4, 5), (8, 12), (16, 25), (40, 100)];
pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let documents = fifteen(setting)?;
    let mut findings = Findings::new("The Similarity Index", "Roth 2011, sections 4, 5 and 6.");
    findings.fact("corpus", setting.corpus_name());
    let bytes: Vec<String> =
        documents.iter().map(|document| format!("{} {}", document.path, document.bytes.len())).collect();
    findings.fact("documents", bytes.join(", "));
    let ways: Vec<Formula> = Formula::all().collect();
    let mut runs = Vec::new();
    for signed in [true, false] {
        for (number, (k, w)) in RUNS.into_iter().enumerate() {
            setting.step("making all indexes", number, RUNS.len())?;
            let of_formulas = each(ways.len(), |place| index_all(ways[place], (k, w), signed, &documents))?;
            runs.extend(of_formulas);
        }
    }
    findings.fact("runs", format!("{} signed, as Java has its hashes, and as many unsigned", runs.len() / 2));
    let whole = runs.iter().filter(|run| run.indexes.iter().all(Option::is_some)).count();
    findings.fact(
        "all fifteen count",
        format!(
            "in {whole} of {} runs each document has an index; in the others a document is too short for k. The program is read byte by byte as ISO 8859-1, as in the paper; control characters end words",
            runs.len()
        ),
    );
    scores::add(&runs, &mut findings);
    zones::add(&runs, &mut findings);
    ciphers::add(setting, &documents, &mut findings)?;
    large::add(setting, &mut findings)?;
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_656_runs() {
        assert_eq!(Formula::all().count() * RUNS.len(), 656);
    }
}
