//! The forms in which the coordinator's pages hand out the plan of a site: the same that `plan make` writes.

use cognate_coordinator::plan::Keep;
use cognate_coordinator::report::Report;
use cognate_coordinator::{PlanForm, Planned};

use super::file::{PlanFile, Set};
use super::script::script;

/// All of them.
pub(crate) const FORMS: &[PlanForm] = &[
    PlanForm { label: "JSON", extension: "json", content_type: "application/json", write: json },
    PlanForm { label: "CSV", extension: "csv", content_type: "text/csv; charset=utf-8", write: csv },
    PlanForm { label: "script", extension: "sh", content_type: "application/x-sh", write: sh },
];

fn json(report: &Report, keep: &Keep, site: &str) -> Planned {
    Ok(of_site(report, keep, site)?.json()?)
}

fn csv(report: &Report, keep: &Keep, site: &str) -> Planned {
    Ok(of_site(report, keep, site)?.csv()?)
}

fn sh(report: &Report, keep: &Keep, site: &str) -> Planned {
    Ok(script(&of_site(report, keep, site)?, &[])?)
}

/// What goes at one site.
fn of_site(report: &Report, keep: &Keep, site: &str) -> anyhow::Result<PlanFile> {
    let mut plan = PlanFile::of(report, keep)?.for_site(site);
    report.plan::<anyhow::Error>(keep, |decision| {
        if decision.gone().any(|member| member.document.site == site) {
            plan.add(Set::of(&decision, site));
        }
        plan.leave_out(&decision);
        Ok(())
    })?;
    Ok(plan)
}
