//! Every option of a scan is offered as a flag, in the form and in the API, or is listed here with the reason.

use clap::CommandFactory as _;
use serde_json::Value;

use super::*;
use crate::command::Cli;

/// The interfaces that offer an option, and the wire, which carries it.
const FLAG: &str = "flag";
const FORM: &str = "field of the form";
const API: &str = "key of the API";
const WIRE: &str = "field of the message";

/// Options that one interface lacks, with the reason.
const EXCEPTIONS: [(&str, &str, &str); 18] = [
    ("greedy", FLAG, "the flag is `--cluster greedy`, which names the kind of clusters"),
    ("repositories", FORM, "each repository has a box of its own, `repository`"),
    ("memory_budget", FORM, "the machine of the coordinator is for those who run it"),
    ("memory_budget", API, "as for the form"),
    ("threads", FORM, "the machine of the coordinator is for those who run it"),
    ("threads", API, "as for the form"),
    ("engine", FORM, "the machines behind the coordinator are for those who run it"),
    ("engine", API, "as for the form"),
    ("spark", FORM, "as for the engine"),
    ("spark", API, "as for the form"),
    ("exchange", FORM, "as for the engine"),
    ("exchange", API, "as for the form"),
    ("refine", FORM, "a refinement is launched by command"),
    ("refine", API, "as for the form"),
    ("sample", FLAG, "`scan launch --estimate` sets it, and the view with it"),
    ("origin", FLAG, "commands that save a scan fill it in"),
    ("origin", FORM, "as for the flag"),
    ("origin", API, "as for the flag"),
];

/// Names of all options, ascending.
fn options() -> Vec<String> {
    let options = serde_json::to_value(ScanOptions::default()).unwrap();
    let mut names: Vec<String> = options.as_object().unwrap().keys().cloned().collect();
    names.sort_unstable();
    names
}

fn flags() -> Vec<String> {
    let cli = Cli::command();
    let launch = cli.find_subcommand("scan").and_then(|scan| scan.find_subcommand("launch")).unwrap();
    launch.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned)).collect()
}

fn fields_of_form() -> Vec<&'static str> {
    let page = include_str!("../../../coordinator/web/templates/launch.html");
    page.split(" name=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

fn keys_of_api() -> Vec<String> {
    let api = include_str!("../../../coordinator/web/static/openapi.json");
    let api: Value = serde_json::from_str(api).unwrap();
    api["components"]["schemas"]["Wanted"]["properties"].as_object().unwrap().keys().cloned().collect()
}

fn fields_of_message() -> Vec<&'static str> {
    let proto = include_str!("../../../proto/proto/cognate/v1/operator.proto");
    let message = proto.split("message ScanOptions {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
    let fields = message.lines().filter_map(|line| line.split(" = ").next()?.split_whitespace().last());
    fields.collect()
}

#[test]
fn every_option_has_a_flag_a_field_a_key_and_a_place_in_the_message() {
    let (flags, form, api, message) = (flags(), fields_of_form(), keys_of_api(), fields_of_message());
    for option in options() {
        let with_unit = format!("{option}_");
        for (way, has) in [
            (FLAG, flags.contains(&option.replace('_', "-"))),
            (FORM, form.contains(&option.as_str())),
            (API, api.contains(&option)),
            (WIRE, message.iter().any(|field| *field == option || field.starts_with(&with_unit))),
        ] {
            let excepted = EXCEPTIONS.iter().any(|(name, except, _)| (*name, *except) == (option.as_str(), way));
            assert_ne!(has, excepted, "the {way} of `{option}`: see the options of a scan in CONTRIBUTING.md");
        }
    }
    assert!(EXCEPTIONS.iter().all(|(name, ..)| options().iter().any(|option| option == name)));
}

/// The rows of the guide: an option, and the ways in which it can be set.
fn rows_of_guide() -> Vec<(&'static str, &'static str)> {
    let guide = include_str!("../../../docs/scan-options.md");
    let rows = guide.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = |row: &'static str| Some((row.split('`').next()?, row.trim_end_matches(" |").rsplit("| ").next()?));
    rows.filter_map(cells).collect()
}

#[test]
fn the_guide_lists_every_option_and_where_it_is_set() {
    let (rows, api) = (rows_of_guide(), keys_of_api());
    let mut listed: Vec<&str> = rows.iter().map(|(option, _)| *option).collect();
    listed.sort_unstable();
    assert_eq!(listed, options(), "docs/scan-options.md");
    for (option, ways) in rows {
        assert_eq!(ways.contains('A'), api.iter().any(|key| key == option), "{option}: {ways}");
        let is_field = fields_of_form().contains(&option) || option == "repositories";
        assert_eq!(ways.contains('P'), is_field, "{option}: {ways}");
    }
}

#[test]
fn what_is_typed_becomes_the_option_of_its_name() {
    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        scan: ScanArgs,
    }
    let place = ["paris", "tokyo"].map(|site| (site.parse().unwrap(), RepositoryName::main()));
    let read = |flags: &str| {
        let typed = <Typed as clap::Parser>::try_parse_from(format!("cognate {flags}").split_whitespace()).unwrap();
        typed.scan.options(place.to_vec())
    };
    let untouched = ScanOptions { repositories: place.to_vec(), ..ScanOptions::default() };
    assert_eq!(read("").unwrap(), untouched);
    let all = "--view text --method shingle --param w=9 --chunk-bytes 50 --precision coarse --min-shared-bytes 0 --min-containment 0.75 \
               --include a --exclude b --size-max 4KB --sync-deadline 5m --across-only --require-complete --no-sync \
               --engine spark --spark sc://h:15002 --exchange file:///x \
               --follow --match-message-ids --control c --align x=y --no-align --cluster greedy --memory-budget 64MiB --threads 3";
    let given = serde_json::to_value(read(all).unwrap()).unwrap();
    let untouched = serde_json::to_value(untouched).unwrap();
    for option in
        options().iter().filter(|option| !["repositories", "sample", "refine", "origin"].contains(&option.as_str()))
    {
        assert_ne!(given[option], untouched[option], "`{option}` was typed");
    }
    assert_eq!(given["size_max"], 4000);
    assert_eq!(given["sync_deadline"], "5m");
    for (flags, flag) in [
        ("--chunk-bytes 3", "--chunk-bytes: "),
        ("--param w=9", "--param: "),
        ("--include [", "--include: "),
        ("--align x", "--align: "),
        ("--view raw --match-message-ids", "--match-message-ids: "),
        ("--memory-budget 1MiB", "--memory-budget: "),
        ("--passages", "--passages are paragraphs"),
    ] {
        let refused = read(flags).unwrap_err().to_string();
        assert!(refused.starts_with(flag), "{flags}: {refused}");
    }
}
