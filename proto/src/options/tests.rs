use proptest::prelude::*;

use super::*;
use crate::limits::PATTERNS_MAX;
use crate::name::ScanId;
use crate::v1;

/// Options none of which has its default, but for the sample: that is of bytes alone, and messages are known by their text.
fn all_given() -> ScanOptions {
    let places = ["paris", "tokyo"].map(|site| (site.parse().unwrap(), "kb".parse().unwrap()));
    ScanOptions {
        repositories: places.to_vec(),
        view: ScanView::Text,
        precision: Precision::Coarse,
        method: "shingle".into(),
        param: "w=9".into(),
        chunk_bytes: Some(50),
        min_shared_bytes: Some(0),
        min_containment: "0.75".into(),
        include: vec!["*.txt".into()],
        exclude: vec!["old/**".into()],
        size_max_bytes: Some(1 << 30),
        sample_percent: None,
        sync_deadline: Some(Duration::from_millis(90_500)),
        across_only: true,
        require_complete: true,
        no_sync: true,
        follow: true,
        match_message_ids: true,
        control: vec!["control/*".into()],
        greedy: true,
        align: vec!["old=new".into()],
        no_align: true,
        memory_budget_bytes: Some(64 << 20),
        threads: NonZeroU32::new(3),
        engine: Engine::Spark,
        spark: "sc://127.0.0.1:15002".into(),
        exchange: "file:///srv/exchange".into(),
        refine: Some(Refine { scan: ScanId(7), what: RefineWhat::Unmatched, size_min_bytes: 4000 }),
        origin: "profile monthly".into(),
    }
}

#[test]
fn every_option_survives_the_message_and_the_text_that_programs_write() {
    let default = serde_json::to_value(ScanOptions::default()).unwrap();
    let sampled = ScanOptions { sample_percent: Some(5), ..all_given() };
    let given = serde_json::to_value(&sampled).unwrap();
    for (name, value) in given.as_object().unwrap() {
        assert_ne!(*value, default[name], "`{name}` has its default: the test would not see it lost");
    }
    for options in [sampled, all_given(), ScanOptions::default()] {
        assert_eq!(ScanOptions::try_from(&v1::ScanOptions::from(&options)).unwrap(), options);
        let text = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<ScanOptions>(&text).unwrap(), options, "{text}");
    }
    all_given().check().unwrap();
    let sampled = ScanOptions { view: ScanView::Raw, match_message_ids: false, refine: None, ..all_given() };
    ScanOptions { sample_percent: Some(5), ..sampled.clone() }.check().unwrap();
    for refused in [0, 100] {
        assert!(ScanOptions { sample_percent: Some(refused), ..sampled.clone() }.check().is_err(), "{refused}");
    }
}

#[test]
fn numbers_names_and_times_are_read_as_programs_write_them() {
    let read = |text: &str| serde_json::from_str::<ScanOptions>(text);
    for (text, expected) in [("0.8", "0.8"), ("1", "1"), ("\"0.80\"", "0.80")] {
        assert_eq!(read(&format!("{{\"min_containment\": {text}}}")).unwrap().min_containment, expected);
    }
    assert_eq!(read(r#"{"sync_deadline": "5m"}"#).unwrap().sync_deadline, Some(Duration::from_secs(300)));
    assert_eq!(read(r#"{"sync_deadline": ""}"#).unwrap().sync_deadline, None);
    for wrong in [
        r#"{"sync_deadline": "soon"}"#,
        r#"{"repositories": ["paris"]}"#,
        r#"{"repositories": ["../etc/kb"]}"#,
        r#"{"view": "smell"}"#,
        r#"{"min_containment": true}"#,
        r#"{"refine": {"scan": "7", "what": "both", "size_min_bytes": 0}}"#,
        r#"{"refine": {"scan": "+000000000000007", "what": "both", "size_min_bytes": 0}}"#,
        r#"{"refine": {"scan": "00000000000000é", "what": "both", "size_min_bytes": 0}}"#,
        r#"{"sync_deadline": "99999999999999999999y"}"#,
        r#"{"threads": 0}"#,
        r#"{"chunk_bytes": -1}"#,
        r#"{"size_maximum": 1}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn an_option_that_makes_no_sense_is_named() {
    let check = |option: &str, change: &dyn Fn(&mut ScanOptions)| {
        let mut options = all_given();
        change(&mut options);
        assert_eq!(options.check().unwrap_err().option, option);
    };
    check("repositories", &|options| options.repositories.clear());
    check("repositories", &|options| options.repositories.push(options.repositories[0].clone()));
    check("repositories", &|options| {
        let name = |number: usize| (format!("s{number}").parse().unwrap(), RepositoryName::main());
        options.repositories = (0..=REPOSITORIES_MAX).map(name).collect();
    });
    check("method", &|options| options.method = "magic".into());
    check("param", &|options| options.param = "w=x".into());
    check("param", &|options| options.method = "tttd".into());
    check("chunk_bytes", &|options| {
        (options.method, options.param, options.chunk_bytes) = ("tttd".into(), String::new(), Some(3));
    });
    check("min_containment", &|options| options.min_containment = "0".repeat(CONTAINMENT_BYTES_MAX + 1));
    check("include", &|options| options.include = vec!["[".into()]);
    check("exclude", &|options| options.exclude = vec!["[".into()]);
    check("control", &|options| options.control = vec!["[".into()]);
    for pairs in [&["old"][..], &["../x=y"], &["a//b=c"], &["a=b", "a/=c"], &["a=", "b=."]] {
        check("align", &|options| options.align = pairs.iter().map(|pair| (*pair).to_owned()).collect());
    }
    check("align", &|options| options.align = (0..257).map(|number| format!("{number}={number}")).collect());
    check("align", &|options| drop(options.repositories.pop()));
    check("match_message_ids", &|options| options.view = ScanView::Raw);
    check("memory_budget", &|options| options.memory_budget_bytes = Some(MEMORY_BUDGET_BYTES_LEAST - 1));
    for option in ["spark", "exchange"] {
        check(option, &|options| {
            options.engine = Engine::Native;
            if option == "exchange" {
                options.spark.clear();
            }
        });
    }
    check("spark", &|options| options.spark = "spark:15002".into());
    check("exchange", &|options| options.exchange = "/srv/exchange".into());
    check("refine", &|options| options.view = ScanView::Both);
    check("refine", &|options| (options.method, options.param) = ("fuzzy".into(), String::new()));
    check("origin", &|options| options.origin = "x".repeat(TEXT_BYTES_MAX + 1));
}

#[test]
fn folders_are_read_as_people_type_them() {
    let align = ["src=", "/doc/v1/=./doc/v2", "x=y=z"].map(str::to_owned).to_vec();
    let read = ScanOptions { align, ..all_given() }.aligned_folders().unwrap();
    let read: Vec<_> = read.iter().map(|pair| pair.each_ref().map(|path| str::from_utf8(path).unwrap())).collect();
    assert_eq!(read, [["src", ""], ["doc/v1", "doc/v2"], ["x", "y=z"]]);
}

#[test]
fn a_message_that_names_what_this_version_does_not_know_is_refused() {
    let check = |option: &str, change: &dyn Fn(&mut v1::ScanOptions)| {
        let mut message = v1::ScanOptions::from(&all_given());
        change(&mut message);
        assert_eq!(ScanOptions::try_from(&message).unwrap_err().option, option);
    };
    check("repositories", &|message| message.repositories[0].site = "../etc".into());
    check("repositories", &|message| message.repositories[0].repository = String::new());
    check("view", &|message| message.view = "smell".into());
    check("precision", &|message| message.precision = "rough".into());
    check("engine", &|message| message.engine = "steam".into());
    check("threads", &|message| message.threads = Some(0));
    check("refine", &|message| message.refine.as_mut().unwrap().what = 99);
}

#[test]
fn two_views_are_bytes_and_then_text_with_the_defaults_of_each() {
    let both = ScanOptions { view: ScanView::Both, ..ScanOptions::default() };
    let layers = both.layers().unwrap();
    assert_eq!(layers.iter().map(|layer| layer.method.view()).collect::<Vec<_>>(), [View::Raw, View::Text]);
    assert_eq!(layers.iter().map(|layer| layer.min_shared_bytes).collect::<Vec<_>>(), [16_384, 2048]);
    assert_eq!(layers.iter().map(|layer| layer.method.chunk_bytes()).collect::<Vec<_>>(), [1000, 200]);
    let short = ScanOptions { chunk_bytes: Some(600), min_shared_bytes: Some(9), ..both };
    assert!(
        short.layers().unwrap().iter().all(|layer| (layer.method.chunk_bytes(), layer.min_shared_bytes) == (600, 9))
    );
}

#[test]
fn an_error_names_the_flag_to_somebody_who_typed_it() {
    let options = ScanOptions { memory_budget_bytes: Some(1), ..all_given() };
    assert_eq!(options.check().unwrap_err().of_flag(), "--memory-budget: it must be at least 32MiB");
}

#[test]
fn options_at_their_limits_are_accepted() {
    let check = |change: &dyn Fn(&mut ScanOptions)| {
        let mut options = all_given();
        change(&mut options);
        assert_eq!(options.check(), Ok(()));
    };
    check(&|options| {
        let name = |number: usize| (format!("s{number}").parse().unwrap(), RepositoryName::main());
        (options.repositories, options.align) = ((0..REPOSITORIES_MAX).map(name).collect(), Vec::new());
    });
    check(&|options| options.min_containment = "0".repeat(CONTAINMENT_BYTES_MAX));
    check(&|options| options.include = vec!["*.txt".into(); PATTERNS_MAX]);
    check(&|options| options.align = (0..256).map(|number| format!("{number}={number}")).collect());
    check(&|options| options.memory_budget_bytes = Some(MEMORY_BUDGET_BYTES_LEAST));
    check(&|options| options.origin = "x".repeat(TEXT_BYTES_MAX));
}

#[test]
fn the_record_of_a_scan_is_shown_without_names_that_were_blanked_and_by_the_defaults_if_it_is_unreadable() {
    let message = v1::ScanOptions::from(&all_given());
    assert_eq!(ScanOptions::of_record(Some(&message)), all_given());
    let mut blanked = message.clone();
    blanked.repositories[0].repository.clear();
    let shown = ScanOptions::of_record(Some(&blanked));
    assert_eq!(shown.repositories, all_given().repositories[1..]);
    assert_eq!(ScanOptions { repositories: all_given().repositories, ..shown }, all_given());
    let later = v1::ScanOptions { view: "smell".into(), ..message };
    assert_eq!(ScanOptions::of_record(Some(&later)), ScanOptions::default());
    assert_eq!(ScanOptions::of_record(None), ScanOptions::default());
}

#[test]
fn an_error_about_a_name_of_a_stranger_is_one_line() {
    let mut message = v1::ScanOptions::from(&all_given());
    message.repositories[0].site = "a\nb\u{1b}[31m\u{202e}".into();
    let error = ScanOptions::try_from(&message).unwrap_err().to_string();
    assert!(error.starts_with("`repositories`: ") && !error.chars().any(crate::shown::is_marked), "{error:?}");
    message.repositories[0].site = "x".repeat(1 << 20);
    assert!(ScanOptions::try_from(&message).unwrap_err().reason.len() <= TEXT_BYTES_MAX);
}

#[test]
fn a_wait_that_no_message_can_hold_becomes_the_longest_one() {
    let options = ScanOptions { sync_deadline: Some(Duration::MAX), ..ScanOptions::default() };
    assert_eq!(v1::ScanOptions::from(&options).sync_deadline_ms, Some(u64::MAX));
}

proptest! {
    #[test]
    fn options_of_any_values_survive_the_message_and_the_text(
        view in prop::sample::select(&ScanView::ALL[..]),
        precision in prop::sample::select(&Precision::ALL[..]),
        engine in prop::sample::select(&Engine::ALL[..]),
        what in prop::sample::select(&[RefineWhat::Linked, RefineWhat::Unmatched, RefineWhat::Both][..]),
        texts in prop::array::uniform3("\\PC{0,9}"),
        lists in prop::array::uniform4(prop::collection::vec("[^/]{0,9}", 0..3)),
        numbers: [Option<u64>; 5],
        flags: [bool; 8],
        threads: u32,
        id: u64,
    ) {
        let [method, param, origin] = texts;
        let [include, exclude, control, align] = lists;
        let [chunk_bytes, min_shared_bytes, size_max_bytes, memory_budget_bytes, wait_ms] = numbers;
        let [across_only, require_complete, no_sync, follow, match_message_ids, greedy, no_align, refines] = flags;
        let options = ScanOptions {
            view, precision, engine, method, param, origin, include, exclude, control, align, chunk_bytes, min_shared_bytes,
            size_max_bytes, memory_budget_bytes, across_only, require_complete, no_sync, follow, match_message_ids, greedy,
            no_align,
            sync_deadline: wait_ms.map(|wait| Duration::from_millis(wait >> 16)),
            threads: NonZeroU32::new(threads),
            refine: refines.then_some(Refine { scan: ScanId(id), what, size_min_bytes: id }),
            ..all_given()
        };
        prop_assert_eq!(ScanOptions::try_from(&v1::ScanOptions::from(&options)), Ok(options.clone()));
        let text = serde_json::to_string(&options).unwrap();
        prop_assert_eq!(serde_json::from_str::<ScanOptions>(&text).unwrap(), options, "{}", text);
    }

    #[test]
    fn a_folder_that_is_typed_in_any_way_is_refused_or_stays_in_its_repository(
        typed in prop::collection::vec("[./a=]{0,9}", 0..4),
    ) {
        if let Ok(folders) = (ScanOptions { align: typed.clone(), ..all_given() }).aligned_folders() {
            prop_assert_eq!(folders.len(), typed.len());
            for folder in folders.iter().flatten().filter(|folder| !folder.is_empty()) {
                prop_assert!(crate::path::DocumentPath::new(folder).is_ok(), "{:?}", folder);
            }
            for side in 0..2 {
                let different: std::collections::HashSet<_> = folders.iter().map(|pair| &pair[side]).collect();
                prop_assert_eq!(different.len(), folders.len());
            }
        }
    }
}
