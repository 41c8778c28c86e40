//! Method of a search without a requested one: the method of most indexed repositories, and the finest
//! of these.

use cognate_desk::find::finest;
use cognate_fingerprint::{Key, Method, View};
use cognate_proto::v1;

use super::HowArgs;
use crate::exit::{Exit, coded, usage};
use crate::operator::client::Operator;

/// An index that could be searched: its method, and whether it was made with the given key.
#[derive(Clone, Copy)]
struct Candidate {
    method: Method,
    is_own_key: bool,
}

/// The method for office files, if no view is requested: that of an index of their text.
pub(super) async fn choose_text(operator: &Operator, how: &HowArgs, key: &Key) -> anyhow::Result<Option<Method>> {
    let is_text = |method: &Method| matches!(method.view(), View::Office | View::Text);
    let candidates = candidates(operator, how, key).await?;
    Ok(finest(candidates.iter().filter(|one| one.is_own_key).map(|one| one.method).filter(is_text), false))
}

/// The method, as far as it is requested.
pub(super) async fn choose(operator: &Operator, how: &HowArgs, key: &Key) -> anyhow::Result<Method> {
    let candidates = candidates(operator, how, key).await?;
    let own = candidates.iter().filter(|one| one.is_own_key).map(|one| one.method);
    if let Some(method) = finest(own, how.view.is_none()) {
        return Ok(method);
    }
    if !candidates.is_empty() {
        let (is, give) = match key.fingerprint() == Key::none().fingerprint() {
            true => ("with a key", "give it with --key FILE"),
            false => ("with another key, or with none", "give the one that the sites have, with --key FILE"),
        };
        return Err(coded(Exit::KeyMismatch, format!("the available indexes were made {is}: {give}")));
    }
    if how.method.is_none() && how.view.is_none() && how.chunk_bytes.is_none() && how.param.is_none() {
        return Err(coded(
            Exit::Failed,
            "there is nothing to search yet: `cognate scan launch --repositories SITE/REPOSITORY,…` makes an index",
        ));
    }
    // No such index: the answer names the scan to launch.
    let view = how.view.as_deref().unwrap_or("raw").parse::<View>().map_err(|error| usage(error.to_string()))?;
    let name = how.method.as_deref().unwrap_or("tttd");
    Method::parse(name, view, how.chunk_bytes, how.param.as_deref().unwrap_or_default())
        .map_err(|error| usage(error.to_string()))
}

/// The indexes that could be searched.
async fn candidates(operator: &Operator, how: &HowArgs, key: &Key) -> anyhow::Result<Vec<Candidate>> {
    let listed = operator
        .call(|mut client| async move { client.list_repositories(v1::ListRepositoriesRequest {}).await })
        .await?
        .repositories;
    let wanted = |repository: &&v1::Repository| {
        let full_name = format!("{}/{}", repository.site, repository.repository);
        how.sites.is_empty() || how.sites.iter().any(|site| *site == repository.site || *site == full_name)
    };
    Ok(listed
        .iter()
        .filter(wanted)
        .flat_map(|repository| &repository.indexes)
        .filter(|index| index.sealed != 0 && index.scope.is_empty())
        .filter_map(|index| candidate(index.method.as_ref()?, key))
        .filter(|candidate| is_asked_for(how, &candidate.method))
        .collect())
}

fn candidate(spec: &v1::MethodSpec, key: &Key) -> Option<Candidate> {
    // A method of another version cannot be searched.
    let method = Method::try_from(spec).ok()?;
    Some(Candidate { method, is_own_key: method.id(key).0.as_slice() == spec.method_id })
}

fn is_asked_for(how: &HowArgs, method: &Method) -> bool {
    let param = how.param.as_ref().is_none_or(|param| {
        // In full, as a user would type it.
        let view = method.view();
        Method::parse(method.name(), view, how.chunk_bytes, param).is_ok_and(|typed| typed == *method)
    });
    param
        && how.method.as_ref().is_none_or(|name| name == method.name())
        && how.view.as_ref().is_none_or(|view| *view == method.view().to_string())
        && how.chunk_bytes.is_none_or(|bytes| bytes == u64::from(method.chunk_bytes()))
}
