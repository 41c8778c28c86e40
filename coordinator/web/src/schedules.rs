//! Profiles (scans that are saved under a name) and schedules (scans that are launched again and again).

use askama::Template;
use axum::Router;
use axum::routing::{get, post};
use cognate_proto::clock_times::ClockTimes;
use cognate_proto::name::ScanId;
use cognate_proto::v1;
use cognate_proto::v1::operator_server::Operator as _;

use crate::launch::confirm_again;
use crate::scan_form::ScanForm;
use crate::scans::{method, repository};
use crate::{Again, Fields, Page, PageError, Pages, Person, Shown, filters, html, see};

pub(crate) fn routes() -> Router<Pages> {
    Router::new()
        .route("/schedules", get(list))
        .route("/schedules/save", post(save))
        .route("/schedules/remove", post(remove))
        .route("/profiles/save", post(save_profile))
        .route("/profiles/remove", post(remove_profile))
}

#[derive(Template)]
#[template(path = "schedules.html")]
struct Schedules {
    page: Page,
    /// The form of a schedule for a profile, as it was filled in.
    form: Again,
    schedules: Vec<ScheduleRow>,
    profiles: Vec<ProfileRow>,
}

struct ScheduleRow {
    name: String,
    every_seconds: u64,
    /// Days and time, where it has no interval.
    at: String,
    last_error: String,
    repositories: String,
    method: String,
    webhook: String,
    last_started: i64,
    next_start: i64,
    /// The id of the last scan, or nothing.
    last_scan: String,
}

struct ProfileRow {
    name: String,
    repositories: String,
    method: String,
}

fn repositories(options: &v1::ScanOptions) -> String {
    options.repositories.iter().map(repository).collect::<Vec<_>>().join(", ")
}

async fn list(person: Person) -> Shown {
    shown(&person, Again::default()).await
}

async fn shown(person: &Person, form: Again) -> Shown {
    let service = &person.pages.service;
    let schedules = service.list_schedules(person.ask("ListSchedules", v1::ListSchedulesRequest {})?).await?;
    let profiles = service.list_profiles(person.ask("ListProfiles", v1::ListProfilesRequest {})?).await?;
    let schedule = |schedule: v1::Schedule| {
        let options = schedule.options.unwrap_or_default();
        ScheduleRow {
            name: schedule.name,
            every_seconds: schedule.every_seconds,
            at: schedule.at,
            last_error: schedule.last_error,
            repositories: repositories(&options),
            method: method(&options),
            webhook: schedule.webhook,
            last_started: schedule.last_started,
            next_start: schedule.next_start,
            last_scan: if schedule.last_scan == 0 { String::new() } else { ScanId(schedule.last_scan).to_string() },
        }
    };
    let profile = |profile: v1::Profile| {
        let options = profile.options.unwrap_or_default();
        ProfileRow { name: profile.name, repositories: repositories(&options), method: method(&options) }
    };
    let page = Schedules {
        page: person.page("schedules"),
        form,
        schedules: schedules.into_inner().schedules.into_iter().map(schedule).collect(),
        profiles: profiles.into_inner().profiles.into_iter().map(profile).collect(),
    };
    page.form.answered(html(&page))
}

/// A schedule for the options in a form, or for a profile.
async fn save(person: Person, fields: Fields) -> Shown {
    const NAMES: [&str; 3] = ["name", "every", "webhook"];
    // The name is that of the profile, which nobody typed.
    const OF_PROFILE: [&str; 1] = ["every"];
    match saved(&person, &fields).await {
        Ok(()) => see("/schedules"),
        Err(error) if fields.text("profile").is_some() => shown(&person, Again::of(fields, error, &OF_PROFILE)?).await,
        Err(error) => confirm_again(&person, fields, error, &NAMES).await,
    }
}

async fn saved(person: &Person, fields: &Fields) -> Result<(), PageError> {
    let service = &person.pages.service;
    let name = fields.needed("name")?.to_owned();
    let typed = fields.needed("every")?;
    let (every_seconds, at) = match (humantime::parse_duration(typed), typed.parse::<ClockTimes>()) {
        (Ok(every), _) => (every.as_secs(), String::new()),
        (_, Ok(at)) => (0, at.to_string()),
        _ => return Err(PageError::invalid("`every`: a time such as 1h, 1day or 7days, or `mon,thu 02:30` in UTC")),
    };
    let options = match fields.text("profile") {
        Some(profile) => {
            let listed =
                service.list_profiles(person.ask("ListProfiles", v1::ListProfilesRequest {})?).await?.into_inner();
            let known = listed.profiles.into_iter().find(|known| known.name == profile);
            known.and_then(|known| known.options).ok_or_else(PageError::not_found)?
        }
        None => ScanForm::of_fields(fields).options()?.into(),
    };
    let schedule = v1::Schedule {
        name: name.clone(),
        options: Some(options),
        every_seconds,
        at: at.clone(),
        webhook: fields.text("webhook").unwrap_or_default().to_owned(),
        ..v1::Schedule::default()
    };
    let request = v1::PutScheduleRequest { schedule: Some(schedule) };
    service.put_schedule(person.ask("PutSchedule", request)?).await?;
    person.say(match at.as_str() {
        "" => format!("Schedule {name} is saved; its first scan is launched now."),
        at => format!("Schedule {name} is saved; its first scan is launched at {at} UTC."),
    });
    Ok(())
}

async fn remove(person: Person, fields: Fields) -> Shown {
    let name = fields.needed("name")?.to_owned();
    let request = person.ask("RemoveSchedule", v1::RemoveScheduleRequest { name: name.clone() })?;
    person.pages.service.remove_schedule(request).await?;
    person.say(format!("Schedule {name} is removed; its scans stay."));
    see("/schedules")
}

async fn save_profile(person: Person, fields: Fields) -> Shown {
    match saved_profile(&person, &fields).await {
        Ok(()) => see("/schedules"),
        Err(error) => confirm_again(&person, fields, error, &["profile_name"]).await,
    }
}

async fn saved_profile(person: &Person, fields: &Fields) -> Result<(), PageError> {
    let name = fields.needed("profile_name")?.to_owned();
    let options = ScanForm::of_fields(fields).options()?;
    let profile = v1::Profile { name: name.clone(), options: Some(options.into()) };
    let request = person.ask("PutProfile", v1::PutProfileRequest { profile: Some(profile) })?;
    person.pages.service.put_profile(request).await?;
    person.say(format!("Profile {name} is saved."));
    Ok(())
}

async fn remove_profile(person: Person, fields: Fields) -> Shown {
    let name = fields.needed("name")?.to_owned();
    let request = person.ask("RemoveProfile", v1::RemoveProfileRequest { name: name.clone() })?;
    person.pages.service.remove_profile(request).await?;
    person.say(format!("Profile {name} is removed."));
    see("/schedules")
}
