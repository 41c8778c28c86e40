//! Watches and cases, as far as a person may make and see them. A person who is bound to a site or a party sees those
//! that were made under the same bounds, which search only within them.

use cognate_proto::v1;
use serde_json::Value;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use cognate_desk::find::stored::without_features;
use cognate_desk::watch::no_watch;
use cognate_result::report::Viewer;

/// The bytes of a case that go in one message.
const PIECE_BYTES: usize = 256 << 10;

impl OperatorService {
    pub(super) async fn set_watch(
        &self,
        operator: &Operator,
        request: v1::PutWatchRequest,
    ) -> Result<v1::PutWatchResponse, Error> {
        let watch = request.watch.unwrap_or_default();
        let known = self.services.records.store.watch(&watch.name)?;
        if known.as_ref().is_some_and(|known| !may_see(operator, &known.site, &known.party)) {
            return Err(Error::Exists(format!("there is another watch `{}`: choose another name", watch.name)));
        }
        let before = known.as_ref().map_or("", |known| known.webhook.as_str());
        self.services.webhooks.check(operator, &watch.webhook, before)?;
        let (site, party) = bounds(operator);
        let watch = v1::Watch { site, party, ..watch };
        let hits = self.services.watches.put_watch(watch, operator.name.as_str()).await?;
        Ok(v1::PutWatchResponse { hits })
    }

    pub(super) fn list_watches(&self, operator: &Operator) -> Result<Vec<v1::WatchState>, Error> {
        let mut states = self.services.watches.watch_states()?;
        states.retain(|state| state.watch.as_ref().is_some_and(|watch| may_see(operator, &watch.site, &watch.party)));
        Ok(states)
    }

    pub(super) async fn drop_watch(&self, operator: &Operator, name: &str) -> Result<v1::RemoveWatchResponse, Error> {
        let known = self.services.records.store.watch(name)?;
        if known.is_some_and(|watch| !may_see(operator, &watch.site, &watch.party)) {
            // A watch that this person may not see is answered as one that does not exist.
            return Err(no_watch(name).into());
        }
        self.services.watches.remove_watch(name, operator.name.as_str()).await?;
        Ok(v1::RemoveWatchResponse {})
    }

    pub(super) async fn new_case(&self, operator: &Operator, request: v1::OpenCaseRequest) -> Result<v1::Case, Error> {
        let v1::OpenCaseRequest { name, query, note } = request;
        let (site, party) = bounds(operator);
        let case = v1::Case { name, query, note, site, party, ..v1::Case::default() };
        self.services.cases.open_case(case, operator.name.as_str()).await
    }

    pub(super) async fn ask_case(&self, operator: &Operator, name: &str) -> Result<v1::Case, Error> {
        self.services.cases.check_case(self.visible_case(operator, name)?, operator.name.as_str()).await
    }

    pub(super) fn list_cases(&self, operator: &Operator) -> Result<Vec<v1::Case>, Error> {
        let mut cases = self.services.records.store.cases()?;
        cases.retain(|case| may_see(operator, &case.site, &case.party));
        cases.sort_by(|a, b| (b.opened, &a.name).cmp(&(a.opened, &b.name)));
        let listed =
            cases.into_iter().map(|case| v1::Case { query: case.query.as_ref().map(without_features), ..case });
        Ok(listed.collect())
    }

    pub(super) fn export_case(&self, operator: &Operator, name: &str) -> Result<Vec<v1::ExportCaseResponse>, Error> {
        let whole = self.services.cases.export_case(self.visible_case(operator, name)?)?.to_string();
        let pieces = whole.as_bytes().chunks(PIECE_BYTES);
        Ok(pieces.map(|piece| v1::ExportCaseResponse { piece: piece.to_vec() }).collect())
    }

    /// A watch with its query, if a person may see it.
    pub fn watch_called(&self, operator: &Operator, name: &str) -> Result<v1::Watch, Error> {
        let watch =
            self.services.records.store.watch(name)?.filter(|watch| may_see(operator, &watch.site, &watch.party));
        watch.ok_or_else(|| no_watch(name).into())
    }

    /// A case, if a person may see it.
    pub fn case_called(&self, operator: &Operator, name: &str) -> Result<v1::Case, Error> {
        let case = self.services.cases.case(self.visible_case(operator, name)?)?;
        Ok(v1::Case { query: case.query.as_ref().map(without_features), ..case })
    }

    /// The answer of a case, by its position among all, from 0; `None`: it is erased, or never existed.
    pub fn case_answer(&self, operator: &Operator, name: &str, place: usize) -> Result<Option<Value>, Error> {
        Ok(self.services.cases.case_answer(self.visible_case(operator, name)?, place)?)
    }

    /// The name, if a person may see the case; else the error of a case that does not exist.
    fn visible_case<'a>(&self, operator: &Operator, name: &'a str) -> Result<&'a str, Error> {
        let case = self.services.records.store.case(name)?;
        let is_visible = case.is_some_and(|case| may_see(operator, &case.site, &case.party));
        let unknown = || Error::UnknownMember(format!("no case `{name}`: `cognate case list` lists them"));
        is_visible.then_some(name).ok_or_else(unknown)
    }
}

/// The bounds of a person, as they are stored.
fn bounds(operator: &Operator) -> (String, String) {
    let site = operator.site.as_ref().map(ToString::to_string);
    let party = operator.party.as_ref().map(ToString::to_string);
    (site.unwrap_or_default(), party.unwrap_or_default())
}

fn may_see(operator: &Operator, site: &str, party: &str) -> bool {
    operator.viewer().sees_stored(&Viewer::stored(site, party))
}
