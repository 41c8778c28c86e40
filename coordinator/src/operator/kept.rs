//! Watches and cases as somebody may make and see them. Whoever is bound to a site or a party sees those that were made
//! under the same bounds, and they look at nothing beyond them.

use cognate_proto::v1;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::OperatorService;
use crate::error::Error;
use crate::find::stored::without_features;
use crate::identity::Operator;

/// How much of a case goes in one message.
const PIECE_BYTES: usize = 256 << 10;

type Rows<T> = ReceiverStream<Result<T, Status>>;

impl OperatorService {
    pub(super) fn put_watch(
        &self,
        operator: &Operator,
        request: v1::PutWatchRequest,
    ) -> Result<v1::PutWatchResponse, Error> {
        let watch = request.watch.unwrap_or_default();
        if let Some(known) = self.coordinator.store.watch(&watch.name)?
            && !may_see(operator, &known.site, &known.party)
        {
            return Err(Error::Exists(format!("there is another watch `{}`: choose another name", watch.name)));
        }
        let (site, party) = bounds(operator);
        let hits = self.coordinator.put_watch(v1::Watch { site, party, ..watch }, operator.name.as_str())?;
        Ok(v1::PutWatchResponse { hits })
    }

    pub(super) fn list_watches(&self, operator: &Operator) -> Result<Rows<v1::WatchState>, Error> {
        let mut states = self.coordinator.watch_states()?;
        states.retain(|state| state.watch.as_ref().is_some_and(|watch| may_see(operator, &watch.site, &watch.party)));
        Ok(rows(states))
    }

    pub(super) fn remove_watch(&self, operator: &Operator, name: &str) -> Result<v1::RemoveWatchResponse, Error> {
        let known = self.coordinator.store.watch(name)?;
        let hidden = known.is_some_and(|watch| !may_see(operator, &watch.site, &watch.party));
        // As if there were none.
        self.coordinator.remove_watch(if hidden { "" } else { name }, operator.name.as_str())?;
        Ok(v1::RemoveWatchResponse {})
    }

    pub(super) fn open_case(&self, operator: &Operator, request: v1::OpenCaseRequest) -> Result<v1::Case, Error> {
        let v1::OpenCaseRequest { name, query, note } = request;
        let (site, party) = bounds(operator);
        let case = v1::Case { name, query, note, site, party, ..v1::Case::default() };
        self.coordinator.open_case(case, operator.name.as_str())
    }

    pub(super) fn check_case(&self, operator: &Operator, name: &str) -> Result<v1::Case, Error> {
        self.coordinator.check_case(self.visible_case(operator, name)?, operator.name.as_str())
    }

    pub(super) fn list_cases(&self, operator: &Operator) -> Result<Rows<v1::Case>, Error> {
        let mut cases = self.coordinator.store.cases()?;
        cases.retain(|case| may_see(operator, &case.site, &case.party));
        cases.sort_by(|a, b| (b.opened, &a.name).cmp(&(a.opened, &b.name)));
        let told = cases.into_iter().map(|case| v1::Case { query: case.query.as_ref().map(without_features), ..case });
        Ok(rows(told.collect()))
    }

    pub(super) fn export_case(&self, operator: &Operator, name: &str) -> Result<Rows<v1::ExportCaseResponse>, Error> {
        let whole = self.coordinator.export_case(self.visible_case(operator, name)?)?.to_string();
        let pieces = whole.as_bytes().chunks(PIECE_BYTES);
        Ok(rows(pieces.map(|piece| v1::ExportCaseResponse { piece: piece.to_vec() }).collect()))
    }

    /// A watch with what it seeks, if somebody may see it.
    pub(crate) fn watch_called(&self, operator: &Operator, name: &str) -> Result<v1::Watch, Error> {
        let watch = self.coordinator.store.watch(name)?.filter(|watch| may_see(operator, &watch.site, &watch.party));
        watch
            .ok_or_else(|| Error::UnknownMember(format!("no watch `{name}`: `cognate watch list` shows what there is")))
    }

    /// A case, if somebody may see it.
    pub(crate) fn case_called(&self, operator: &Operator, name: &str) -> Result<v1::Case, Error> {
        let case = self.coordinator.case(self.visible_case(operator, name)?)?;
        Ok(v1::Case { query: case.query.as_ref().map(without_features), ..case })
    }

    /// What was answered to a case, by the place of the answer among all, from 0; nothing: it is erased, or was never.
    pub(crate) fn case_answer(&self, operator: &Operator, name: &str, place: usize) -> Result<Option<Value>, Error> {
        self.coordinator.case_answer(self.visible_case(operator, name)?, place)
    }

    /// The name, if somebody may see the case; else it is as if there were none.
    fn visible_case<'a>(&self, operator: &Operator, name: &'a str) -> Result<&'a str, Error> {
        let case = self.coordinator.store.case(name)?;
        let is_visible = case.is_some_and(|case| may_see(operator, &case.site, &case.party));
        let unknown = || Error::UnknownMember(format!("no case `{name}`: `cognate case list` shows what there is"));
        is_visible.then_some(name).ok_or_else(unknown)
    }
}

/// What somebody is bound to, as it is kept.
fn bounds(operator: &Operator) -> (String, String) {
    let site = operator.site.as_ref().map(ToString::to_string);
    let party = operator.party.as_ref().map(ToString::to_string);
    (site.unwrap_or_default(), party.unwrap_or_default())
}

fn may_see(operator: &Operator, site: &str, party: &str) -> bool {
    let (own_site, own_party) = bounds(operator);
    (own_site.is_empty() && own_party.is_empty()) || (own_site == site && own_party == party)
}

fn rows<T: Send + 'static>(rows: Vec<T>) -> Rows<T> {
    let (told, stream) = mpsc::channel(4);
    tokio::spawn(async move {
        for row in rows {
            if told.send(Ok(row)).await.is_err() {
                return;
            }
        }
    });
    ReceiverStream::new(stream)
}
