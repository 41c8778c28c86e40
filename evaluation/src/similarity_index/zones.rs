//! The hits within the zones: the paper's Tables 10 to 24.

use crate::findings::{Agreement, Findings, Table};
use crate::similarity_index::documents::{NAMES, ZONES};
use crate::similarity_index::paper::{BEST, PRINTED};
use crate::similarity_index::score::{Run, hits};
use crate::statistics::{per_cent, share};

/// Adds the zones of the paper's five best runs, with the paper's rows and ours.
pub(super) fn add(runs: &[Run], findings: &mut Findings) {
    let mut table = Table::new(
        "similarity-index-zones",
        "Hits in the zones of the paper's five best (Tables 10 to 24): its row, ours signed, ours unsigned",
        &["way", "k", "query", "the paper", "signed", "unsigned"],
    );
    let (mut equal, mut all) = ([0, 0], 0);
    for ((way, k, ..), printed) in BEST.into_iter().zip(PRINTED) {
        let indexes = |signed: bool| {
            let run = runs.iter().find(|run| run.way.to_string() == way && run.k == k && run.signed == signed);
            run.map_or(&[][..], |run| &run.indexes)
        };
        for (zone, printed) in ZONES.iter().zip(printed) {
            for (a, expected) in zone.clone().zip(printed.split(' ')) {
                let row = |signed: bool| -> String {
                    zone.clone().map(|b| if hits(indexes(signed), a, b) { '1' } else { '0' }).collect()
                };
                for (place, signed) in [true, false].into_iter().enumerate() {
                    equal[place] +=
                        row(signed).chars().zip(expected.chars()).filter(|(ours, theirs)| ours == theirs).count();
                }
                all += expected.len();
                table.row([
                    way.into(),
                    k.into(),
                    NAMES[a].into(),
                    expected.into(),
                    row(true).into(),
                    row(false).into(),
                ]);
            }
        }
    }
    findings.tables.push(table);
    let [signed, unsigned] = equal.map(|equal| share(equal, all));
    findings.compare(
        "Tables 10 to 24: hits within the zones",
        "15 matrices, 205 cells",
        "90 % of the cells are the same, signed",
        format!("{} of the cells are the same signed, {} unsigned", per_cent(signed), per_cent(unsigned)),
        Agreement::of(signed >= 0.9),
        "cell by cell in the table below",
    );
}
