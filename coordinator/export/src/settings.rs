//! The options of a scan in words, as the page of a scan and `cognate scan show` list them.

use cognate_proto::options::{Engine, LayerOptions, Precision, Refine, RefineWhat, ScanOptions};
use cognate_proto::v1::MethodSpec;

use crate::human::{bytes, duration, method_of};

/// The options that were chosen, each with a name: the methods with their thresholds first, then whatever is not as usual.
pub fn of(options: &ScanOptions) -> Vec<(&'static str, String)> {
    let mut settings = comparison(options);
    let mut add = |name: &'static str, value: Option<String>| settings.extend(value.map(|value| (name, value)));
    let listed = |words: &[String]| (!words.is_empty()).then(|| words.join(", "));
    let is_set = |flag: bool, words: &str| flag.then(|| words.to_owned());
    add("Only", listed(&options.include));
    add("Without", listed(&options.exclude));
    add("No larger than", options.size_max_bytes.map(bytes));
    add("Sample", options.sample_percent.map(|percent| format!("{percent} % of the documents")));
    add("Controls", listed(&options.control));
    add("Folders compared", listed(&options.align));
    add("Renamed folders", is_set(options.no_align, "were not looked for"));
    add("Clusters", is_set(options.greedy, "around representatives"));
    add("Precision", (options.precision != Precision::default()).then(|| options.precision.name().to_owned()));
    add("Engine", (options.engine != Engine::default()).then(|| options.engine.name().to_owned()));
    add("Refines", options.refine.as_ref().map(refined));
    add("Sites", is_set(options.no_sync, "were not synced: the scan compared the present indexes"));
    add("Waits for a site at most", options.sync_deadline.map(|deadline| duration(deadline.as_secs())));
    add("If a site is missing", is_set(options.require_complete, "the scan fails"));
    settings
}

/// The methods of a scan and its thresholds.
fn comparison(options: &ScanOptions) -> Vec<(&'static str, String)> {
    let layers = options.layers().unwrap_or_default();
    let [first, further @ ..] = layers.as_slice() else { return Vec::new() };
    let method = |layer: &LayerOptions| method_of(&MethodSpec::from(&layer.method));
    let least = bytes(first.min_shared_bytes);
    let mut settings = vec![
        ("Method", method(first)),
        ("Least shared bytes", format!("{least} or {} of the smaller one", options.min_containment)),
        ("Only across sites", if options.across_only { "yes" } else { "no" }.to_owned()),
    ];
    settings.extend(further.iter().map(|layer| {
        let least = bytes(layer.min_shared_bytes);
        ("Text as well", format!("{}, at least {least} shared", method(layer)))
    }));
    settings
}

/// The scan that is refined, and the documents that are read again.
fn refined(refine: &Refine) -> String {
    let unmatched = || format!("unmatched documents of {} and more", bytes(refine.size_min_bytes));
    let what = match refine.what {
        RefineWhat::Linked => "linked documents".to_owned(),
        RefineWhat::Unmatched => unmatched(),
        RefineWhat::Both => format!("linked documents, and {}", unmatched()),
    };
    format!("scan {}: {what}", refine.scan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_are_as_usual_are_not_listed() {
        let usual: Vec<&str> = of(&ScanOptions::default()).iter().map(|(name, _)| *name).collect();
        let methods = ["Method", "Least shared bytes", "Only across sites", "Text as well"];
        assert!(usual.iter().all(|name| methods.contains(name)) && usual.len() >= 3, "{usual:?}");
        let options = ScanOptions {
            include: vec!["*.docx".to_owned(), "*.pdf".to_owned()],
            sample_percent: Some(5),
            no_sync: true,
            ..ScanOptions::default()
        };
        let listed = of(&options);
        for row in [
            ("Only", "*.docx, *.pdf"),
            ("Sample", "5 % of the documents"),
            ("Sites", "were not synced: the scan compared the present indexes"),
        ] {
            assert!(listed.iter().any(|(name, value)| (*name, value.as_str()) == row), "{row:?}: {listed:?}");
        }
    }
}
