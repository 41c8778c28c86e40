//! Data that is removed, and data that stays.

use super::*;

fn keeping<'a>(fixture: &'a Fixture, scans: &'a Path) -> crate::maintenance::Keeping<'a> {
    crate::maintenance::Keeping { store: &fixture.store, indexes: &fixture.indexes, scans }
}

fn scan_over(site: &str, step: crate::store::ScanStep, finished: i64) -> crate::store::ScanRow {
    let repositories = vec![(site.parse().unwrap(), cognate_proto::name::RepositoryName::main())];
    let options = cognate_proto::options::ScanOptions { repositories, ..Default::default() };
    crate::store::ScanRow {
        options: Some(options.into()),
        step: step.into(),
        started: 1,
        finished,
        ..Default::default()
    }
}

#[test]
fn a_forgotten_site_leaves_no_tag_in_any_file_and_the_others_are_as_before() {
    use crate::store::ScanStep;
    let (fixture, sites) = lived_in();
    // Contents that came later at the one never were at the other.
    let only_a = sites[0].tree.values().filter(|content| **content > 1000);
    let only_a: Vec<_> = only_a.map(|content| tag(*content, 0)).collect();
    let scans = fixture.folder.path().join("scans");
    for (id, site) in [(1_u64, "a"), (2, "b")] {
        let row = scan_over(site, ScanStep::Published, 5);
        record(&fixture, What::Scan(crate::journal::ScanEvent { id, row }));
        let folder = scans.join(cognate_proto::name::ScanId(id).to_string());
        std::fs::create_dir_all(&folder).unwrap();
        let named = if site == "a" { only_a[0] } else { tag(1, 0) };
        std::fs::write(folder.join("result.sqlite"), named.0).unwrap();
    }
    // A quarantined damaged segment whose site is unknown.
    std::fs::write(fixture.folder.path().join("indexes/77.damaged"), only_a[1].0).unwrap();
    let files_with_a_tag = |fixture: &Fixture| {
        let files = files_below(fixture.folder.path()).into_iter();
        files
            .filter(|path| {
                let bytes = std::fs::read(path).unwrap();
                only_a.iter().any(|tag| bytes.windows(16).any(|window| window == tag.0))
            })
            .count()
    };
    assert!(files_with_a_tag(&fixture) > 3);
    let others: Vec<_> = rows(&fixture).into_iter().filter(|(key, _)| key.site.as_str() == "b").collect();
    let running = crate::journal::ScanEvent { id: 3, row: scan_over("a", ScanStep::Frozen, 0) };
    record(&fixture, What::Scan(running.clone()));
    let error = keeping(&fixture, &scans).forget(&sites[0].name, "ann", 9).unwrap_err();
    assert!(matches!(error, Error::Busy(_)), "{error}");
    record(&fixture, What::ScanDeleted(running.id));
    let receipt = keeping(&fixture, &scans).forget(&sites[0].name, "ann", 9).unwrap();
    assert_eq!((receipt.indexes, receipt.scans.clone()), (2, vec![1]));
    assert!(receipt.documents > 0 && receipt.bytes > 1000, "{receipt:?}");
    assert_eq!(files_with_a_tag(&fixture), 0);
    assert_eq!(rows(&fixture), others);
    assert!(fixture.store.member(v1::MemberKind::Site, "a").unwrap().is_none());
    let fixture = fixture.restart();
    assert_eq!((rows(&fixture), files_with_a_tag(&fixture)), (others, 0));
}

#[test]
fn expired_data_goes_and_data_in_use_stays() {
    use crate::store::ScanStep;
    let (fixture, sites) = lived_in();
    let scans = fixture.folder.path().join("scans");
    let now = 1_800_000_000;
    for (id, step, finished) in [
        (1, ScanStep::Published, now - 100),
        (2, ScanStep::Published, now - 10),
        (3, ScanStep::Frozen, 0),
        (4, ScanStep::Failed, now - 100),
    ] {
        let row = scan_over("b", step, finished);
        record(&fixture, What::Scan(crate::journal::ScanEvent { id, row }));
    }
    let retention = crate::maintenance::Retention { scans_seconds: Some(50), methods_seconds: None };
    let expired = keeping(&fixture, &scans).expire(retention, now).unwrap();
    assert_eq!(expired.scans.iter().map(|id| id.0).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(fixture.store.scans().unwrap().len(), 2);
    // The fixture's clock does not advance: everything was sealed at `now`, and one of them is analysed later.
    let retention = crate::maintenance::Retention { scans_seconds: None, methods_seconds: Some(50) };
    assert_eq!(
        keeping(&fixture, &scans).expire(retention, now + 50).unwrap(),
        crate::maintenance::forget::Expired::default()
    );
    fixture.store.put_used(&sites[0].key(), now + 30).unwrap();
    assert_eq!(keeping(&fixture, &scans).expire(retention, now + 60).unwrap().indexes, 1);
    assert!(fixture.indexes.sealed(&sites[0].key()).unwrap().is_some());
    assert!(fixture.indexes.sealed(&sites[1].key()).unwrap().is_none());
    // A scan over it has not ended: its files stay until then.
    let segments = |fixture: &Fixture| {
        let files = files_below(&fixture.folder.path().join("indexes"));
        files.iter().filter(|path| path.extension().unwrap() == "seg").count()
    };
    assert_eq!(segments(&fixture), 3);
    record(&fixture, What::ScanDeleted(3));
    fixture.indexes.collect().unwrap();
    assert_eq!(segments(&fixture), 2);
}
