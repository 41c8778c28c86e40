//! What two sites have in common beyond the pairs that were measured.

use super::*;

const PASSAGES: usize = 60;
const PASSAGE_BYTES: usize = 600;

fn text(dice: &mut Dice, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        text.push_str(&format!("{:x} ", dice.below(1 << 40)));
    }
    text.truncate(bytes);
    text
}

/// A long document, and many others, of each of which a short passage is somewhere in the long one: too little for any two to be relatives.
fn quoted(dice: &mut Dice) -> [Files; 2] {
    let (mut long, mut others) = (String::new(), Files::new());
    for number in 0..PASSAGES {
        let passage = text(dice, PASSAGE_BYTES);
        long.push_str(&format!("{}{passage}", text(dice, 3000)));
        let other = format!("{}{passage}{}", text(dice, 9000), text(dice, 9000));
        others.insert(format!("{number}.txt"), other.into_bytes());
    }
    [Files::from([("long.txt".to_owned(), long.into_bytes())]), others]
}

#[test]
fn passages_of_documents_that_nobody_pairs_are_in_the_estimate_of_what_is_in_common() {
    let sandbox = Sandbox::new();
    let mut off = Vec::new();
    for seed in 1..=5 {
        let [a, b] = quoted(&mut Dice::new(seed));
        let trees = [("a", &a), ("b", &b)].map(|(name, files)| sandbox.tree(&format!("{name}{seed}"), files));
        let folders: [(&str, &std::path::Path); 2] = [("a", &trees[0]), ("b", &trees[1])];
        let report = sandbox.report(&folders, &[]);
        let row = &report["overlap"][0];
        let bytes = |key: &str| row[key].as_f64().unwrap();
        let all_of_b: Vec<u8> = b.values().flat_map(|document| [&document[..], &b"\0"[..]].concat()).collect();
        let true_bytes = truth(&a["long.txt"], &all_of_b) * bytes("bytes_total_a");
        let [measured, estimated, error] = ["shared_bytes_a", "estimated_bytes_a", "estimate_error_bytes_a"].map(bytes);
        assert!(true_bytes >= (PASSAGES * PASSAGE_BYTES) as f64);
        assert!(measured < true_bytes / 2.0 && estimated > measured, "seed {seed}: {row}");
        assert!(error > 0.0 && error < true_bytes, "seed {seed}: {row}");
        off.push((estimated - true_bytes).abs() / error);
        let told = sandbox.cognate(compare_args(&folders, &[])).expect(0);
        assert!(told.text().contains(" is also at b, by samples about "), "{}", told.text());
    }
    assert!(off.iter().all(|off| *off < 1.0), "{off:?}");
}
