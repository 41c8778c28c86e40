use super::*;
use crate::capabilities::FeatureKind;

#[test]
fn a_mean_out_of_range_is_refused_with_the_range() {
    for chunk_bytes in [0, 79, (1 << 20) + 1, u64::MAX] {
        let error = Method::tttd(View::Raw, chunk_bytes).unwrap_err();
        assert!(error.to_string().contains("80 to 1048576"), "{error}");
    }
}

#[test]
fn a_method_is_read_back_from_its_name_and_parameters() {
    for name in Method::NAMES {
        for view in [View::Raw, View::Text] {
            let method = Method::parse(name, view, None, "").unwrap();
            let mean = method.capabilities().mean_is_parameter.then(|| method.chunk_bytes().into());
            assert_eq!(Method::parse(name, view, mean, &method.param()), Ok(method), "{}", method.param());
        }
    }
    for param in ["sample=levels", "sample=min-of-mod,tokens=letters", "sample=all,option=a,tokens=lines"] {
        let method = Method::parse("shingle", View::Text, None, param).unwrap();
        assert_eq!(Method::parse("shingle", View::Text, None, &method.param()), Ok(method), "{param}");
    }
}

#[test]
fn the_id_changes_with_the_mean_and_with_the_key() {
    let ids = [
        Method::tttd(View::Raw, 1000).unwrap().id(&Key::none()),
        Method::tttd(View::Raw, 1001).unwrap().id(&Key::none()),
        Method::tttd(View::Raw, 1000).unwrap().id(&Key::parse(&[1; 32]).unwrap()),
    ];
    assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2], "{ids:?}");
}

#[test]
fn canaries_are_equal_only_under_the_same_key_and_mean() {
    let canary = |mean, key: &Key| Method::tttd(View::Raw, mean).unwrap().canary(key);
    let key = Key::parse(&[1; 32]).unwrap();
    assert_eq!(canary(1000, &key), canary(1000, &key));
    assert_ne!(canary(1000, &key), canary(1000, &Key::none()));
    assert_ne!(canary(1000, &key), canary(200, &key));
    assert_ne!(canary(1 << 20, &key), canary(1 << 20, &Key::none()));
}

fn parsed(name: &str, chunk_bytes: Option<u64>, param: &str) -> Result<Method, MethodError> {
    Method::parse(name, View::Raw, chunk_bytes, param)
}

#[test]
fn the_canonical_form_has_a_line_for_every_parameter() {
    let check = |name: &str, chunk_bytes, param: &str, expected: &str| {
        let method = parsed(name, chunk_bytes, param).unwrap();
        let (major, minor, update) = char::UNICODE_VERSION;
        let form = method.to_string().replace(&format!("unicode={major}.{minor}.{update}"), "unicode");
        assert_eq!(form.replace('\n', " "), format!("method={name}/1 view=raw/1 {expected}"));
    };
    check("mod", None, "", "w=20 n=1000");
    check("mod", Some(200), "w=5", "w=5 n=200");
    check("bsw", None, "n=100", "w=20 n=100");
    check("bsw-chunk", Some(100), "", "w=20 n=100");
    check("min", Some(5), "", "w=20 n=100");
    check("sketch", None, "n=10,w=40", "w=40 n=10");
    check("shingle", None, "", "unicode tokens=words w=7 option=b sample=mod m=167");
    check("shingle", Some(120), "w=3,option=A", "unicode tokens=words w=3 option=a sample=mod m=20");
    check("shingle", Some(120), "tokens=lines", "unicode tokens=lines w=7 option=b sample=mod m=3");
    check("shingle", Some(1), "", "unicode tokens=words w=7 option=b sample=mod m=1");
    check("shingle", None, "sample=min-of-mod", "unicode tokens=words w=7 option=b sample=min-of-mod m=25 s=200");
    check("shingle", None, "sample=levels", "unicode tokens=words w=7 option=b sample=levels s=100");
    check("fuzzy", None, "", "unicode k=10 r=2 rho=3 step=30 words=0");
    let index = "w=100 sample=400 words=200 seed=1";
    check("similarity-index", None, "", &format!("unicode way=43B k=40 {index} hash=signed"));
    check("similarity-index", None, "way=3d,k=4,hash=unsigned", &format!("unicode way=3D k=4 {index} hash=unsigned"));
    assert_eq!(Method::parse("mod", View::Text, None, "").unwrap().chunk_bytes(), 200);
}

#[test]
fn parameters_are_read_back_as_they_are_written() {
    for (name, param) in [
        ("tttd", ""),
        ("mod", "w=5,n=3"),
        ("min", "n=7"),
        ("sketch", "n=7"),
        ("bsw", "n=7"),
        ("bsw-chunk", "n=77"),
        ("shingle", "tokens=lines,w=3,option=a,sample=min-of-mod,m=3,s=9"),
        ("shingle", "sample=levels"),
        ("shingle", "sample=all"),
        ("fuzzy", "words=200,r=2"),
        ("similarity-index", "way=14C,k=4,hash=unsigned"),
    ] {
        let method = parsed(name, None, param).unwrap();
        assert_eq!(parsed(name, None, &method.param()), Ok(method), "{name} {param}");
    }
}

#[test]
fn wrong_parameters_are_refused_with_the_right_ones() {
    let check = |name: &str, chunk_bytes, param: &str, parts: &[&str]| {
        let error = parsed(name, chunk_bytes, param).unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(error.contains(part), "`{part}` is missing: {error}"));
    };
    check("sha1", None, "", &["sha1", "tttd, mod, min"]);
    check("tttd", None, "w=20", &["`tttd`", "--chunk-bytes"]);
    check("mod", None, "w=1", &["w=1", "from 2 to 1024"]);
    check("mod", None, "w=-1", &["w=-1", "from 2 to 1024"]);
    check("mod", None, "n=0", &["n=0", "from 1 to 1048576"]);
    check("mod", None, "m=3", &["no parameter `m`", "w and n"]);
    check("mod", None, "w=20,w=20", &["`w` is given twice"]);
    check("mod", None, "w=20,", &["`` is not a parameter"]);
    check("mod", Some(100), "n=100", &["--chunk-bytes and n="]);
    check("mod", Some(2 << 20), "", &["2097152", "1 to 1048576"]);
    check("bsw-chunk", Some(5), "", &["n=5", "from 16"]);
    check("min", None, "n=65537", &["from 1 to 65536"]);
    check("sketch", None, "n=4097", &["from 1 to 4096"]);
    check("shingle", None, "tokens=bytes", &["words, letters or lines"]);
    check("shingle", None, "option=c", &["b or a"]);
    check("shingle", None, "sample=min,m=3", &["no parameter `m`", "sample and s"]);
    check("fuzzy", None, "r=4", &["from 2 to 3"]);
    check("fuzzy", None, "words=49", &["from 50"]);
    check("similarity-index", None, "way=13A", &["13A"]);
    check("similarity-index", None, "way=14A,k=1", &["from 2"]);
}

#[test]
fn ids_differ_with_every_parameter() {
    let parameters = [
        ("mod", ""),
        ("mod", "w=21"),
        ("mod", "n=999"),
        ("min", ""),
        ("sketch", ""),
        ("bsw", ""),
        ("bsw-chunk", ""),
        ("shingle", ""),
        ("shingle", "w=8"),
        ("shingle", "option=a"),
        ("shingle", "sample=all"),
        ("fuzzy", ""),
        ("fuzzy", "step=26"),
        ("similarity-index", ""),
        ("similarity-index", "seed=2"),
    ];
    let ids: std::collections::BTreeSet<MethodId> =
        parameters.iter().map(|(name, param)| parsed(name, None, param).unwrap().id(&Key::none())).collect();
    assert_eq!(ids.len(), parameters.len());
}

#[test]
fn canaries_of_every_method_are_equal_only_under_the_same_key() {
    let key = Key::parse(&[1; 32]).unwrap();
    for name in Method::NAMES {
        let method = parsed(name, None, "").unwrap();
        assert_eq!(method.canary(&key), method.canary(&key), "{name}");
        assert_ne!(method.canary(&key), method.canary(&Key::none()), "{name}");
    }
    let canary = |param| parsed("shingle", None, param).unwrap().canary(&key);
    assert_ne!(canary("w=2"), canary("w=3"), "the canary has words");
}

/// Every name, with every sample of `shingle`.
const METHODS: [(&str, &str); 15] = [
    ("tttd", ""),
    ("mod", ""),
    ("mod", "n=1"),
    ("bsw", ""),
    ("bsw-chunk", ""),
    ("min", ""),
    ("sketch", ""),
    ("shingle", "sample=all"),
    ("shingle", "sample=mod"),
    ("shingle", "sample=min"),
    ("shingle", "sample=min-of-mod"),
    ("shingle", "sample=levels"),
    ("fuzzy", ""),
    ("similarity-index", ""),
    ("terms", ""),
];

#[test]
fn capabilities_are_those_of_the_table() {
    // F fixed size, E exact (complete), R resemblance, C containment, B shared bytes, T templates, f refinement, W words,
    // K keyed, m mean is the parameter.
    let expected = [
        "-ERCBTf-Km",
        "--RCB-f-K-",
        "-ERCB-f-K-",
        "--RCB-f-K-",
        "-ERCBTf-K-",
        "F-R---f-K-",
        "F-R---f-K-",
        "-ERCB-fWK-",
        "--RCB-fWK-",
        "F-R---fWK-",
        "F-R---fWK-",
        "F-RCB-fWK-",
        "F------WK-",
        "F---B--W--",
        "F------WK-",
    ];
    for ((name, param), expected) in METHODS.into_iter().zip(expected) {
        let can = parsed(name, None, param).unwrap().capabilities();
        let letters = [
            (can.fixed_size, 'F'),
            (can.complete, 'E'),
            (can.resemblance, 'R'),
            (can.containment, 'C'),
            (can.shared_bytes, 'B'),
            (can.templates, 'T'),
            (can.refinement, 'f'),
            (can.words, 'W'),
            (can.keyed, 'K'),
            (can.mean_is_parameter, 'm'),
        ];
        let found: String = letters.iter().map(|(holds, letter)| if *holds { *letter } else { '-' }).collect();
        assert_eq!(found, expected, "{name} {param}");
        assert_eq!(can.has_chunks(), can.templates, "{name} {param}");
    }
}

#[test]
fn capabilities_hold_of_the_signatures_that_a_method_makes() {
    let key = Key::none();
    let text: String =
        (0..4000_u32).map(|number| format!("{}{number} ", ["oak", "elm", "birch"][number as usize % 3])).collect();
    for (name, param) in METHODS {
        let method = parsed(name, None, param).unwrap();
        let can = method.capabilities();
        let mut signer = method.signer(&key);
        let signature = signer.read(&mut text.as_bytes()).unwrap();
        let likeness = method.likeness(&signature, &signature);
        assert_eq!(likeness.resemblance.is_some(), can.resemblance, "{name} {param}");
        assert_eq!(likeness.a_in_b.is_some() && likeness.b_in_a.is_some(), can.containment, "{name} {param}");
        assert!(!can.complete || likeness.resemblance.is_some_and(|estimate| estimate.exact), "{name} {param}");
        assert_eq!(signature.index.is_some(), can.features == FeatureKind::Index, "{name} {param}");
        assert_eq!(signer.read(&mut &b"a\0b"[..]).is_err(), can.words, "{name} {param}");
        assert_eq!(method.chunk_bytes() == 0, can.fixed_size, "{name} {param}");
        let features = signature.features.len() as u64;
        let most = if method.signature_features_max().is_some() { 1 } else { 3 };
        assert!(
            can.features == FeatureKind::TermCounts || features <= most * method.features_expected(text.len() as u64),
            "{name} {param} {features}"
        );
        let bytes: u64 = signature.features.iter().map(|feature| u64::from(feature.weight)).sum();
        assert_eq!(bytes == text.len() as u64, can.has_chunks(), "{name} {param}");
        let other = method.signer(&Key::parse(&[3; 32]).unwrap()).read(&mut text.as_bytes()).unwrap();
        assert_eq!(
            (&other.features, other.index) != (&signature.features, signature.index),
            can.keyed,
            "{name} {param}"
        );
    }
}

#[test]
fn a_method_that_only_proposes_pairs_has_a_verifier_that_does_not() {
    for (name, param) in METHODS {
        for view in [View::Raw, View::Text, View::Passages] {
            let method = Method::parse(name, view, None, param).unwrap();
            assert_eq!(method.verifier().is_some(), method.capabilities().only_proposes(), "{name}");
            let Some(verifier) = method.verifier() else { continue };
            assert!(!verifier.capabilities().only_proposes() && verifier.view() == view, "{name}");
            let is_for_this = verifier.capabilities().verifies.is_none_or(|proposes| proposes == name);
            assert!(
                is_for_this && (verifier.capabilities().has_chunks() || verifier.name() == Method::TERMS),
                "{name}"
            );
        }
    }
}

#[test]
fn a_stored_method_is_restored_with_any_mean() {
    for (name, param) in METHODS {
        let method = parsed(name, None, param).unwrap();
        let stored = u64::from(method.chunk_bytes());
        assert_eq!(Method::restore(name, View::Raw, stored, &method.param()), Ok(method), "{name} {param}");
    }
    assert_eq!(Method::restore("tttd", View::Text, 300, ""), Method::tttd(View::Text, 300));
    assert!(Method::restore("tttd", View::Text, 0, "").is_err() && Method::restore("sha1", View::Raw, 0, "").is_err());
}
