//! The calls of people. `authorize.rs` has the permissions; these methods make sure that a person who is bound to a
//! site or a party reads only about that site or party.

mod audit;
mod events;
mod explain;
pub mod find;
mod find_hashes;
mod login;
mod results;
mod scans;
mod stored_queries;
mod templates;
mod verdicts;

use std::sync::Arc;
use std::time::Duration;

use cognate_proto::name::{PartyName, ScanId, SiteName};
use cognate_proto::v1::operator_server::Operator as OperatorMethods;
use cognate_proto::v1::{self, MemberKind, Membership};
use tonic::{Request, Response, Status};

use crate::caller::operator_of;
use crate::error::Error;
use crate::identity::Operator;
use crate::removal::KeepFor;
use crate::services::Services;
use crate::streams::Outgoing;
use cognate_analysis::AnalysisLimits;
use cognate_storage::journal::{Action, ScanNamed, What};
use cognate_storage::store::IndexRow;

/// Configuration of the service.
#[derive(Clone, Debug)]
pub struct OperatorSettings {
    /// The limits of an analysis.
    pub limits: AnalysisLimits,
    /// The addresses for members, which invitations hold.
    pub addresses: Vec<String>,
    /// The address of the pages: scheme, host and port; empty: there are none.
    pub pages: String,
    /// The retention times of results and indexes.
    pub keep: KeepFor,
}

/// The service for operators.
#[derive(Clone)]
pub struct OperatorService {
    /// The services of the coordinator.
    pub services: Arc<Services>,
    pub(crate) settings: Arc<OperatorSettings>,
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl OperatorMethods for OperatorService {
    type WatchScanStream = Outgoing<v1::ScanState>;
    type ListTemplatesStream = Outgoing<v1::Template>;
    type SuggestTemplatesStream = Outgoing<v1::SuggestTemplatesResponse>;
    type AuditStream = Outgoing<v1::AuditResponse>;
    type ListVerdictsStream = Outgoing<v1::VerdictState>;
    type ListVerdictActionsStream = Outgoing<v1::VerdictAction>;
    type ListWatchesStream = Outgoing<v1::WatchState>;
    type ListCasesStream = Outgoing<v1::Case>;
    type ExportCaseStream = Outgoing<v1::ExportCaseResponse>;
    type FindStream = Outgoing<v1::FindResponse>;
    type FindHashesStream = Outgoing<v1::FindHashesResponse>;
    type FetchResultStream = Outgoing<v1::FetchResultResponse>;

    async fn invite(&self, request: Request<v1::InviteRequest>) -> Answer<v1::InviteResponse> {
        let operator = operator_of(&request)?;
        let v1::InviteRequest { membership, valid_seconds } = request.into_inner();
        let membership = membership.ok_or_else(|| Error::Invalid("`membership`: it is missing".to_owned()))?;
        let valid = Some(valid_seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let by = operator.name.to_string();
        let invited = self.change(move |service| {
            let addresses = service.settings.addresses.clone();
            service.services.members.invite(&membership, valid, addresses, &by)
        });
        let (line, expires) = invited.await?;
        Ok(Response::new(v1::InviteResponse { line: line.to_string(), expires }))
    }

    async fn list_members(&self, request: Request<v1::ListMembersRequest>) -> Answer<v1::ListMembersResponse> {
        let operator = operator_of(&request)?;
        let kind = request.into_inner().kind();
        let mut members = self.services.members.list(kind)?;
        members.retain(|member| self.sees_member(&operator, member.membership.as_ref()));
        if kind == MemberKind::Site {
            for member in &mut members {
                self.tell_of_site(member)?;
            }
        }
        Ok(Response::new(v1::ListMembersResponse { members }))
    }

    async fn name_party(&self, request: Request<v1::NamePartyRequest>) -> Answer<v1::NamePartyResponse> {
        let operator = operator_of(&request)?;
        let v1::NamePartyRequest { party, full_name } = request.into_inner();
        let by = operator.name.to_string();
        self.change(move |service| service.services.members.name_party(&party, &full_name, &by)).await?;
        Ok(Response::new(v1::NamePartyResponse {}))
    }

    async fn revoke(&self, request: Request<v1::RevokeRequest>) -> Answer<v1::RevokeResponse> {
        let operator = operator_of(&request)?;
        let revoked = request.into_inner();
        let by = operator.name.to_string();
        self.change(move |service| {
            service.services.members.revoke(revoked.kind(), &revoked.name, &by)?;
            if revoked.kind() == MemberKind::Site
                && let Ok(site) = revoked.name.parse()
            {
                service.services.sessions.cut(&site);
            }
            Ok(v1::RevokeResponse {})
        })
        .await
        .map(Response::new)
    }

    async fn forget_site(&self, request: Request<v1::ForgetSiteRequest>) -> Answer<v1::ForgetSiteResponse> {
        let operator = operator_of(&request)?;
        let site = parse_site(&request.into_inner().site)?;
        let by = operator.name.to_string();
        self.change(move |service| service.services.removal.forget_site(&site, &by)).await.map(Response::new)
    }

    async fn list_repositories(
        &self,
        request: Request<v1::ListRepositoriesRequest>,
    ) -> Answer<v1::ListRepositoriesResponse> {
        let operator = operator_of(&request)?;
        let service = self.clone();
        let repositories = blocking(move || service.repositories(&operator)).await?;
        Ok(Response::new(v1::ListRepositoriesResponse { repositories }))
    }

    async fn estimate_scan(&self, request: Request<v1::EstimateScanRequest>) -> Answer<v1::EstimateScanResponse> {
        let operator = operator_of(&request)?;
        let spec = self.checked(&operator, request.into_inner().options.as_ref())?;
        self.check_refined(&operator, &spec)?;
        let repositories = self.services.scans.estimate(&spec).await?;
        Ok(Response::new(v1::EstimateScanResponse { repositories }))
    }

    async fn launch_scan(&self, request: Request<v1::LaunchScanRequest>) -> Answer<v1::LaunchScanResponse> {
        let operator = operator_of(&request)?;
        let v1::LaunchScanRequest { scan, options, name } = request.into_inner();
        let name = scans::checked_scan_name(&name)?;
        let checked = self.checked(&operator, options.as_ref())?;
        let options = checked.options.clone();
        self.check_refinement(&operator, ScanId(scan), checked).await?;
        self.change(move |service| {
            let (scans, limits) = (&service.services.scans, &service.settings.limits);
            scans.launch_as(ScanId(scan), options, &name, operator.name.as_str(), limits)
        })
        .await?;
        Ok(Response::new(v1::LaunchScanResponse {}))
    }

    async fn rename_scan(&self, request: Request<v1::RenameScanRequest>) -> Answer<v1::RenameScanResponse> {
        let operator = operator_of(&request)?;
        let v1::RenameScanRequest { scan, name } = request.into_inner();
        let name = scans::checked_scan_name(&name)?;
        let state = self.visible_state(&operator, ScanId(scan))?;
        if state.launched_by != operator.name.as_str() {
            self.check_concerns_no_other(&operator, &state, "rename")?;
        }
        self.change(move |service| {
            let named = What::ScanNamed(ScanNamed { id: scan, name });
            Ok(service.services.records.record(named, operator.name.as_str())?)
        })
        .await?;
        Ok(Response::new(v1::RenameScanResponse {}))
    }

    async fn list_scans(&self, request: Request<v1::ListScansRequest>) -> Answer<v1::ListScansResponse> {
        let operator = operator_of(&request)?;
        let service = self.clone();
        let scans = blocking(move || service.all_scans(&operator)).await?;
        Ok(Response::new(v1::ListScansResponse { scans }))
    }

    async fn show_scan(&self, request: Request<v1::ShowScanRequest>) -> Answer<v1::ScanState> {
        let operator = operator_of(&request)?;
        Ok(Response::new(self.visible_state(&operator, ScanId(request.into_inner().scan))?))
    }

    async fn watch_scan(&self, request: Request<v1::ShowScanRequest>) -> Answer<Self::WatchScanStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        let id = ScanId(request.into_inner().scan);
        self.visible_state(&operator, id)?;
        Ok(Response::new(opening.stream(self.watch(operator, id))))
    }

    async fn cancel_scan(&self, request: Request<v1::CancelScanRequest>) -> Answer<v1::CancelScanResponse> {
        let operator = operator_of(&request)?;
        let id = ScanId(request.into_inner().scan);
        let state = self.visible_state(&operator, id)?;
        if state.launched_by != operator.name.as_str() {
            self.check_concerns_no_other(&operator, &state, "cancel")?;
        }
        tracing::info!(scan = %id, by = %operator.name, "a scan is cancelled");
        self.change(move |service| {
            service.services.records.note(Action::Cancelled, id.0, operator.name.as_str())?;
            service.services.scans.cancel(id);
            Ok(())
        })
        .await?;
        Ok(Response::new(v1::CancelScanResponse {}))
    }

    async fn delete_scan(&self, request: Request<v1::DeleteScanRequest>) -> Answer<v1::DeleteScanResponse> {
        let operator = operator_of(&request)?;
        let id = ScanId(request.into_inner().scan);
        let state = self.visible_state(&operator, id)?;
        self.check_concerns_no_other(&operator, &state, "delete")?;
        if matches!(state.status(), v1::ScanStatus::Syncing | v1::ScanStatus::Analysing) {
            return Err(Error::Refused(format!("scan {id} has not ended: cancel it first")).into());
        }
        let (service, by) = (self.clone(), operator.name.to_string());
        let bytes = blocking(move || service.services.removal.delete_as(id, &by)).await?;
        Ok(Response::new(v1::DeleteScanResponse { bytes }))
    }

    async fn fetch_result(&self, request: Request<v1::FetchResultRequest>) -> Answer<Self::FetchResultStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        let v1::FetchResultRequest { scan, offset } = request.into_inner();
        let service = self.clone();
        let pieces = blocking(move || service.fetch(&operator, ScanId(scan), offset)).await?;
        Ok(Response::new(opening.stream(pieces)))
    }

    async fn audit(&self, request: Request<v1::AuditRequest>) -> Answer<Self::AuditStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        let (service, request) = (self.clone(), request.into_inner());
        let document = blocking(move || service.audited(&operator, ScanId(request.scan), request.format())).await?;
        Ok(Response::new(opening.rows(audit::in_pieces(document))))
    }

    async fn explain(&self, request: Request<v1::ExplainRequest>) -> Answer<v1::ExplainResponse> {
        let operator = operator_of(&request)?;
        let (service, asked) = (self.clone(), request.into_inner());
        blocking(move || service.explain_pair(&operator, &asked)).await.map(Response::new)
    }

    async fn put_profile(&self, request: Request<v1::PutProfileRequest>) -> Answer<v1::PutProfileResponse> {
        let operator = operator_of(&request)?;
        let profile = request.into_inner().profile.unwrap_or_default();
        self.change(move |service| service.save_profile(&operator, profile)).await?;
        Ok(Response::new(v1::PutProfileResponse {}))
    }

    async fn list_profiles(&self, request: Request<v1::ListProfilesRequest>) -> Answer<v1::ListProfilesResponse> {
        let operator = operator_of(&request)?;
        let mut profiles = self.services.records.store.profiles().map_err(Error::from)?;
        profiles.retain_mut(|profile| {
            profile.options.as_mut().is_some_and(|options| self.shown_options(&operator, options).is_some())
        });
        Ok(Response::new(v1::ListProfilesResponse { profiles }))
    }

    async fn remove_profile(&self, request: Request<v1::RemoveProfileRequest>) -> Answer<v1::RemoveProfileResponse> {
        let operator = operator_of(&request)?;
        let name = request.into_inner().name;
        self.change(move |service| service.drop_profile(&operator, &name)).await?;
        Ok(Response::new(v1::RemoveProfileResponse {}))
    }

    async fn put_schedule(&self, request: Request<v1::PutScheduleRequest>) -> Answer<v1::PutScheduleResponse> {
        let operator = operator_of(&request)?;
        let schedule = request.into_inner().schedule.unwrap_or_default();
        self.change(move |service| service.save_schedule(&operator, schedule)).await?;
        Ok(Response::new(v1::PutScheduleResponse {}))
    }

    async fn list_schedules(&self, request: Request<v1::ListSchedulesRequest>) -> Answer<v1::ListSchedulesResponse> {
        let operator = operator_of(&request)?;
        let mut schedules = self.services.records.store.schedules().map_err(Error::from)?;
        schedules.retain_mut(|schedule| {
            let shown = schedule.options.as_mut().and_then(|options| self.shown_options(&operator, options));
            if shown == Some(true) {
                // It may hold a secret of another party.
                schedule.webhook.clear();
                schedule.last_error.clear();
            }
            shown.is_some()
        });
        Ok(Response::new(v1::ListSchedulesResponse { schedules }))
    }

    async fn remove_schedule(&self, request: Request<v1::RemoveScheduleRequest>) -> Answer<v1::RemoveScheduleResponse> {
        let operator = operator_of(&request)?;
        let name = request.into_inner().name;
        self.change(move |service| service.drop_schedule(&operator, &name)).await?;
        Ok(Response::new(v1::RemoveScheduleResponse {}))
    }

    async fn mark_template(&self, request: Request<v1::MarkTemplateRequest>) -> Answer<v1::Template> {
        let operator = operator_of(&request)?;
        let (service, request) = (self.clone(), request.into_inner());
        blocking(move || service.mark_template(&operator, &request)).await.map(Response::new)
    }

    async fn unmark_template(&self, request: Request<v1::UnmarkTemplateRequest>) -> Answer<v1::UnmarkTemplateResponse> {
        let operator = operator_of(&request)?;
        let id = request.into_inner().id;
        self.change(move |service| service.unmark_template(&operator, id)).await?;
        Ok(Response::new(v1::UnmarkTemplateResponse {}))
    }

    async fn list_templates(&self, request: Request<v1::ListTemplatesRequest>) -> Answer<Self::ListTemplatesStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        Ok(Response::new(opening.rows(self.list_templates(&operator, request.into_inner().all)?)))
    }

    async fn suggest_templates(
        &self,
        request: Request<v1::SuggestTemplatesRequest>,
    ) -> Answer<Self::SuggestTemplatesStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        Ok(Response::new(opening.stream(self.suggest(&operator, request.into_inner())?)))
    }

    async fn login(&self, request: Request<v1::LoginRequest>) -> Answer<v1::LoginResponse> {
        let operator = operator_of(&request)?;
        let (service, request) = (self.clone(), request.into_inner());
        blocking(move || service.log_in(&operator, &request)).await.map(Response::new)
    }

    async fn list_events(&self, request: Request<v1::ListEventsRequest>) -> Answer<v1::ListEventsResponse> {
        let operator = operator_of(&request)?;
        let (service, request) = (self.clone(), request.into_inner());
        blocking(move || service.events(&operator, &request)).await.map(Response::new)
    }

    async fn set_verdicts(&self, request: Request<v1::SetVerdictsRequest>) -> Answer<v1::SetVerdictsResponse> {
        let operator = operator_of(&request)?;
        let (service, request) = (self.clone(), request.into_inner());
        blocking(move || service.set_verdicts(&operator, request)).await.map(Response::new)
    }

    async fn undo_verdicts(&self, request: Request<v1::UndoVerdictsRequest>) -> Answer<v1::UndoVerdictsResponse> {
        let operator = operator_of(&request)?;
        let (service, action) = (self.clone(), request.into_inner().action);
        blocking(move || service.undo_verdicts(&operator, action)).await.map(Response::new)
    }

    async fn list_verdicts(&self, request: Request<v1::ListVerdictsRequest>) -> Answer<Self::ListVerdictsStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        Ok(Response::new(opening.spool(self.list_verdicts(&operator, ScanId(request.into_inner().scan))?)))
    }

    async fn show_review(&self, request: Request<v1::ShowReviewRequest>) -> Answer<v1::ShowReviewResponse> {
        let operator = operator_of(&request)?;
        let service = self.clone();
        let scan = ScanId(request.into_inner().scan);
        blocking(move || service.review(&operator, scan)).await.map(Response::new)
    }

    async fn list_verdict_actions(
        &self,
        request: Request<v1::ListVerdictActionsRequest>,
    ) -> Answer<Self::ListVerdictActionsStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        let service = self.clone();
        let actions = blocking(move || service.verdict_history(&operator)).await?;
        Ok(Response::new(opening.rows(actions)))
    }

    async fn find(
        &self,
        request: Request<cognate_proto::calls::Messages<v1::FindRequest>>,
    ) -> Answer<Self::FindStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        let answer = self.search(operator, request.into_inner()).await?;
        let messages = answer.into_wire().map(|message| v1::FindResponse { message: Some(message) });
        Ok(Response::new(opening.rows(messages)))
    }

    async fn find_hashes(
        &self,
        request: Request<cognate_proto::calls::Messages<v1::FindHashesRequest>>,
    ) -> Answer<Self::FindHashesStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        let answer = self.search_hashes(operator, request.into_inner()).await?;
        let messages = answer.into_wire().map(|message| v1::FindHashesResponse { message: Some(message) });
        Ok(Response::new(opening.rows(messages)))
    }

    async fn put_watch(&self, request: Request<v1::PutWatchRequest>) -> Answer<v1::PutWatchResponse> {
        let operator = operator_of(&request)?;
        Ok(Response::new(self.set_watch(&operator, request.into_inner()).await?))
    }

    async fn list_watches(&self, request: Request<v1::ListWatchesRequest>) -> Answer<Self::ListWatchesStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        Ok(Response::new(opening.rows(self.list_watches(&operator)?)))
    }

    async fn remove_watch(&self, request: Request<v1::RemoveWatchRequest>) -> Answer<v1::RemoveWatchResponse> {
        let operator = operator_of(&request)?;
        Ok(Response::new(self.drop_watch(&operator, &request.into_inner().name).await?))
    }

    async fn open_case(&self, request: Request<v1::OpenCaseRequest>) -> Answer<v1::Case> {
        let operator = operator_of(&request)?;
        Ok(Response::new(self.new_case(&operator, request.into_inner()).await?))
    }

    async fn check_case(&self, request: Request<v1::CheckCaseRequest>) -> Answer<v1::Case> {
        let operator = operator_of(&request)?;
        Ok(Response::new(self.ask_case(&operator, &request.into_inner().name).await?))
    }

    async fn list_cases(&self, request: Request<v1::ListCasesRequest>) -> Answer<Self::ListCasesStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        Ok(Response::new(opening.rows(self.list_cases(&operator)?)))
    }

    async fn export_case(&self, request: Request<v1::ExportCaseRequest>) -> Answer<Self::ExportCaseStream> {
        let operator = operator_of(&request)?;
        let opening = self.services.streams.open(&request)?;
        let (service, name) = (self.clone(), request.into_inner().name);
        let pieces = blocking(move || service.export_case(&operator, &name)).await?;
        Ok(Response::new(opening.rows(pieces)))
    }

    async fn show_coordinator(&self, request: Request<v1::ShowCoordinatorRequest>) -> Answer<v1::CoordinatorState> {
        operator_of(&request)?;
        let service = self.clone();
        let state = blocking(move || service.services.health.show()).await?;
        Ok(Response::new(state))
    }
}

impl OperatorService {
    /// Makes a change that is recorded. It waits for no other work than that of the journal.
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&OperatorService) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Status> {
        let service = self.clone();
        Ok(self.services.records.disk.change(move || work(&service)).await?)
    }

    /// True if a scan over these repositories concerns a person.
    fn sees(&self, operator: &Operator, options: &v1::ScanOptions) -> bool {
        options.repositories.iter().any(|repository| self.is_own(operator, &repository.site))
    }

    /// True if a person may see a site; a person without bounds may see all.
    fn is_own(&self, operator: &Operator, site: &str) -> bool {
        operator.viewer().sees_site(site, |site| self.party_of(site))
    }

    /// The party of a site, also of one that was revoked: what it sent is still that party's.
    fn party_of(&self, site: &str) -> Option<PartyName> {
        site.parse().ok().and_then(|site| self.services.records.store.party_of_data(&site).ok().flatten())
    }

    fn sees_member(&self, operator: &Operator, membership: Option<&Membership>) -> bool {
        match membership {
            Some(membership) if membership.kind() == MemberKind::Site => self.is_own(operator, &membership.name),
            // Who is bound to what tells how a federation is run: administrators without bounds see it, others see themselves.
            Some(membership) => {
                let sees_all = operator.role == v1::Role::Administrator && !operator.viewer().is_bound();
                sees_all || membership.name == operator.name.as_str()
            }
            None => false,
        }
    }

    /// The state of a session, for the list of sites.
    fn tell_of_site(&self, member: &mut v1::Member) -> Result<(), Error> {
        let name = member.membership.as_ref().map(|membership| membership.name.clone()).unwrap_or_default();
        let Ok(site) = name.parse::<SiteName>() else { return Ok(()) };
        let party = member.membership.as_ref().map(|membership| membership.party.as_str()).unwrap_or_default();
        member.party_full_name = self.services.records.store.full_name_of_party(party)?.unwrap_or_default();
        let seen = self.services.records.store.seen(&site)?;
        member.last_heard = seen.last_heard;
        member.software = seen.software;
        if let Some(attached) = self.services.sessions.attached(&site) {
            member.attached = true;
            member.paused = attached.paused;
            member.last_heard = attached.last_heard;
            member.software = attached.software;
            member.clock_skew_seconds = attached.clock_skew_seconds;
        }
        Ok(())
    }

    /// The state of every repository that a person may see.
    fn repositories(&self, operator: &Operator) -> Result<Vec<v1::Repository>, Error> {
        let mut all = std::collections::BTreeMap::<(String, String), v1::Repository>::new();
        let named = |site: &str, repository: &str| v1::Repository {
            party: self.party_of(site).map(|party| party.to_string()).unwrap_or_default(),
            site: site.to_owned(),
            repository: repository.to_owned(),
            ..v1::Repository::default()
        };
        for member in self.services.members.list(MemberKind::Site)? {
            let Some(Ok(site)) = member.membership.map(|membership| membership.name.parse::<SiteName>()) else {
                continue;
            };
            let attached = self.services.sessions.attached(&site);
            let offered = attached.as_ref().map(|attached| &attached.repositories);
            let known = self.services.records.store.seen(&site)?.repositories;
            for repository in known {
                let now = offered.is_some_and(|offered| offered.iter().any(|one| one.as_str() == repository));
                let row = all
                    .entry((site.to_string(), repository.clone()))
                    .or_insert_with(|| named(site.as_str(), &repository));
                row.offered = now;
            }
        }
        for (key, _, row) in self.services.scans.analyser.indexes.all()? {
            let (site, repository) = (key.site.as_str(), key.repository.as_str());
            let listed = all.entry((site.to_owned(), repository.to_owned())).or_insert_with(|| named(site, repository));
            listed.indexes.push(self::listed(&row));
        }
        Ok(all.into_values().filter(|row| self.is_own(operator, &row.site)).collect())
    }
}

fn parse_site(name: &str) -> Result<SiteName, Error> {
    name.parse().map_err(|error: cognate_proto::name::NameError| Error::Invalid(error.to_string()))
}

/// Runs work that may wait for the disk on a thread for such work.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Status> {
    Ok(cognate_storage::disk::blocking(work).await?)
}

/// An index as a list shows it.
fn listed(row: &IndexRow) -> v1::RepositoryIndex {
    let header = row.header.clone().unwrap_or_default();
    v1::RepositoryIndex {
        method: header.method,
        keyed: header.keyed,
        documents: row.documents,
        size_bytes: row.size_bytes,
        sealed: row.seal.as_ref().map_or(0, |seal| seal.time),
        stored_bytes: row.segment_bytes,
        scope: header.scope,
    }
}
