//! The sites whose chunks of a content are not those that other sites sent under the same digest, in words: the same in every
//! format.

use cognate_result::report::SiteSection;

use crate::human::count;

/// The sentence above their names.
pub const CONTRADICTED: &str = "CONTRADICTED: these sites describe contents otherwise than other sites do that have the same. What they share is in doubt.";

/// A line for each repository, with the number of such contents.
pub fn contradicted(sites: &[SiteSection]) -> Vec<String> {
    let line = |site: &SiteSection| {
        let contents = site.contradicted_contents?;
        Some(format!("{}/{}: {} contents", site.site, site.repository, count(contents)))
    };
    sites.iter().filter_map(line).collect()
}
