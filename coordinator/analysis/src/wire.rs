//! A scan as somebody asks for it, checked: what exists as a [`ScanSpec`] can be carried out.

use std::num::NonZeroUsize;
use std::time::Duration;

use cognate_fingerprint::{Method, View};
use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::{RepositoryName, SiteName, one_line};
use cognate_proto::selection::{Selection, SelectionRule};
use cognate_proto::v1;
use cognate_similarity::Thresholds;

use crate::error::Error;
use crate::refine::Refine;
use crate::spec::{Layer, ScanSpec};

/// The least working memory of an analysis.
const MEMORY_BUDGET_BYTES_LEAST: u64 = 32 << 20;
/// How many repositories one scan may name.
const REPOSITORIES_MAX: usize = 4096;

/// What a coordinator gives to an analysis.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisLimits {
    /// Working memory where none is asked for, and the most that can be had.
    pub memory_budget_bytes: u64,
    /// Threads where none are asked for, and the most that can be had.
    pub threads: NonZeroUsize,
}

/// The longest decimal number from 0 to 1 that is taken.
const CONTAINMENT_BYTES_MAX: usize = 32;

impl ScanSpec {
    /// Checks what somebody asks for.
    ///
    /// # Errors
    /// When a field makes no sense; it is named.
    pub fn from_wire(spec: &v1::ScanSpec, limits: &AnalysisLimits) -> Result<ScanSpec, Error> {
        let refused = |field: &str, why: &dyn std::fmt::Display| {
            Error::Invalid(format!("`{field}`: {}", one_line(&why.to_string())))
        };
        let repositories = repositories(&spec.repositories)?;
        let method = |field: &str, method: Option<&v1::MethodSpec>| {
            let method = method.ok_or_else(|| refused(field, &"it is missing"))?;
            Method::try_from(method).map_err(|error| refused(field, &error))
        };
        if spec.min_containment.len() > CONTAINMENT_BYTES_MAX {
            return Err(refused("min_containment", &"it is longer than a number from 0 to 1 has to be"));
        }
        let min_containment = spec.min_containment.parse().map_err(|error| refused("min_containment", &error))?;
        let layer = |method: Method, min_shared_bytes: u64| Layer {
            method,
            method_id: None,
            thresholds: Thresholds { min_shared_bytes, min_containment },
        };
        let mut layers = vec![layer(method("method", spec.method.as_ref())?, spec.min_shared_bytes)];
        if let Some(text) = &spec.text {
            let of_text = method("text", text.method.as_ref())?;
            if (layers[0].method.view(), of_text.view()) != (View::Raw, View::Text) {
                return Err(refused("text", &"a scan over two views compares bytes (raw) first and then text"));
            }
            layers.push(layer(of_text, text.min_shared_bytes));
        }
        if spec.refine.is_some() && layers.len() > 1 {
            return Err(refused("refine", &"a refinement is of one view: say --view raw or --view text"));
        }
        if spec.refine.is_some() && layers[0].method.verified_by().is_some() {
            return Err(refused("refine", &"what the method proposes would have to be refined once more: use another"));
        }
        if spec.match_message_ids && layers.iter().all(|layer| !layer.method.view().is_text()) {
            return Err(refused(
                "match_message_ids",
                &"messages are known under the text view only: say --view text or both",
            ));
        }
        let selection = spec.selection.clone().unwrap_or_default();
        let selection = Selection::try_from(selection).map_err(|error| refused("selection", &error))?.rule().clone();
        let rule = SelectionRule { include: spec.control.clone(), ..SelectionRule::default() };
        let control = Selection::new(rule).map_err(|error| refused("control", &error))?.rule().include.clone();
        let memory_budget_bytes = match spec.memory_budget_bytes {
            0 => limits.memory_budget_bytes,
            bytes if bytes < MEMORY_BUDGET_BYTES_LEAST => {
                return Err(refused("memory_budget", &"it must be at least 32MiB"));
            }
            bytes if bytes > limits.memory_budget_bytes => {
                let most = limits.memory_budget_bytes;
                return Err(refused(
                    "memory_budget",
                    &format!("this coordinator gives at most {most} bytes to an analysis"),
                ));
            }
            bytes => bytes,
        };
        let asked = usize::try_from(spec.threads).ok().and_then(NonZeroUsize::new);
        if spec.origin.len() > TEXT_BYTES_MAX {
            return Err(refused("origin", &"it is too long"));
        }
        Ok(ScanSpec {
            repositories,
            layers,
            match_message_ids: spec.match_message_ids,
            across_only: spec.across_only,
            greedy: spec.greedy,
            selection,
            control,
            follow_symlinks: spec.follow_symlinks,
            keyed: false,
            sync: !spec.no_sync,
            sync_deadline: spec.sync_deadline_ms.map(Duration::from_millis),
            memory_budget_bytes,
            threads: asked.unwrap_or(limits.threads).min(limits.threads),
            refine: spec.refine.as_ref().map(Refine::from_wire).transpose().map_err(|why| refused("refine", &why))?,
            require_complete: spec.require_complete,
            in_process: false,
        })
    }
}

fn repositories(named: &[v1::RepositoryRef]) -> Result<Vec<(SiteName, RepositoryName)>, Error> {
    let refused = |why: &dyn std::fmt::Display| Error::Invalid(format!("`repositories`: {why}"));
    if named.is_empty() {
        return Err(refused(&"a scan needs at least one"));
    }
    if named.len() > REPOSITORIES_MAX {
        return Err(refused(&format!("{} are more than {REPOSITORIES_MAX}", named.len())));
    }
    let mut repositories = Vec::new();
    for one in named {
        let site: SiteName = one.site.parse().map_err(|error| refused(&error))?;
        let repository: RepositoryName = one.repository.parse().map_err(|error| refused(&error))?;
        if repositories.contains(&(site.clone(), repository.clone())) {
            return Err(refused(&format!("{site}/{repository} is named twice")));
        }
        repositories.push((site, repository));
    }
    Ok(repositories)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: AnalysisLimits = AnalysisLimits { memory_budget_bytes: 1 << 30, threads: NonZeroUsize::MIN };

    fn spec() -> v1::ScanSpec {
        let place = |site: &str| v1::RepositoryRef { site: site.into(), repository: "kb".into() };
        v1::ScanSpec {
            repositories: vec![place("paris"), place("tokyo")],
            method: Some(v1::MethodSpec {
                name: "tttd".into(),
                view: "raw".into(),
                chunk_bytes: 1000,
                method_id: vec![],
                param: String::new(),
            }),
            min_shared_bytes: 16_384,
            min_containment: "0.5".into(),
            sync_deadline_ms: Some(1500),
            refine: Some(v1::Refine { scan: 7, what: v1::RefineWhat::Linked.into(), size_bytes_min: 4000 }),
            ..v1::ScanSpec::default()
        }
    }

    /// A scan over bytes and text.
    fn both() -> v1::ScanSpec {
        let text = v1::MethodSpec { view: "text".into(), chunk_bytes: 200, ..spec().method.unwrap() };
        let text = v1::TextLayer { method: Some(text), min_shared_bytes: 2048 };
        v1::ScanSpec { text: Some(text), refine: None, match_message_ids: true, ..spec() }
    }

    fn check(change: impl FnOnce(&mut v1::ScanSpec), field: &str) {
        let mut spec = spec();
        change(&mut spec);
        let error = ScanSpec::from_wire(&spec, &LIMITS).unwrap_err().to_string();
        assert!(error.contains(&format!("`{field}`")), "{field}: {error}");
    }

    #[test]
    fn what_makes_sense_survives_the_wire_both_ways() {
        let checked = ScanSpec::from_wire(&spec(), &LIMITS).unwrap();
        assert_eq!(checked.sync_deadline, Some(Duration::from_millis(1500)));
        assert_eq!((checked.memory_budget_bytes, checked.threads.get()), (1 << 30, 1));
        let again = ScanSpec::from_wire(&v1::ScanSpec::from(&checked), &LIMITS).unwrap();
        assert_eq!(format!("{again:?}"), format!("{checked:?}"));
        let checked = ScanSpec::from_wire(&both(), &LIMITS).unwrap();
        assert_eq!(checked.layers[1].thresholds.min_shared_bytes, 2048);
        let again = ScanSpec::from_wire(&v1::ScanSpec::from(&checked), &LIMITS).unwrap();
        assert_eq!(format!("{again:?}"), format!("{checked:?}"));
    }

    #[test]
    fn two_views_are_bytes_and_then_text_and_no_others() {
        let refused = |change: &dyn Fn(&mut v1::ScanSpec)| {
            let mut spec = both();
            change(&mut spec);
            ScanSpec::from_wire(&spec, &LIMITS).unwrap_err().to_string()
        };
        let view = |spec: &mut v1::ScanSpec, view: &str| {
            spec.text.as_mut().unwrap().method.as_mut().unwrap().view = view.into();
        };
        assert!(refused(&|spec| view(spec, "raw")).contains("`text`"));
        assert!(refused(&|spec| view(spec, "passages")).contains("`text`"));
        assert!(refused(&|spec| spec.method.as_mut().unwrap().view = "text".into()).contains("`text`"));
        let refine = v1::Refine { scan: 7, what: v1::RefineWhat::Linked.into(), size_bytes_min: 0 };
        assert!(refused(&|spec| spec.refine = Some(refine)).contains("one view"));
        assert!(refused(&|spec| spec.text = None).contains("--view text or both"));
    }

    #[test]
    fn every_field_that_makes_no_sense_is_named() {
        check(|spec| spec.repositories.clear(), "repositories");
        check(|spec| spec.repositories[1] = spec.repositories[0].clone(), "repositories");
        check(|spec| spec.repositories[0].site = "../etc".into(), "repositories");
        check(|spec| spec.method = None, "method");
        check(|spec| spec.method.as_mut().unwrap().chunk_bytes = 3, "method");
        check(|spec| spec.method.as_mut().unwrap().name = "magic".into(), "method");
        check(|spec| spec.min_containment = "1.5".into(), "min_containment");
        check(|spec| spec.memory_budget_bytes = 1, "memory_budget");
        check(|spec| spec.memory_budget_bytes = u64::MAX, "memory_budget");
        let pattern = v1::SelectionSpec { include: vec!["[".into()], ..v1::SelectionSpec::default() };
        check(|spec| spec.selection = Some(pattern), "selection");
        check(|spec| spec.control = vec!["[".into()], "control");
        check(|spec| spec.refine = Some(v1::Refine { scan: 7, ..v1::Refine::default() }), "refine");
    }
}
