//! Finds the scan that an argument names.

use cognate_proto::name::{ScanId, one_line};
use cognate_proto::v1::{ListScansRequest, ScanState};

use crate::exit::usage;
use crate::operator::client::Operator;

/// The scan with this id, the only one with this name or whose id begins so, or the newest one.
///
/// # Errors
/// If there is none, or more than one.
pub(crate) async fn find(operator: &Operator, words: &str) -> anyhow::Result<ScanId> {
    find_among(operator, words, |_| true).await
}

/// The same, but the newest one is the newest with a result: a scan that failed or is under way hides no report.
///
/// # Errors
/// If there is none, or more than one.
pub(crate) async fn find_result(operator: &Operator, words: &str) -> anyhow::Result<ScanId> {
    find_among(operator, words, |scan| !scan.digest.is_empty()).await
}

async fn find_among(operator: &Operator, words: &str, counts: fn(&ScanState) -> bool) -> anyhow::Result<ScanId> {
    if let Some(id) = parse(words) {
        return Ok(id);
    }
    let listed = operator.call(|mut client| async move { client.list_scans(ListScansRequest {}).await }).await?;
    among(words, &listed.scans, counts)
}

/// A complete id: 16 hexadecimal digits.
pub(super) fn parse(words: &str) -> Option<ScanId> {
    let digits = words.len() == 16 && words.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u64::from_str_radix(words, 16).ok().map(ScanId)).flatten()
}

/// `scans` are newest first; the latest is the first that counts.
fn among(words: &str, scans: &[ScanState], counts: fn(&ScanState) -> bool) -> anyhow::Result<ScanId> {
    if words == "latest" {
        return match (scans.iter().find(|scan| counts(scan)), scans) {
            (Some(latest), _) => Ok(ScanId(latest.scan)),
            (None, []) => Err(usage("there is no scan yet: `cognate scan launch` makes one")),
            (None, [..]) => Err(usage("no scan has a result yet: `cognate scan list` shows why")),
        };
    }
    let named: Vec<ScanId> =
        scans.iter().filter(|scan| !words.is_empty() && scan.name == words).map(|scan| ScanId(scan.scan)).collect();
    match named[..] {
        [id] => return Ok(id),
        [] => {}
        _ => return Err(usage(format!("{} scans are called `{}`: give the id", named.len(), one_line(words)))),
    }
    let words = one_line(words).to_ascii_lowercase();
    let ids = scans.iter().map(|scan| ScanId(scan.scan)).filter(|id| id.to_string().starts_with(&words));
    match ids.collect::<Vec<_>>()[..] {
        [id] if !words.is_empty() => Ok(id),
        [] => Err(usage(format!("no scan `{words}`: `cognate scan list` shows all scans"))),
        _ => Err(usage(format!("more than one scan begins with `{words}`: type more of it"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_found_by_its_id_the_beginning_of_it_or_as_the_latest() {
        let scan = |id| ScanState { scan: id, ..ScanState::default() };
        let scans = [scan(0xabc0_0000_0000_0001), scan(0xabd0_0000_0000_0001)];
        let check = |words: &str, id: Option<u64>| {
            assert_eq!(among(words, &scans, |_| true).ok(), id.map(ScanId), "{words}");
        };
        check("latest", Some(0xabc0_0000_0000_0001));
        check("ABD", Some(0xabd0_0000_0000_0001));
        check("ab", None);
        check("ff", None);
        let named = |id, name: &str| ScanState { scan: id, name: name.to_owned(), ..ScanState::default() };
        let scans = [named(1, "merger"), named(2, "move"), named(3, "move")];
        let among = |words, scans| super::among(words, scans, |_| true);
        assert_eq!(among("merger", &scans).ok(), Some(ScanId(1)));
        assert!(among("move", &scans).unwrap_err().to_string().contains("2 scans"));
        assert!(among("Merger", &scans).is_err());
        check("", None);
        assert_eq!(parse("00000000000000ff"), Some(ScanId(255)));
        assert_eq!(parse("ff"), None);
    }

    #[test]
    fn the_latest_result_is_that_of_the_newest_scan_that_has_one() {
        let scan = |id, digest: &str| ScanState { scan: id, digest: digest.to_owned(), ..ScanState::default() };
        let has_result = |scan: &ScanState| !scan.digest.is_empty();
        let failed_after = [scan(3, ""), scan(2, "d"), scan(1, "d")];
        assert_eq!(among("latest", &failed_after, has_result).ok(), Some(ScanId(2)));
        let refused = among("latest", &failed_after[..1], has_result).unwrap_err().to_string();
        assert!(refused.contains("no scan has a result"), "{refused}");
        assert!(among("latest", &[], has_result).unwrap_err().to_string().contains("no scan yet"));
    }
}
