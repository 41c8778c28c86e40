use super::*;

fn parsed(name: &str, param: &str) -> Result<Algorithm, MethodError> {
    algorithm(name, 1000, None, param)
}

#[test]
fn every_number_is_accepted_to_both_ends_of_its_range_and_not_beyond() {
    for (method, others, name, least, most) in [
        ("mod", "", "w", 2, 1024),
        ("mod", "", "n", 1, 1 << 20),
        ("bsw", "", "n", 1, 1 << 20),
        ("bsw-chunk", "", "n", 16, 1 << 20),
        ("min", "", "n", 1, 65_536),
        ("sketch", "", "n", 1, 4096),
        ("shingle", "", "w", 1, 1000),
        ("shingle", "sample=mod,", "m", 1, 1 << 20),
        ("shingle", "sample=min,", "s", 1, 65_536),
        ("shingle", "sample=min-of-mod,", "m", 1, 1 << 20),
        ("shingle", "sample=min-of-mod,", "s", 1, 65_536),
        ("shingle", "sample=levels,", "s", 1, 65_536),
        ("fuzzy", "", "k", 10, 30),
        ("fuzzy", "", "r", 2, 3),
        ("fuzzy", "", "rho", 1, 16),
        ("fuzzy", "", "step", 1, 100),
        ("fuzzy", "", "words", 50, 1_000_000),
        ("similarity-index", "", "k", 1, 4096),
        ("similarity-index", "", "w", 1, 65_536),
        ("similarity-index", "", "sample", 1, 65_536),
        ("similarity-index", "", "words", 1, 65_536),
    ] {
        let given = |value: u32| parsed(method, &format!("{others}{name}={value}"));
        assert!(given(least).is_ok() && given(most).is_ok(), "{method} {name}");
        for value in [least - 1, most + 1] {
            // No words at all take the document as one.
            if (name, value) == ("words", 49) || least - 1 != value || least > 1 || value > 0 || method != "fuzzy" {
                let error = given(value).unwrap_err();
                assert!(matches!(error, MethodError::Param(ParamError::OutOfRange { .. })), "{method} {name} {error}");
            }
        }
        for nonsense in ["", "x", "1.5", "-1", "4294967296"] {
            assert!(parsed(method, &format!("{others}{name}={nonsense}")).is_err(), "{method} {name}={nonsense}");
        }
    }
}

#[test]
fn a_mean_becomes_the_sampling_of_the_method() {
    for (name, param, mean, expected) in [
        ("tttd", "", 500, Some(500)),
        ("mod", "", 500, Some(500)),
        ("bsw", "", 1, Some(1)),
        ("bsw-chunk", "", 16, Some(16)),
        // Six bytes to a word, forty to a line, one to a letter.
        ("shingle", "", 600, Some(600)),
        ("shingle", "", 602, Some(600)),
        ("shingle", "", 1, Some(6)),
        ("shingle", "tokens=lines", 99, Some(80)),
        ("shingle", "tokens=letters", 99, Some(99)),
        ("shingle", "sample=all", 500, Some(6)),
        ("shingle", "sample=min", 500, None),
        ("shingle", "sample=min-of-mod", 500, None),
        ("min", "", 500, None),
        ("fuzzy", "", 500, None),
        ("similarity-index", "", 500, None),
    ] {
        let found = algorithm(name, 1000, Some(mean), param).unwrap();
        assert_eq!(found.sampling_bytes(), expected, "{name} {param} {mean}");
    }
}

#[test]
fn a_mean_out_of_range_is_refused_by_every_method() {
    for name in NAMES {
        for mean in [0, (1 << 20) + 1, u64::from(u32::MAX) + 1, u64::MAX] {
            let error = algorithm(name, 1000, Some(mean), "").unwrap_err();
            let is_range = matches!(
                error,
                MethodError::ChunkBytesOutOfRange { chunk_bytes } | MethodError::SamplingOutOfRange { chunk_bytes, .. }
                    if chunk_bytes == mean
            );
            assert!(is_range && error.to_string().contains("1048576"), "{name} {error}");
        }
    }
}

#[test]
fn only_whole_names_are_methods() {
    for name in ["", "TTTD", "tttd ", "bsw-", "bsw-chunks", "similarity_index", "sha256"] {
        assert_eq!(parsed(name, ""), Err(MethodError::UnknownMethod { method: name.to_owned() }));
    }
    for name in NAMES {
        assert_eq!(parsed(name, "").unwrap().name(), name);
    }
    assert_eq!(parsed(TERMS, "").unwrap(), Algorithm::Terms);
}

#[test]
fn words_are_chosen_in_either_case_and_others_listed() {
    let lines = parsed("shingle", "tokens=LINES,option=A,sample=All").unwrap();
    assert_eq!(lines, parsed("shingle", "tokens=lines,option=a,sample=all").unwrap());
    let error = parsed("shingle", "sample=some").unwrap_err().to_string();
    assert!(error.contains("mod, min, min-of-mod, levels or all"), "{error}");
    let error = parsed("terms", "w=1").unwrap_err().to_string();
    assert!(error.contains("`terms` has no parameter `w`; it has none"), "{error}");
}
