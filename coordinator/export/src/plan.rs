//! The plan of one site as files: the same on the command line and from the pages.

pub mod file;
pub mod script;

use cognate_result::plan::Keep;
use cognate_result::report::Report;

use self::file::{PlanFile, Set};
use self::script::script;
use crate::Result;

/// A format of a site's plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlanFormat {
    /// `cognate.plan/1`.
    Json,
    /// One row a document.
    Csv,
    /// A shell script that the site's administrator reads and runs.
    Script,
}

impl PlanFormat {
    /// All formats, in the order in which pages offer them.
    pub const ALL: [PlanFormat; 3] = [PlanFormat::Json, PlanFormat::Csv, PlanFormat::Script];

    /// Its name on a page.
    pub fn label(self) -> &'static str {
        match self {
            PlanFormat::Json => "JSON",
            PlanFormat::Csv => "CSV",
            PlanFormat::Script => "script",
        }
    }

    /// The end of its file's name, without the dot; unique among the formats.
    pub fn extension(self) -> &'static str {
        match self {
            PlanFormat::Json => "json",
            PlanFormat::Csv => "csv",
            PlanFormat::Script => "sh",
        }
    }

    /// Its media type.
    pub fn content_type(self) -> &'static str {
        match self {
            PlanFormat::Json => "application/json",
            PlanFormat::Csv => "text/csv; charset=utf-8",
            PlanFormat::Script => "application/x-sh",
        }
    }

    /// Plans by these rules and writes the part of one site.
    ///
    /// # Errors
    /// Fails if the result cannot be read.
    pub fn write(self, report: &Report, keep: &Keep, site: &str) -> Result<Vec<u8>> {
        let plan = of_site(report, keep, site)?;
        Ok(match self {
            PlanFormat::Json => plan.json()?,
            PlanFormat::Csv => plan.csv()?,
            PlanFormat::Script => script(&plan, &[])?,
        })
    }
}

/// The documents that go at one site.
fn of_site(report: &Report, keep: &Keep, site: &str) -> Result<PlanFile> {
    let mut plan = PlanFile::of(report, keep, None)?.for_site(site);
    report.plan::<crate::Error>(keep, |decision| {
        if decision.gone().any(|member| member.document.site == site) {
            plan.add(Set::of(&decision, site));
        }
        plan.leave_out(&decision);
        Ok(())
    })?;
    Ok(plan)
}
