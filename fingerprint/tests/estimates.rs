//! Estimates from signatures against the truth: the published examples exactly, and the estimates within their theoretical
//! error, over many keys. Every key is another random order of all windows, so that the
//! estimates under many keys are independent draws.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

use std::collections::BTreeSet;

use cognate_fingerprint::{Estimate, Key, Likeness, Method, Signature, SplitMix64, View, within};

fn method(name: &str, param: &str) -> Method {
    Method::parse(name, View::Raw, None, param).unwrap()
}

fn likeness(method: &Method, key: &Key, a: &[u8], b: &[u8]) -> Likeness {
    let mut signer = method.signer(key);
    let (a, b) = (signer.read(&mut &a[..]).unwrap(), signer.read(&mut &b[..]).unwrap());
    method.likeness(&a, &b)
}

#[track_caller]
fn resembles(a: &str, b: &str, param: &str, agreeing: u64, sample: u64) {
    let method = method("shingle", &format!("sample=all,{param}"));
    let found = likeness(&method, &Key::none(), a.as_bytes(), b.as_bytes()).resemblance.unwrap();
    // The table is of ratios: 7 of 10 is 70 % however it came about.
    assert_eq!(found.agreeing * sample, agreeing * found.sample, "{param}: {found:?}");
    assert!(found.exact && found.interval.is_some_and(|[low, high]| low == high), "{param}: {found:?}");
}

#[test]
fn the_rose_table_comes_out_exactly() {
    let (a, b) = ("a rose is a rose is a rose", "a rose is a flower which is a rose");
    resembles(a, b, "option=a,w=1", 7, 10);
    resembles(a, b, "option=a,w=2", 5, 10);
    resembles(a, b, "option=a,w=3", 3, 10);
    resembles(a, b, "option=b,w=1", 3, 5);
    resembles(a, b, "option=b,w=2", 3, 6);
    // 42.85 %.
    resembles(a, b, "option=b,w=3", 3, 7);
}

#[test]
fn the_shingles_of_the_rose_are_counted_as_published() {
    let features = |param| {
        let method = method("shingle", &format!("sample=all,w=4,{param}"));
        method.signer(&Key::none()).read(&mut &b"A rose is a rose is a rose."[..]).unwrap().features.len()
    };
    assert_eq!((features("option=a"), features("option=b")), (5, 3));
}

#[test]
fn permutations_can_resemble_each_other_wholly() {
    resembles("a c a b a", "a b a c a", "option=a,w=2", 1, 1);
    resembles("a c a b a", "a b a c a", "option=a,w=3", 2, 4);
    resembles("one two three", "three one two", "w=1", 1, 1);
}

/// Pseudo-random bytes that are the same for the same label.
fn noise(label: &str, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(label.as_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// Two documents of which `common` of about 30,000 bytes are the same, in three runs.
fn pair(common: usize) -> (Vec<u8>, Vec<u8>) {
    let run = common / 3;
    let document = |own: &str| {
        let part = |place: usize| {
            [noise(&format!("run {place}"), run), noise(&format!("{own} {place}"), 10_000 - run)].concat()
        };
        [part(0), part(1), part(2)].concat()
    };
    (document("a"), document("b"))
}

fn windows(document: &[u8]) -> BTreeSet<&[u8]> {
    document.windows(20).collect()
}

/// The true resemblance of two documents, and what of the first is in the second.
fn truth(a: &[u8], b: &[u8]) -> (f64, f64) {
    let (a, b) = (windows(a), windows(b));
    let count = |count: usize| f64::from(u32::try_from(count).unwrap());
    let common = count(a.intersection(&b).count());
    (common / (count(a.len()) + count(b.len()) - common), common / count(a.len()))
}

const KEYS: u32 = 250;

/// Estimates under many keys.
fn estimates(method: &Method, a: &[u8], b: &[u8]) -> Vec<Likeness> {
    (0..KEYS)
        .map(|number| {
            let key = Key::parse(blake3::hash(&number.to_le_bytes()).as_bytes()).unwrap();
            likeness(method, &key, a, b)
        })
        .collect()
}

/// Checks that estimates are unbiased, spread as a binomial sample does (times `spread`), and inside their intervals as
/// often as these promise.
#[track_caller]
fn check(what: &str, estimates: &[Estimate], truth: f64, spread: f64) {
    let count = f64::from(KEYS);
    let mean = estimates.iter().map(Estimate::ratio).sum::<f64>() / count;
    let sample =
        estimates.iter().map(|estimate| f64::from(u32::try_from(estimate.sample).unwrap())).sum::<f64>() / count;
    let expected = truth * (1.0 - truth) / sample;
    // Four standard errors of the mean: one such check in 16,000 fails by chance, and the keys are always the same.
    let error = 4.0 * (expected * spread / count).sqrt();
    assert!((mean - truth).abs() < error, "{what}: {mean:.4} is not {truth:.4} ± {error:.4}");
    let variance = estimates.iter().map(|estimate| (estimate.ratio() - truth).powi(2)).sum::<f64>() / count;
    let most = expected * spread * (1.0 + 4.0 * (2.0 / count).sqrt());
    assert!(variance < most, "{what}: a variance of {variance:.6}, not below {most:.6}");
    let inside = estimates
        .iter()
        .filter(|estimate| estimate.interval.is_some_and(|[low, high]| (low..=high).contains(&truth)))
        .count();
    let least = if spread > 1.0 { 0.85 } else { 0.91 };
    assert!(
        f64::from(u32::try_from(inside).unwrap()) > least * count,
        "{what}: {inside} of {KEYS} intervals hold {truth:.4}"
    );
}

fn resemblances(likenesses: &[Likeness]) -> Vec<Estimate> {
    likenesses.iter().map(|likeness| likeness.resemblance.unwrap()).collect()
}

#[test]
fn estimates_of_resemblance_are_unbiased_within_their_theoretical_error() {
    for common in [6_000, 18_000, 28_500] {
        let (a, b) = pair(common);
        let (resemblance, _) = truth(&a, &b);
        for (name, param) in
            [("mod", "n=200"), ("min", "n=100"), ("min", "n=200"), ("sketch", "n=100"), ("sketch", "n=10")]
        {
            let found = resemblances(&estimates(&method(name, param), &a, &b));
            check(&format!("{name} {param} {common}"), &found, resemblance, 1.0);
        }
    }
}

/// `shingle` uses the same samplers over words.
#[test]
fn samples_of_shingles_are_unbiased_too() {
    let words = |label: &str, count: usize| -> String {
        noise(label, 2 * count).chunks(2).map(|pair| format!("w{}x{} ", pair[0], pair[1])).collect()
    };
    let a = words("common", 1500) + &words("a", 700);
    let b = words("common", 1500) + &words("b", 300);
    let all = likeness(&method("shingle", "w=3,sample=all"), &Key::none(), a.as_bytes(), b.as_bytes());
    let truth = all.resemblance.unwrap().ratio();
    for sample in ["mod,m=10", "min,s=100", "levels,s=100", "min-of-mod,m=5,s=100"] {
        let method = method("shingle", &format!("w=3,sample={sample}"));
        let found = estimates(&method, a.as_bytes(), b.as_bytes());
        check(sample, &resemblances(&found), truth, 1.0);
        if method.capabilities().containment {
            let found: Vec<Estimate> = found.iter().map(|likeness| likeness.b_in_a.unwrap()).collect();
            check(sample, &found, all.b_in_a.unwrap().ratio(), 1.0);
        }
    }
}

#[test]
fn estimates_of_containment_are_unbiased_too() {
    let (long, other) = pair(18_000);
    // A part of the one, and something of its own.
    let part = [&long[5_000..12_000], &noise("own", 2_000)[..]].concat();
    let (_, contained) = truth(&part, &long);
    assert!((0.7..0.85).contains(&contained), "{contained}");
    for n in ["n=50", "n=200"] {
        let found: Vec<Estimate> =
            estimates(&method("mod", n), &part, &long).iter().map(|likeness| likeness.a_in_b.unwrap()).collect();
        check(n, &found, contained, 1.0);
    }
    assert!(truth(&part, &other).1 < contained);
}

/// BSW does not draw windows one by one: an edit changes what its run is represented by, and moves boundaries. It reports
/// less than the truth, as the paper found; by how much is measured, not promised.
#[test]
fn bsw_stays_below_the_truth_and_near_it() {
    let (a, b) = pair(24_000);
    let (resemblance, _) = truth(&a, &b);
    let found = resemblances(&estimates(&method("bsw", "n=100"), &a, &b));
    let mean = found.iter().map(Estimate::ratio).sum::<f64>() / f64::from(KEYS);
    assert!((resemblance - 0.06..resemblance + 0.01).contains(&mean), "{mean} {resemblance}");
}

#[test]
fn chunks_are_a_lower_bound_and_exact_as_that() {
    let (a, b) = pair(24_000);
    let (_, contained) = truth(&a, &b);
    for method in [method("bsw-chunk", "n=100"), Method::tttd(View::Raw, 100).unwrap()] {
        let found = likeness(&method, &Key::none(), &a, &b).a_in_b.unwrap();
        assert!(found.exact && found.sample == 30_000, "{found:?}");
        assert!((contained - 0.05..=contained).contains(&found.ratio()), "{found:?} {contained}");
    }
}

#[test]
fn documents_are_wholly_like_themselves_and_not_at_all_like_others() {
    let text = |label: &str| -> String {
        noise(label, 600).chunks(2).map(|pair| format!("{}{} ", char::from(b'a' + pair[0] % 26), pair[1])).collect()
    };
    let (a, b) = (text("a"), text("b"));
    for name in Method::NAMES {
        let param = match name {
            "mod" | "bsw" => "n=20",
            "bsw-chunk" => "n=64",
            "shingle" => "sample=min",
            _ => "",
        };
        let method = method(name, param);
        let same = likeness(&method, &Key::none(), a.as_bytes(), a.as_bytes());
        assert!(same.is_candidate, "{name}");
        assert!(same.resemblance.is_none_or(|estimate| estimate.agreeing == estimate.sample), "{name}: {same:?}");
        let other = likeness(&method, &Key::none(), a.as_bytes(), b.as_bytes());
        assert!(other.resemblance.is_none_or(|estimate| estimate.agreeing == 0), "{name}: {other:?}");
        let contains = method.capabilities().containment;
        assert_eq!(same.a_in_b.is_some() && same.b_in_a.is_some(), contains, "{name}");
        // Nothing in common with a document that has nothing.
        let empty = likeness(&method, &Key::none(), a.as_bytes(), b"");
        assert!(!empty.is_candidate, "{name}: {empty:?}");
    }
}

#[test]
fn the_error_of_a_sample_is_the_published_formula() {
    // 100 samples at a resemblance of one half are within 0.1 of it 96.5 % of the time.
    let inside = within(100, 0.5, 0.1);
    assert!((0.964..0.966).contains(&inside), "{inside}");
    assert!(within(200, 0.5, 0.1) > inside);
}

#[test]
fn signatures_of_a_fixed_size_have_it() {
    let document = noise("document", 50_000);
    let read = |name: &str, param: &str| -> Signature {
        method(name, param).signer(&Key::none()).read(&mut document.as_slice()).unwrap()
    };
    assert_eq!(read("min", "n=77").features.len(), 77);
    assert_eq!(read("sketch", "n=77").features.len(), 77);
    // One in 500 of 50,000 windows, within four standard deviations.
    let features = read("mod", "n=500").features.len();
    assert!((60..140).contains(&features), "{features}");
    let features = read("bsw", "n=500").features.len();
    assert!((60..140).contains(&features), "{features}");
}

/// Texts of any kind: short ones, ones that say few things over and over, ones of one sentence, and ordinary ones.
fn texts_of_all_kinds() -> Vec<(&'static str, String, String)> {
    let words = |label: &str, count: usize| -> String {
        noise(label, 2 * count).chunks(2).map(|pair| format!("w{}x{} ", pair[0], pair[1])).collect()
    };
    // Lines of a log: few different ones, in an order of their own.
    let log = |label: &str, kinds: u8, count: usize| -> String {
        noise(label, count).iter().map(|byte| words(&format!("line {}", byte % kinds), 9) + "\n").collect()
    };
    let edited = log("log", 40, 900).replace("w1", "v1");
    vec![
        ("short", words("common", 25) + &words("a", 12), words("common", 25) + &words("b", 6)),
        ("of nine words", words("nine", 9), words("nine", 8) + "other "),
        ("repeated and edited", log("log", 40, 900), edited),
        ("two logs", log("one", 60, 1500), log("two", 50, 400) + &words("own", 300)),
        ("one sentence over and over", words("sentence", 12).repeat(700), words("sentence", 11).repeat(40)),
        ("one line over and over", words("line", 6).repeat(900), words("line", 6).repeat(3) + &words("end", 4)),
        ("one letter over and over", "a".repeat(5000), "a".repeat(60) + "b" + &"a".repeat(900)),
        ("empty and a page", String::new(), words("page", 300)),
        ("both empty", String::new(), String::new()),
        ("long and short", words("common", 3000), words("common", 150) + &words("c", 80)),
        ("ordinary", words("common", 1500) + &words("a", 700), words("common", 1500) + &words("b", 300)),
    ]
}

#[test]
fn intervals_hold_the_truth_of_documents_of_any_kind() {
    for (kind, a, b) in texts_of_all_kinds() {
        for option in ["a", "b"] {
            let all = method("shingle", &format!("w=3,option={option},sample=all"));
            let all = likeness(&all, &Key::none(), a.as_bytes(), b.as_bytes());
            let truth = all.resemblance.map_or(0.0, |estimate| estimate.ratio());
            for sample in ["mod,m=10", "min,s=100", "levels,s=100", "min-of-mod,m=5,s=50"] {
                let method = method("shingle", &format!("w=3,option={option},sample={sample}"));
                let what = format!("{kind}, option {option}, {sample}");
                let found = estimates(&method, a.as_bytes(), b.as_bytes());
                let told = hold(&what, &found, truth);
                if sample.starts_with("levels")
                    && let Some(exact) = &all.resemblance
                {
                    assert_eq!(told.len(), found.len(), "{what}: it says nothing");
                    let least = exact.sample.min(60);
                    assert!(told.iter().all(|estimate| estimate.sample >= least), "{what}: too small a sample");
                }
            }
        }
    }
}

/// Checks that at least 95 of 100 of the estimates that were given hold the truth, and returns them. (A sample of one in m of a
/// short text may be empty: then nothing is said.)
#[track_caller]
fn hold(what: &str, found: &[Likeness], truth: f64) -> Vec<Estimate> {
    let told: Vec<Estimate> = found.iter().filter_map(|likeness| likeness.resemblance).collect();
    let holds = |estimate: &&Estimate| {
        let [low, high] = estimate.interval.unwrap();
        (low - 1e-9..=high + 1e-9).contains(&truth)
    };
    let inside = told.iter().filter(holds).count();
    // 95 of 100, less four standard errors of 250 draws.
    assert!(inside * 1000 >= told.len() * 895, "{what}: {inside} of {} hold {truth:.4}", told.len());
    told
}

/// The true resemblance by windows, 0 if there are none.
fn resemblance_of_windows(a: &[u8], b: &[u8]) -> f64 {
    if windows(a).is_empty() && windows(b).is_empty() { 0.0 } else { truth(a, b).0 }
}

#[test]
fn intervals_of_windows_hold_the_truth_of_documents_of_any_kind() {
    for (kind, a, b) in texts_of_all_kinds() {
        let truth = resemblance_of_windows(a.as_bytes(), b.as_bytes());
        for (name, param) in
            [("mod", "n=1"), ("mod", "n=20"), ("min", "n=100"), ("sketch", "n=100"), ("sketch", "n=10")]
        {
            let found = estimates(&method(name, param), a.as_bytes(), b.as_bytes());
            hold(&format!("{kind}, {name} {param}"), &found, truth);
        }
    }
}

/// BSW promises nothing: the interval of independent draws would hold the truth of a repetitive text 6 times in 250.
#[test]
fn bsw_gives_a_ratio_without_an_interval() {
    for (kind, a, b) in texts_of_all_kinds() {
        let found = likeness(&method("bsw", "n=20"), &Key::none(), a.as_bytes(), b.as_bytes());
        for estimate in [found.resemblance, found.a_in_b, found.b_in_a].into_iter().flatten() {
            assert!(estimate.interval.is_none() && !estimate.exact, "{kind}: {estimate:?}");
        }
    }
}

/// A text of sentences that come again: how many different ones, how often, and how many of them are the other text's own.
fn text(sentences: &[String], rng: &mut SplitMix64, kinds: u64, count: u64, own: &str) -> String {
    let mut text = String::new();
    for _ in 0..count {
        let number = usize::try_from(rng.next() % kinds).unwrap();
        text += &sentences[number];
        if rng.next().is_multiple_of(7) {
            text += own;
        }
        text += if rng.next().is_multiple_of(3) { "\n" } else { " " };
    }
    text
}

#[test]
fn intervals_hold_the_truth_of_texts_that_chance_makes() {
    let seed = 21;
    println!("seed {seed}");
    let mut rng = SplitMix64::new(seed);
    let key = |number: u64| Key::parse(blake3::hash(&number.to_le_bytes()).as_bytes()).unwrap();
    let methods: Vec<Method> = [
        ("mod", "n=20"),
        ("min", "n=100"),
        ("sketch", "n=50"),
        ("shingle", "w=3,sample=mod,m=5"),
        ("shingle", "w=3,sample=min,s=80"),
        ("shingle", "w=3,sample=levels,s=80"),
        ("shingle", "w=3,sample=levels,s=10"),
        ("shingle", "w=3,sample=min-of-mod,m=3,s=40"),
        ("shingle", "w=3,option=a,sample=levels,s=80"),
    ]
    .map(|(name, param)| method(name, param))
    .into();
    let mut outcomes = vec![[0_u32; 2]; methods.len()];
    for pair in 0..400_u64 {
        let sentences: Vec<String> =
            (0..60).map(|_| (0..1 + rng.next() % 9).map(|_| format!("w{} ", rng.next() % 90)).collect()).collect();
        // From one sentence to sixty, and from no sentence to some hundreds.
        let [kinds_a, kinds_b] = [0, 1].map(|_| 1 + rng.next() % (1 << (rng.next() % 7)).min(60));
        let [count_a, count_b] = [0, 1].map(|_| rng.next() % (1 << (rng.next() % 9)));
        let (own_a, own_b) = (format!("a{pair}"), format!("b{}", rng.next() % 3));
        let a = text(&sentences, &mut rng, kinds_a, count_a, &own_a);
        let b = text(&sentences, &mut rng, kinds_b, count_b, &own_b);
        for (method, [told, inside]) in methods.iter().zip(&mut outcomes) {
            let truth = match method.to_string() {
                form if !form.starts_with("method=shingle") => resemblance_of_windows(a.as_bytes(), b.as_bytes()),
                form => {
                    let option = if form.contains("option=a") { "a" } else { "b" };
                    let all = self::method("shingle", &format!("w=3,option={option},sample=all"));
                    let all = likeness(&all, &Key::none(), a.as_bytes(), b.as_bytes());
                    all.resemblance.map_or(0.0, |estimate| estimate.ratio())
                }
            };
            let found = likeness(method, &key(pair), a.as_bytes(), b.as_bytes()).resemblance;
            if let Some(Estimate { interval: Some([low, high]), .. }) = found {
                *told += 1;
                *inside += u32::from((low - 1e-9..=high + 1e-9).contains(&truth));
            }
        }
    }
    for (method, [told, inside]) in methods.iter().zip(&outcomes) {
        // 95 of 100, less four standard errors of 400 draws.
        assert!(inside * 1000 >= told * 906, "{method}: {inside} of {told}");
    }
}
