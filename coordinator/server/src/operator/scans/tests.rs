//! People with bounds, and scans that concern other parties as well.

use std::sync::Arc;

use cognate_proto::v1::Role;
use cognate_proto::v1::operator_server::Operator as _;
use cognate_storage::store::{MissingRow, ScanRow, ScanStep};
use tokio_stream::StreamExt as _;
use tonic::{IntoRequest as _, Request};

use super::*;
use crate::harness::indexes::{LIMITS, spec};
use crate::identity::Identity;
use crate::operator::OperatorSettings;
use crate::{Coordinator, CoordinatorConfig, KeepFor};

const SECRET: &str = "secret-of-the-other-party";

fn coordinator(folder: &tempfile::TempDir) -> Arc<Coordinator> {
    let config = CoordinatorConfig {
        state_dir: folder.path().to_owned(),
        software: "test",
        durable: false,
        clock: crate::harness::now,
        disk_reserve_bytes: 0,
        quotas: cognate_storage::indexes::SiteQuotas::default(),
        webhook_hosts: Vec::new(),
        spark: Default::default(),
    };
    let coordinator = Arc::new(Coordinator::open(&config).unwrap());
    for (site, party) in [("a", "acme"), ("b", "other")] {
        coordinator.admit(&site.parse().unwrap(), &party.parse().unwrap()).unwrap();
    }
    coordinator
}

fn service(coordinator: &Coordinator) -> OperatorService {
    let settings =
        OperatorSettings { limits: LIMITS, addresses: vec![], pages: String::new(), keep: KeepFor::default() };
    coordinator.operator_service(settings)
}

fn operator(name: &str, party: Option<&str>) -> Operator {
    let party = party.map(|party| party.parse().unwrap());
    Operator { name: name.parse().unwrap(), role: Role::Analyst, site: None, party }
}

/// A request of a person, as the listener hands it on.
fn asks<T>(operator: &Operator, message: T) -> Request<T> {
    let mut request = message.into_request();
    request.extensions_mut().insert(Identity::Operator(operator.clone()));
    request
}

/// A scan of both parties that failed at the other one.
fn failed(coordinator: &Coordinator) {
    let options = ScanOptions {
        repositories: vec![
            ("a".parse().unwrap(), "main".parse().unwrap()),
            ("b".parse().unwrap(), SECRET.parse().unwrap()),
        ],
        include: vec![SECRET.to_owned()],
        exclude: vec![format!("/{SECRET}/*")],
        control: vec![SECRET.to_owned()],
        align: vec![format!("x={SECRET}")],
        ..spec(true)
    };
    let missing = MissingRow { site: "b".into(), repository: SECRET.into(), reason: format!("/{SECRET} is gone") };
    let row = ScanRow {
        options: Some((&options).into()),
        step: ScanStep::Failed.into(),
        failure: format!("b/{SECRET}: /{SECRET} is gone"),
        missing: vec![missing],
        launched_by: "anna".to_owned(),
        ..ScanRow::default()
    };
    coordinator.services().scans.analyser.record(ScanId(1), &row).unwrap();
}

#[tokio::test]
async fn a_watch_that_is_hidden_is_answered_as_one_that_does_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = coordinator(&folder);
    let hidden = v1::Watch { name: "merger".to_owned(), party: "other".to_owned(), ..v1::Watch::default() };
    coordinator.services().records.record(What::Watch(hidden), "ben").unwrap();
    let (service, eve) = (service(&coordinator), operator("eve", Some("acme")));
    let refusal =
        async |name: &str| service.drop_watch(&eve, name).await.unwrap_err().to_string().replace(name, "NAME");
    assert_eq!(refusal("merger").await, refusal("nothing").await);
    assert!(service.watch_called(&eve, "merger").is_err());
    service.drop_watch(&operator("ben", Some("other")), "merger").await.unwrap();
}

#[tokio::test]
async fn no_call_shows_a_party_the_paths_patterns_and_progress_of_another_in_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = coordinator(&folder);
    failed(&coordinator);
    let options = coordinator.services().scans.state(ScanId(1)).unwrap().options;
    let records = &coordinator.services().records;
    let profile = v1::Profile { name: "both".to_owned(), options: options.clone() };
    records.record(What::Profile(profile), "anna").unwrap();
    let webhook = format!("https://example.com/{SECRET}");
    let schedule = v1::Schedule { name: "daily".to_owned(), options, webhook, ..v1::Schedule::default() };
    records.record(What::Schedule(schedule), "anna").unwrap();

    let service = service(&coordinator);
    let one = || v1::ShowScanRequest { scan: 1 };
    for (person, sees) in [
        (operator("anna", None), true),
        (operator("ben", Some("other")), false),
        (operator("eve", Some("acme")), false),
    ] {
        let shown = service.show_scan(asks(&person, one())).await.unwrap().into_inner();
        let listed = service.list_scans(asks(&person, v1::ListScansRequest {})).await.unwrap().into_inner().scans;
        let watched = service.watch_scan(asks(&person, one())).await.unwrap().into_inner().next().await;
        let profiles = service.list_profiles(asks(&person, v1::ListProfilesRequest {})).await.unwrap();
        let schedules = service.list_schedules(asks(&person, v1::ListSchedulesRequest {})).await.unwrap();
        let refused = service.result_of(&person, ScanId(1)).unwrap_err().to_string();
        assert_eq!((&listed[0], &watched.unwrap().unwrap()), (&shown, &shown));
        let all = format!("{shown:?} {:?} {:?} {refused}", profiles.into_inner(), schedules.into_inner());
        // The repository of the own party is shown by its name.
        let own = person.party.as_ref().is_some_and(|party| party.as_str() == "other");
        let blanked = all.replace(&format!("repository: \"{SECRET}\""), "");
        assert_eq!(all.contains(SECRET), sees || own, "{all}");
        assert_eq!(blanked.contains(&format!("/{SECRET}/*")), sees, "{all}");
        // It is still known at which sites the scan was, and that one was missing.
        let sites = shown.repositories.iter().map(|row| row.repository.as_ref().unwrap().site.as_str());
        assert_eq!(sites.collect::<Vec<_>>(), ["a", "b"]);
        assert!(!shown.repositories[1].failure.is_empty() && !shown.failure.is_empty());
    }
}

#[tokio::test]
async fn a_schedule_names_only_what_sites_have_takes_times_of_the_clock_and_shows_its_last_error() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = coordinator(&folder);
    let (service, anna) = (service(&coordinator), operator("anna", None));
    let store = &coordinator.services().records.store;
    let site = "a".parse().unwrap();
    let mut seen = store.seen(&site).unwrap();
    seen.repositories = vec!["main".to_owned()];
    store.put_seen(&site, &seen).unwrap();
    let of = |names: &[(&str, &str)]| {
        let repositories = names.iter().map(|(site, name)| (site.parse().unwrap(), name.parse().unwrap())).collect();
        Some(v1::ScanOptions::from(&ScanOptions { repositories, ..ScanOptions::default() }))
    };
    let put = async |names: &[(&str, &str)], every_seconds, at: &str| {
        let at = at.to_owned();
        let schedule =
            v1::Schedule { name: "s".into(), options: of(names), every_seconds, at, ..v1::Schedule::default() };
        service.put_schedule(asks(&anna, v1::PutScheduleRequest { schedule: Some(schedule) })).await
    };
    for (names, every, at, refused) in [
        (&[("a", "mian")][..], 60, "", "`a` has no repository `mian`; it offers main"),
        (&[("a", "main"), ("b", "x")], 60, "", "it has never attached"),
        (&[("a", "main")], 0, "", "every 10s to 366days"),
        (&[("a", "main")], 60, "02:30", "give one of them"),
        (&[("a", "main")], 0, "25:00", "`25:00` is no time"),
    ] {
        let refusal = put(names, every, at).await.unwrap_err();
        assert!(refusal.message().contains(refused), "{refusal}");
    }
    put(&[("a", "main")], 0, "Thu,mon 02:30").await.unwrap();
    let schedule = store.schedule("s").unwrap().unwrap();
    let now = coordinator.services().records.now();
    assert_eq!((schedule.at.as_str(), schedule.next_start % 86_400), ("mon,thu 02:30", 9000));
    assert!(schedule.next_start > now && schedule.next_start <= now + 7 * 86_400);
    // A launch that is refused is noted, and the next time is as it was to be.
    let due = v1::Schedule { next_start: now - 1, options: of(&[("gone", "main")]), ..schedule.clone() };
    coordinator.services().records.record(What::Schedule(due), "anna").unwrap();
    coordinator.services().schedules.launch_due(&LIMITS).unwrap();
    let after = store.schedule("s").unwrap().unwrap();
    assert!(after.last_error.starts_with("not launched: ") && after.last_error.contains("gone"), "{after:?}");
    assert_eq!((after.last_scan, after.next_start), (0, schedule.next_start));
}
