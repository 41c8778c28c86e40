//! The options of a scan in a form and through the API: one list of fields for showing, reading and carrying them.

use std::fmt::Display;

use cognate_fingerprint::Method;
use cognate_proto::name::one_line;
use cognate_proto::options::ScanOptions;
use serde_json::{Map, Value};

use crate::{Fields, PageError};

/// A field of the form.
struct Field {
    /// The name in the form.
    name: &'static str,
    /// The name of the option, which is its key in the API as well.
    option: &'static str,
    kind: Kind,
}

/// The way in which a field is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// One text.
    Text,
    /// A size in bytes: `500`, `4KB`, `64MiB`.
    Size,
    /// A list, one a line.
    Lines,
    /// A list, of which each has a box of its own.
    Boxes,
    /// A box: yes or no.
    Box,
}

/// The options that a form and a program can give. `templates/launch.html` shows them, `static/openapi.json` lists them.
const FIELDS: [Field; 22] = [
    Field { name: "repository", option: "repositories", kind: Kind::Boxes },
    of_option("view", Kind::Text),
    of_option("method", Kind::Text),
    of_option("param", Kind::Text),
    of_option("chunk_bytes", Kind::Size),
    of_option("precision", Kind::Text),
    of_option("min_shared_bytes", Kind::Size),
    of_option("min_containment", Kind::Text),
    of_option("include", Kind::Lines),
    of_option("exclude", Kind::Lines),
    of_option("size_max", Kind::Size),
    of_option("sample", Kind::Size),
    of_option("sync_deadline", Kind::Text),
    of_option("across_only", Kind::Box),
    of_option("require_complete", Kind::Box),
    of_option("no_sync", Kind::Box),
    of_option("follow", Kind::Box),
    of_option("match_message_ids", Kind::Box),
    of_option("control", Kind::Lines),
    of_option("greedy", Kind::Box),
    of_option("align", Kind::Lines),
    of_option("no_align", Kind::Box),
];

const fn of_option(option: &'static str, kind: Kind) -> Field {
    Field { name: option, option, kind }
}

/// The fields of a form that are filled in, as they were typed.
#[derive(Clone, Debug)]
pub(crate) struct ScanForm(Vec<(&'static str, String)>);

impl ScanForm {
    /// The names of its fields; the first is that of the repositories.
    pub(crate) const NAMES: [&str; FIELDS.len()] = {
        let (mut names, mut place) = ([""; FIELDS.len()], 0);
        while place < FIELDS.len() {
            names[place] = FIELDS[place].name;
            place += 1;
        }
        names
    };

    /// The form before anybody has typed.
    pub(crate) fn untouched() -> ScanForm {
        ScanForm::of_options(&ScanOptions::default())
    }

    /// The form that was sent.
    pub(crate) fn of_fields(fields: &Fields) -> ScanForm {
        let typed = |field: &'static Field| -> Vec<(&'static str, String)> {
            let values: Vec<&str> = match field.kind {
                Kind::Boxes => fields.all(field.name).collect(),
                _ => fields.text(field.name).into_iter().collect(),
            };
            values.into_iter().map(|value| (field.name, value.to_owned())).collect()
        };
        let mut filled: Vec<(&'static str, String)> = FIELDS.iter().flat_map(typed).collect();
        // The button of an estimate sends the form as it was filled in; a sample is compared by bytes.
        if filled.iter().any(|(name, _)| *name == "sample") {
            filled.retain(|(name, _)| !["view", "match_message_ids"].contains(name));
            filled.push(("view", "raw".to_owned()));
        }
        ScanForm(filled)
    }

    /// The form for options that exist already: those of a profile, or of a scan that is launched again.
    pub(crate) fn of_options(options: &ScanOptions) -> ScanForm {
        let values = serde_json::to_value(options).unwrap_or_default();
        let filled = |field: &'static Field| -> Vec<(&'static str, String)> {
            field.texts(&values[field.option]).into_iter().map(|text| (field.name, text)).collect()
        };
        ScanForm(FIELDS.iter().flat_map(filled).collect())
    }

    /// The same as fields, for the next form to carry.
    pub(crate) fn fields(&self) -> Vec<(&'static str, String)> {
        self.0.clone()
    }

    /// The text of a field, or nothing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text)
    }

    /// True if a field is filled in, or its box is ticked.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    /// True if a repository is chosen.
    pub(crate) fn has_repository(&self, repository: &str) -> bool {
        self.0.iter().any(|(name, chosen)| *name == "repository" && chosen == repository)
    }

    /// The options of the form.
    ///
    /// # Errors
    /// Fails if a field is invalid by itself; the error names it.
    pub(crate) fn options(&self) -> Result<ScanOptions, PageError> {
        let mut values = Map::new();
        for field in FIELDS.iter().filter(|field| self.has(field.name)) {
            let texts = self.0.iter().filter(|(name, _)| *name == field.name).map(|(_, text)| text.as_str());
            values.insert(field.option.to_owned(), field.value(texts)?);
        }
        read(values)
    }
}

impl Field {
    /// The value of the option, from the texts of the field.
    fn value<'a>(&self, mut texts: impl Iterator<Item = &'a str>) -> Result<Value, PageError> {
        let mut first = || texts.next().unwrap_or_default();
        match self.kind {
            Kind::Text => Ok(first().into()),
            Kind::Size => match first().parse::<bytesize::ByteSize>() {
                Ok(size) => Ok(size.as_u64().into()),
                Err(_) => Err(wrong(self.option, &"a size is a number, with a unit or without: 500, 4KB, 64MiB")),
            },
            Kind::Lines => Ok(first().lines().map(str::trim).filter(|line| !line.is_empty()).collect()),
            Kind::Boxes => Ok(texts.collect()),
            Kind::Box => Ok(true.into()),
        }
    }

    /// The texts of the field, from the value of the option: the reverse.
    fn texts(&self, value: &Value) -> Vec<String> {
        let lines = || value.as_array().into_iter().flatten().filter_map(Value::as_str);
        let text = match self.kind {
            Kind::Boxes => return lines().map(str::to_owned).collect(),
            Kind::Text => value.as_str().unwrap_or_default().to_owned(),
            Kind::Size => value.as_u64().map(|size| size.to_string()).unwrap_or_default(),
            Kind::Lines => lines().collect::<Vec<_>>().join("\n"),
            Kind::Box => if value == &Value::Bool(true) { "on" } else { "" }.to_owned(),
        };
        Some(text).filter(|text| !text.is_empty()).into_iter().collect()
    }
}

/// The options that a program gives: the same as a form, under the names of the options.
///
/// # Errors
/// Fails if an option is unknown or invalid by itself; the error names it.
pub(crate) fn of_program(mut values: Map<String, Value>) -> Result<ScanOptions, PageError> {
    if let Some(other) = values.keys().find(|name| FIELDS.iter().all(|field| field.option != **name)) {
        return Err(PageError::invalid(format!("unknown field `{}`", one_line(other))));
    }
    // A field that is null counts as missing.
    values.retain(|_, value| !value.is_null());
    read(values)
}

/// Options from their values, each by itself first, so that an error names its option.
fn read(values: Map<String, Value>) -> Result<ScanOptions, PageError> {
    let parse = |values| serde_json::from_value::<ScanOptions>(Value::Object(values));
    for (name, value) in &values {
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        parse(alone).map_err(|error| wrong(name, &error))?;
    }
    parse(values).map_err(|error| PageError::invalid(error.to_string()))
}

/// The methods that scans can use, with a word for people.
pub(crate) fn methods() -> Vec<(&'static str, &'static str)> {
    let description = |name| match name {
        "tttd" => "chunks that the content delimits; exact, the usual choice",
        "mod" => "sampled windows, estimated",
        "min" => "the least hashes of a document, estimated",
        "sketch" => "a sketch of fixed size, estimated",
        "bsw" => "windows chosen by their bits, estimated; reports less than the truth",
        "bsw-chunk" => "chunks between such windows; finds less than tttd at the same price",
        "shingle" => "runs of words, estimated; for text",
        "fuzzy" => "words and how often they occur, verified",
        "similarity-index" => "one number a document, verified by chunks; 600 false candidates a query among 10,000",
        _ => "estimated",
    };
    Method::NAMES.iter().map(|name| (*name, description(name))).collect()
}

fn wrong(option: &str, why: &dyn Display) -> PageError {
    PageError::invalid(format!("`{option}`: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use cognate_proto::options::ScanView;

    fn form(more: &str) -> ScanForm {
        let fields = format!("repository=paris/kb&repository=tokyo/kb&view=raw&method=tttd&min_containment=0.5&{more}");
        ScanForm::of_fields(&Fields::read(fields.as_bytes()).unwrap())
    }

    #[test]
    fn a_form_says_what_the_command_line_would() {
        let more = "chunk_bytes=2KB&min_shared_bytes=0&exclude=*.tmp%0D%0A+b+%0D%0A&sync_deadline=5m&across_only=on";
        let options = form(more).options().unwrap();
        assert_eq!((options.chunk_bytes, options.min_shared_bytes), (Some(2000), Some(0)));
        assert_eq!((options.across_only, options.no_sync, options.view), (true, false, ScanView::Raw));
        assert_eq!(options.exclude, ["*.tmp", "b"]);
        assert_eq!((options.sync_deadline, options.repositories.len()), (Some(Duration::from_secs(300)), 2));
        for (more, field) in [("size_max=x", "size_max"), ("sync_deadline=soon", "sync_deadline")] {
            let refused = form(more).options().unwrap_err();
            assert!(refused.message.contains(&format!("`{field}`")), "{}", refused.message);
        }
    }

    #[test]
    fn the_options_of_a_scan_become_a_form_that_gives_them_again() {
        for more in [
            "chunk_bytes=600&min_shared_bytes=0",
            "size_max=4KB&include=a%0D%0Ab&require_complete=on&control=c&greedy=on&sync_deadline=90s",
        ] {
            let options = form(more).options().unwrap();
            assert_eq!(ScanForm::of_options(&options).options().unwrap(), options, "{more}");
            let fields = form_urlencoded::Serializer::new(String::new()).extend_pairs(form(more).fields()).finish();
            assert_eq!(
                ScanForm::of_fields(&Fields::read(fields.as_bytes()).unwrap()).options().unwrap(),
                options,
                "{more}"
            );
        }
        assert_eq!(ScanForm::untouched().options().unwrap(), ScanOptions::default());
    }

    #[test]
    fn a_program_gives_the_options_of_a_form_and_no_others() {
        let read = |text: &str| {
            let options = of_program(serde_json::from_str(text).unwrap());
            options.map_err(|error| error.message)
        };
        let options = read(r#"{"repositories": ["paris/kb"], "min_containment": 0.8, "view": null, "size_max": 9}"#);
        let options = options.unwrap();
        assert_eq!((options.min_containment.as_str(), options.view), ("0.8", ScanView::Auto));
        assert_eq!((options.size_max_bytes, options.repositories.len()), (Some(9), 1));
        for (text, name) in [
            (r#"{"threads": 4}"#, "threads"),
            (r#"{"more": 1}"#, "more"),
            (r#"{"view": "smell"}"#, "view"),
            (r#"{"repositories": ["paris"]}"#, "repositories"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.contains(&format!("`{name}`")), "{refused}");
        }
    }

    #[test]
    fn the_page_and_the_description_of_the_api_have_the_options_of_the_list() {
        let page = include_str!("../templates/launch.html");
        let api: Value = serde_json::from_str(include_str!("../static/openapi.json")).unwrap();
        let keys = api["components"]["schemas"]["Wanted"]["properties"].as_object().unwrap();
        for Field { name, option, .. } in &FIELDS {
            assert!(page.contains(&format!(" name=\"{name}\"")), "`{name}` is not in launch.html");
            assert!(keys.contains_key(*option), "`{option}` is not in openapi.json");
        }
        // Also the id of the scan, and its name, which the page asks for with the question.
        assert_eq!(keys.len(), FIELDS.len() + 2);
        // Also the number that guards every form.
        assert_eq!(page.matches(" name=\"").count(), FIELDS.len() + 1);
    }
}
