//! Results that were altered after they were published.

use std::os::unix::fs::FileExt as _;

use cognate_storage::ErrorKind;
use cognate_storage::maintenance::{RecordedResult, ResultProblem};

use super::*;

#[tokio::test]
async fn a_result_that_was_altered_is_refused_wherever_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    scanned(&coordinator, 1).await;
    let services = coordinator.services();
    let path = services.scans.analyser.result_path(ScanId(1));
    drop(services.results.browse(ScanId(1), &Reader::default()).unwrap());
    let original = std::fs::read(&path).unwrap();
    // In its place, with its size and its time of modification: it stays an ordinary database.
    let at = original.windows(4).position(|bytes| bytes == b"main").unwrap() as u64;
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(b"mein", at).unwrap();
    file.set_modified(modified).unwrap();
    assert!(Report::open(&path).is_ok());
    let refused = services.results.browse(ScanId(1), &Reader::default()).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Corrupt);
    let said = refused.to_string();
    let scan = ScanId(1).to_string();
    assert!(
        said.contains(&scan) && said.contains("has changed since it was published") && said.contains("launch it again")
    );
    assert!(services.results.report_with_verdicts(ScanId(1), &Reader::default()).is_err());
    assert!(services.audits.json(ScanId(1), "anna", &[]).is_err());
    // From a backup it is the same again, though its stamp is another.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, &original).unwrap();
    services.results.browse(ScanId(1), &Reader::default()).unwrap();
}

#[tokio::test]
async fn a_result_of_another_build_is_told_from_a_damaged_one() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    scanned(&coordinator, 1).await;
    let services = coordinator.services();
    let path = services.scans.analyser.result_path(ScanId(1));
    let row = services.records.store.scan(ScanId(1)).unwrap().unwrap();
    let check = |digest: &str, file_digest: &[u8]| Report::check(&path, Some(RecordedResult { digest, file_digest }));
    assert_eq!(check(&row.digest, &row.file_digest), None);
    // The report has a field more now than when the scan was recorded, and the file is as it was.
    let other = "00".repeat(32);
    assert!(matches!(check(&other, &row.file_digest), Some(ResultProblem::OtherBuild(_))));
    assert!(matches!(check(&other, &[]), Some(ResultProblem::Damaged(_))), "nothing says what the file was");
    let original = std::fs::read(&path).unwrap();
    let at = original.windows(4).position(|bytes| bytes == b"main").unwrap() as u64;
    std::fs::File::options().write(true).open(&path).unwrap().write_all_at(b"mein", at).unwrap();
    assert!(matches!(check(&row.digest, &row.file_digest), Some(ResultProblem::Damaged(_))));
}
