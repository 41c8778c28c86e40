//! Lines of fingerprints under several methods, each method a query of its own: files that are dropped are searched by their bytes
//! and by their text.

use serde::Deserialize;

use crate::PageError;

/// What tells methods apart.
#[derive(Deserialize, PartialEq, Eq)]
struct Under {
    #[serde(default)]
    method: String,
    #[serde(default)]
    view: String,
    #[serde(default)]
    chunk_bytes: u64,
    #[serde(default)]
    param: String,
    #[serde(default)]
    method_id: String,
}

/// The lines of each method, in the order of the first ones.
pub(super) fn lots(text: &str) -> Vec<String> {
    let mut lots: Vec<(Option<Under>, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        // A line that is none stays with those before it, so that its number is told.
        let under: Option<Under> = serde_json::from_str(line).ok();
        let place = match &under {
            Some(_) => lots.iter().position(|(known, _)| *known == under),
            None => lots.len().checked_sub(1),
        };
        let place = place.unwrap_or_else(|| {
            lots.push((under, String::new()));
            lots.len() - 1
        });
        lots[place].1.push_str(line);
        lots[place].1.push('\n');
    }
    lots.into_iter().map(|(_, lines)| lines).collect()
}

/// A file or a document inside it that the browser could not fingerprint, with the reason.
#[derive(Deserialize)]
pub(super) struct Unread {
    pub(super) path: String,
    #[serde(rename = "unread")]
    pub(super) reason: String,
}

/// The documents that the browser could not fingerprint.
///
/// # Errors
/// If a line is none.
pub(super) fn unread(text: &str) -> Result<Vec<Unread>, PageError> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let read = |line| serde_json::from_str(line).map_err(|_| PageError::invalid("`unread`: it has another form"));
    lines.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_has_its_lines_and_what_is_no_line_stays_where_it_was() {
        let lines = [
            "{\"path\":\"a\",\"view\":\"raw\"}",
            "{\"path\":\"a\",\"view\":\"text\"}",
            "nonsense",
            "{\"path\":\"b\",\"view\":\"raw\"}",
        ];
        let lots = lots(&lines.join("\n"));
        assert_eq!(lots, [format!("{}\n{}\n", lines[0], lines[3]), format!("{}\nnonsense\n", lines[1])]);
        assert!(super::lots("\n \n").is_empty());
    }
}
