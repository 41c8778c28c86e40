//! Recognised text and text that was not compared, in words: the same in every format.

use cognate_result::report::SiteSection;

use crate::human::count;

/// The mark after the name of a document of which some text was recognised.
pub const MARK: &str = " (recognised text)";

/// The mark of a document, or nothing.
pub fn mark(recognised: Option<bool>) -> &'static str {
    if recognised == Some(true) { MARK } else { "" }
}

/// A line for each repository that has documents with recognised text, or some that are not compared by their text.
pub fn lines(sites: &[SiteSection]) -> Vec<String> {
    sites.iter().flat_map(|site| recognised(site).into_iter().chain(not_compared(site))).collect()
}

fn recognised(site: &SiteSection) -> Option<String> {
    let documents = count(site.recognised?);
    let program = site.recognition.as_deref().unwrap_or("a program that it does not name");
    Some(format!("{}/{}: {documents} compared by recognised text ({program})", site.site, site.repository))
}

fn not_compared(site: &SiteSection) -> Option<String> {
    let reasons = &site.not_compared_by_text;
    let all: u64 = reasons.values().sum();
    let each: Vec<String> = reasons.iter().map(|(reason, many)| format!("{} × {reason}", count(*many))).collect();
    let line = format!("{}/{}: {} not compared by text: {}", site.site, site.repository, count(all), each.join(", "));
    (all > 0).then_some(line)
}
