//! The options of a scan as the message that travels and is stored. Both directions name every field: an option that
//! only one end has does not compile.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::name::{RepositoryName, ScanId, SiteName};
use crate::options::{Engine, OptionError, Precision, Refine, RefineWhat, ScanOptions, ScanView};
use crate::v1;

impl From<&ScanOptions> for v1::ScanOptions {
    fn from(options: &ScanOptions) -> v1::ScanOptions {
        let ScanOptions {
            repositories,
            view,
            method,
            param,
            chunk_bytes,
            precision,
            min_shared_bytes,
            min_containment,
            include,
            exclude,
            size_max_bytes,
            sample_percent,
            sync_deadline,
            across_only,
            require_complete,
            no_sync,
            follow,
            match_message_ids,
            control,
            greedy,
            align,
            no_align,
            memory_budget_bytes,
            threads,
            engine,
            spark,
            exchange,
            refine,
            origin,
        } = options.clone();
        v1::ScanOptions {
            repositories: repositories.iter().map(Into::into).collect(),
            view: view.to_string(),
            method,
            param,
            chunk_bytes,
            precision: precision.to_string(),
            min_shared_bytes,
            min_containment,
            include,
            exclude,
            size_max_bytes,
            sample_percent,
            sync_deadline_ms: sync_deadline.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            across_only,
            require_complete,
            no_sync,
            follow,
            match_message_ids,
            control,
            greedy,
            align,
            no_align,
            memory_budget_bytes,
            threads: threads.map(NonZeroU32::get),
            engine: engine.name().to_owned(),
            spark,
            exchange,
            refine: refine.as_ref().map(Into::into),
            origin,
        }
    }
}

impl From<ScanOptions> for v1::ScanOptions {
    fn from(options: ScanOptions) -> v1::ScanOptions {
        (&options).into()
    }
}

impl TryFrom<&v1::ScanOptions> for ScanOptions {
    type Error = OptionError;

    /// Takes the fields one by one; [`ScanOptions::check`] is for them all together.
    fn try_from(message: &v1::ScanOptions) -> Result<ScanOptions, OptionError> {
        let v1::ScanOptions {
            repositories,
            view,
            method,
            param,
            chunk_bytes,
            precision,
            min_shared_bytes,
            min_containment,
            include,
            exclude,
            size_max_bytes,
            sample_percent,
            sync_deadline_ms,
            across_only,
            require_complete,
            no_sync,
            follow,
            match_message_ids,
            control,
            greedy,
            align,
            no_align,
            memory_budget_bytes,
            threads,
            engine,
            spark,
            exchange,
            refine,
            origin,
        } = message.clone();
        Ok(ScanOptions {
            repositories: repositories.iter().map(repository).collect::<Result<_, _>>()?,
            view: view_of(&view)?,
            method,
            param,
            chunk_bytes,
            precision: precision_of(&precision)?,
            min_shared_bytes,
            min_containment,
            include,
            exclude,
            size_max_bytes,
            sample_percent,
            sync_deadline: sync_deadline_ms.map(Duration::from_millis),
            across_only,
            require_complete,
            no_sync,
            follow,
            match_message_ids,
            control,
            greedy,
            align,
            no_align,
            memory_budget_bytes,
            threads: threads.map(threads_of).transpose()?,
            engine: engine_of(&engine)?,
            spark,
            exchange,
            refine: refine.as_ref().map(TryInto::try_into).transpose()?,
            origin,
        })
    }
}

impl From<&(SiteName, RepositoryName)> for v1::RepositoryRef {
    fn from((site, repository): &(SiteName, RepositoryName)) -> v1::RepositoryRef {
        v1::RepositoryRef { site: site.to_string(), repository: repository.to_string() }
    }
}

impl From<&Refine> for v1::Refine {
    fn from(Refine { scan, what, size_min_bytes }: &Refine) -> v1::Refine {
        let what = match what {
            RefineWhat::Linked => v1::RefineWhat::Linked,
            RefineWhat::Unmatched => v1::RefineWhat::Unmatched,
            RefineWhat::Both => v1::RefineWhat::Both,
        };
        v1::Refine { scan: scan.0, what: what.into(), size_min_bytes: *size_min_bytes }
    }
}

impl TryFrom<&v1::Refine> for Refine {
    type Error = OptionError;

    fn try_from(refine: &v1::Refine) -> Result<Refine, OptionError> {
        let what = match refine.what() {
            v1::RefineWhat::Linked => RefineWhat::Linked,
            v1::RefineWhat::Unmatched => RefineWhat::Unmatched,
            v1::RefineWhat::Both => RefineWhat::Both,
            v1::RefineWhat::Unspecified => {
                return Err(OptionError::new("refine", &"it does not name documents: linked, unmatched, or both"));
            }
        };
        Ok(Refine { scan: ScanId(refine.scan), what, size_min_bytes: refine.size_min_bytes })
    }
}

fn repository(named: &v1::RepositoryRef) -> Result<(SiteName, RepositoryName), OptionError> {
    let site = named.site.parse().map_err(|error| OptionError::new("repositories", &error))?;
    let repository = named.repository.parse().map_err(|error| OptionError::new("repositories", &error))?;
    Ok((site, repository))
}

fn view_of(name: &str) -> Result<ScanView, OptionError> {
    let unknown = || OptionError::new("view", &"it is unknown to this version: upgrade the older end");
    ScanView::ALL.into_iter().find(|view| view.name() == name).ok_or_else(unknown)
}

fn precision_of(name: &str) -> Result<Precision, OptionError> {
    let unknown = || OptionError::new("precision", &"it is unknown to this version: upgrade the older end");
    Precision::ALL.into_iter().find(|precision| precision.name() == name).ok_or_else(unknown)
}

fn engine_of(name: &str) -> Result<Engine, OptionError> {
    let unknown = || OptionError::new("engine", &"it is unknown to this version: upgrade the older end");
    Engine::ALL.into_iter().find(|engine| engine.name() == name).ok_or_else(unknown)
}

fn threads_of(threads: u32) -> Result<NonZeroU32, OptionError> {
    NonZeroU32::new(threads).ok_or_else(|| OptionError::new("threads", &"there is at least one"))
}
