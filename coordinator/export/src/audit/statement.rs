//! The findings in words: sentences that are complete by themselves, the most important first.

use super::{Audit, Direction, Overlap, Side};
use cognate_result::report::{ControlRow, MissingRow};

use crate::human::{bytes as size, count as number};
use crate::overlap::{estimated_share, least_share};

/// The sentences on an audit.
pub(super) fn of(audit: &Audit, controls: &[ControlRow]) -> Vec<String> {
    let mut sentences: Vec<String> = missing(&audit.scan.missing).into_iter().collect();
    sentences.extend(not_given(audit));
    sentences.extend(contradicted(audit));
    sentences.extend(audit.overlap.iter().flat_map(|row| overlap(audit, row)));
    sentences.extend(standard_text(audit));
    sentences.extend(undecided(audit));
    if audit.overlap.is_empty() {
        sentences.push("Only one side took part, so there is no other side to compare it with.".to_owned());
    }
    sentences.extend(crate::expected::expected_error(&audit.scan));
    sentences.extend(unreviewed(audit));
    sentences.extend(found_controls(audit, controls));
    sentences.extend(run_lengths(audit));
    sentences.extend(unread(audit));
    sentences.extend(scanned(audit));
    sentences.extend(containers(audit));
    sentences.extend(narrowed(audit));
    if !audit.asked.templates.is_empty() {
        let count = plural(audit.asked.templates.len() as u64, "template");
        sentences.push(format!(
            "{count} of boilerplate, marked by the people who run the federation, were ignored: the bytes that they cover \
             are listed as template bytes, and made no document similar to another."
        ));
    }
    sentences.extend(keyed(audit));
    sentences.extend(audit.scan.notice.map(|notice| format!("The sites had no common key: {notice}.")));
    sentences
}

/// The secret under which the sites made their fingerprints.
fn keyed(audit: &Audit) -> Option<String> {
    if !audit.scan.keyed {
        return None;
    }
    let whose = "All sites made their fingerprints with one secret key, which the coordinator does not have";
    Some(match &audit.asked.federation_key {
        Some(key) => format!(
            "{whose}. This federation key is known by its fingerprint {} ({}), which the command \
             cognate worker key check prints at each site.",
            key.fingerprint, key.words
        ),
        None => format!("{whose}. The coordinator does not know its fingerprint."),
    })
}

fn missing(missing: &[MissingRow]) -> Option<String> {
    if missing.is_empty() {
        return None;
    }
    let places = missing.iter().map(|row| format!("{}/{} ({})", row.site, row.repository, row.reason));
    let places = places.collect::<Vec<_>>().join("; ");
    Some(format!("THIS RESULT IS PARTIAL. It says nothing of: {places}."))
}

/// The repositories that were measured by whole chunks though their policy allows more.
fn not_given(audit: &Audit) -> Option<String> {
    let places: Vec<String> = audit.scan.not_given().map(crate::partial::line).collect();
    (!places.is_empty()).then(|| {
        format!(
            "THIS RESULT IS PARTIAL. Sites did not give all finer chunks that they were asked for, so that pairs were measured by whole \
             chunks alone and may share more: {}.",
            places.join("; ")
        )
    })
}

fn overlap(audit: &Audit, row: &Overlap) -> Vec<String> {
    let [a, b] = &row.directions;
    let is_nothing = |side: &Direction| side.documents == 0 && side.shared_bytes + side.template_bytes == 0;
    if is_nothing(a) && is_nothing(b) {
        return vec![format!(
            "{} and {} have nothing in common: no document of the one is identical or similar to a document of the \
             other, and not one passage that the method distinguishes occurs at both ({} documents against {}).",
            audit.called(&a.of),
            audit.called(&b.of),
            number(a.documents_total),
            number(b.documents_total),
        )];
    }
    row.directions.iter().flat_map(|side| direction(audit, side)).collect()
}

/// The documents that only a frame has in common with others.
fn standard_text(audit: &Audit) -> Option<String> {
    let documents: u64 = audit.sides.iter().map(|side| side.standard_text_documents).sum();
    (documents > 0).then(|| {
        format!(
            "Of {}, another side has standard text and nothing else: text that many otherwise unlike documents have, such as general \
             terms or a disclaimer. They count as similar to nothing, and not as only here (section 3).",
            plural(documents, "document"),
        )
    })
}

/// The documents of which it is not decided that only one side has them.
fn undecided(audit: &Audit) -> Option<String> {
    let documents: u64 = audit.sides.iter().map(|side| side.undecided_documents).sum();
    (documents > 0).then(|| {
        format!(
            "Of {} IT IS NOT DECIDED whether another side has anything of them: nothing was found, and something that could have \
             shown the contrary was cut, refused, not read or not measured (section 3).",
            plural(documents, "document"),
        )
    })
}

/// A sentence about one side: the number of its bytes, and of its documents, that the other side has too.
fn direction(audit: &Audit, side: &Direction) -> [String; 2] {
    let (of, at) = (audit.called(&side.of), audit.called(&side.at));
    let templates = match side.template_bytes {
        0 => String::new(),
        bytes => format!("; not counted: {} of boilerplate or of one repeated byte", size(bytes)),
    };
    [
        format!(
            "{} of the bytes of {of} are also at {at} ({} of {}, every copy counted{templates}){}.",
            least_share("At least", side.shared_bytes, side.bytes_total),
            size(side.shared_bytes),
            size(side.bytes_total),
            estimated_share(side.shared_bytes, side.estimated_bytes, side.estimate_error_bytes, side.bytes_total),
        ),
        format!(
            "{} of the {} documents of {of} are identical or similar to documents of {at}.",
            number(side.documents),
            number(side.documents_total),
        ),
    ]
}

fn found_controls(audit: &Audit, controls: &[ControlRow]) -> Vec<String> {
    if audit.asked.control.is_empty() {
        return vec![
            "No document was planted as a control: that the scan finds what is there rests on its method alone."
                .to_owned(),
        ];
    }
    let patterns = audit.asked.control.join(", ");
    let without: Vec<&str> =
        audit.sides.iter().filter(|side| side.controls == 0).map(|side| audit.called(&side.name)).collect();
    let missed: Vec<String> = audit.sides.iter().filter_map(|side| missed_controls(audit, side, controls)).collect();
    let mut sentences = Vec::new();
    if !without.is_empty() {
        sentences.push(format!("NO CONTROL WAS PLANTED at {}: nothing there matches {patterns}.", without.join(", ")));
    }
    let is_missed = !missed.is_empty();
    sentences.extend(missed);
    if !is_missed && !controls.is_empty() && without.is_empty() {
        sentences.push(format!(
            "Every one of the {} planted as controls ({patterns}) was found at every other side. They count in no overlap.",
            plural(controls.len() as u64, "document"),
        ));
        if controls.iter().flat_map(|control| &control.found).all(|found| found.relation == "identical") {
            sentences.push(
                "All controls were found as identical copies: they do not show that edited documents are found."
                    .to_owned(),
            );
        }
    }
    sentences
}

/// The controls of a side that were not found. It planted them, and it alone says that the others have anything to be found.
fn missed_controls(audit: &Audit, side: &Side, controls: &[ControlRow]) -> Option<String> {
    let own = || controls.iter().filter(|control| control.side == side.name);
    let missed: Vec<&ControlRow> = own().filter(|control| !control.missed.is_empty()).collect();
    if missed.is_empty() {
        return None;
    }
    let others = audit.sides.iter().filter(|other| missed.iter().any(|control| control.missed.contains(&other.name)));
    let others = others.map(|other| audit.called(&other.name)).collect::<Vec<_>>().join(" and ");
    Some(format!(
        "{} of {} that {} planted were NOT FOUND at {others}. If {others} planted a copy or version of them, the result is not to be \
         relied on before that is explained; if not, they show nothing.",
        number(missed.len() as u64),
        plural(own().count() as u64, "control"),
        audit.called(&side.name),
    ))
}

/// How long a passage must be to be found, a sentence for each view: the greatest length of all repositories.
fn run_lengths(audit: &Audit) -> Vec<String> {
    if audit.run_lengths.is_empty() {
        return vec![
            "The method finds documents that are similar overall, not passages that they share: this report does not say how \
             long a shared passage must be to be found."
                .to_owned(),
        ];
    }
    let mut views: Vec<&str> = audit.run_lengths.iter().map(|row| row.view.as_str()).collect();
    // Text comes first here too.
    views.sort_by_key(|view| (*view == "raw", *view));
    views.dedup();
    let has_several = views.len() > 1;
    let sentences = views.into_iter().filter_map(|view| {
        // If the documents of one repository are too short for any length, its row says nothing about the others.
        let longest = audit.run_lengths.iter().filter(|row| row.view == view).filter_map(|row| row.p95_bytes).max()?;
        let under = match (has_several, view) {
            (false, _) => "A",
            (true, "raw") => "By their bytes: a",
            (true, _) => "By their text: a",
        };
        Some(format!(
            "{under} passage of {} that two documents share word for word is found in 95 of 100 cases, a shorter one less often \
             (section 5). This was measured by simulation on the audited documents themselves.",
            size(longest),
        ))
    });
    sentences.collect()
}

/// Without a review by people, nobody knows how many of the reported matches are true.
fn unreviewed(audit: &Audit) -> Option<String> {
    let is_reviewed = audit.scan.samples.iter().any(|sample| sample.interval.is_some());
    let links = audit.overlap.iter().flat_map(|row| &row.directions).map(|side| side.documents).sum::<u64>();
    (!is_reviewed && links > 0).then(|| {
        "No person has reviewed a random sample of the matches: this report does not say how many of them are true matches."
            .to_owned()
    })
}

/// The sites that differ about what a content consists of.
fn contradicted(audit: &Audit) -> Option<String> {
    let places = crate::contradicted::contradicted(&audit.sites);
    (!places.is_empty()).then(|| format!("{} {}.", crate::contradicted::CONTRADICTED, places.join("; ")))
}

fn unread(audit: &Audit) -> Vec<String> {
    let mut sentences = Vec::new();
    if audit.unreadable() > 0 {
        sentences.push(format!(
            "{} could not be read or understood, and nothing is said of them: they are listed with their reasons.",
            plural(audit.unreadable(), "document")
        ));
    }
    if audit.text_unreadable() > 0 {
        sentences.push(format!(
            "The text of {} could not be read: these were compared by their bytes alone, and are listed with their reasons.",
            plural(audit.text_unreadable(), "document")
        ));
    }
    if sentences.is_empty() {
        sentences.push("Every document in scope was read.".to_owned());
    }
    sentences
}

/// The documents of which a program recognised the text, and those that are pictures and are not compared by text.
fn scanned(audit: &Audit) -> Option<String> {
    let is_recognised = audit.sites.iter().any(|site| site.recognised.is_some());
    // The sentence before has these documents already.
    if audit.text_unreadable() > 0 && !is_recognised {
        return None;
    }
    let lines = crate::recognised::lines(&audit.sites);
    let meaning = match is_recognised {
        true => " Recognised text has errors: documents can share more than is stated of them.",
        false => "",
    };
    (!lines.is_empty()).then(|| format!("{}.{meaning}", lines.join("; ")))
}

/// In raw bytes, the contents of compressed containers match where the files are identical, and not otherwise.
fn containers(audit: &Audit) -> Option<String> {
    let (bytes, kinds) = match audit.scan.view.as_str() {
        "raw" => {
            let bytes = audit.sites.iter().map(|site| site.compressed_bytes).sum();
            (bytes, "archives, office documents, PDF, media")
        }
        "auto" => {
            let rows = audit.census.iter().filter(|row| ["archive", "media"].contains(&row.class.as_str()));
            (rows.map(|row| row.bytes).sum(), "archives, media")
        }
        _ => return None,
    };
    (bytes > 0).then(|| {
        format!(
            "{} of the compared bytes are in compressed files ({kinds}), of which only the bytes were compared: of those, \
             identical files are found, similar ones are not. A scan of the text (--view both) looks into office documents, PDF \
             and archives.",
            size(bytes)
        )
    })
}

fn narrowed(audit: &Audit) -> Option<String> {
    let asked = &audit.asked;
    let mut limits = Vec::new();
    if !asked.include.is_empty() {
        limits.push(format!("only documents that match {}", asked.include.join(", ")));
    }
    if !asked.exclude.is_empty() {
        limits.push(format!("no documents that match {}", asked.exclude.join(", ")));
    }
    limits.extend(asked.size_max_bytes.map(|bytes| format!("no documents larger than {}", size(bytes))));
    limits.extend(asked.sample_percent.map(|percent| format!("only a sample of {percent} % of the documents")));
    limits.extend(audit.scan.refines.as_ref().map(|scan| format!("only documents that scan {scan} left interesting")));
    (!limits.is_empty()).then(|| format!("The scan was narrowed: {}.", limits.join("; ")))
}

fn plural(count: u64, one: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {one}{many}", number(count))
}
