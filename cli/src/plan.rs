//! `cognate plan`: which copies are kept and which could go, written down for the administrators of the sites.

mod preview;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use cognate_result::plan::{Decision, Keep, Left, Rule, Totals};
use cognate_result::report::Report;

use crate::exit::{Exit, usage};
use crate::operator::client::{OperatorArg, block_on};
use crate::output;
use crate::report::source::Source;
use crate::stop::Stop;
use cognate_export::plan::file::{PlanFile, Set};
use cognate_export::plan::script;

/// Plans what to keep of copies. Cognate deletes and moves nothing.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    command: PlanCommand,
}

#[derive(Subcommand, Debug)]
enum PlanCommand {
    /// Decide which copies are kept, show it, and write a plan for each site
    Make(MakeArgs),
}

/// Decides which documents of each set of the same bytes are kept, and shows what would go. With -o, writes for each site a plan
/// (JSON and CSV) and a script that its administrator may read and run: it moves files into a folder, and only when told to.
///
/// What people decided comes first: what is intentional or not a duplicate is left out, what is to be kept stays, and a
/// document that is a duplicate goes before others. Then rules count in their order: where one does not tell two documents
/// apart, the next one does. Where none does, or verdicts contradict each other, all stay, and the set is told as a tie.
#[derive(Args, Debug)]
#[command(after_help = "Rules:
  reference:SITE[/REPOSITORY[/FOLDER]]   everything there is kept
  prefer:SITE[/REPOSITORY[/FOLDER]]      rather what lies there
  path:GLOB, not-path:GLOB               rather what matches, or does not
  newest, oldest                         by time of modification
  shortest-path, longest-path
  not-a-copy                             rather what is not called `Copy of …`, `… (1)`, `… - Kopie`

Examples:
  cognate plan make latest --keep reference:paris/kb --keep newest
  cognate plan make result.sqlite --keep not-a-copy --keep oldest --keep shortest-path -o plan
  cognate plan make latest --keep prefer:tokyo --keep newest --min-copies 2 -o plan
Then, at each site: cognate worker plan check plan/SITE.json --config worker.toml")]
struct MakeArgs {
    /// A scan: its id, the beginning of it, or `latest`; or a file that --format sqlite wrote
    scan: String,
    /// A rule; several count in their order
    #[arg(long, value_name = "RULE", required = true)]
    keep: Vec<String>,
    /// How many copies of each document stay at least, at all sites together
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_copies: usize,
    /// Write the plans into this folder, which must not be there yet or be empty
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Sets that are shown; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    operator: OperatorArg,
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> anyhow::Result<Exit> {
    match &args.command {
        PlanCommand::Make(args) => block_on(make(args)),
    }
}

async fn make(args: &MakeArgs) -> anyhow::Result<Exit> {
    if args.min_copies == 0 {
        return Err(usage("--min-copies 0: one copy of each document stays at least"));
    }
    let rules = args.keep.iter().map(|rule| rule.parse::<Rule>().map_err(|error| usage(format!("--keep: {error}"))));
    let keep = Keep { rules: rules.collect::<Result<_, _>>()?, min_copies: args.min_copies };
    if let Some(folder) = &args.output {
        check_folder(folder)?;
    }
    let stop = Stop::on_signals()?;
    let source = Source::open(&args.operator, &args.scan, &stop).await?;
    let report = source.report();
    let sites: Vec<String> = report.sites()?.into_iter().map(|site| site.site).collect();
    if let Some(unknown) = keep.rules.iter().filter_map(Rule::site).find(|site| sites.iter().all(|one| one != site)) {
        return Err(usage(format!("--keep: the scan has no site `{unknown}`; it has {}", sites.join(", "))));
    }
    let planned = Planned::of(report, &keep, args.limit)?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    output::write_with(None, &stop, |out| preview::write(&planned, &keep, limit, out))?;
    if let Some(folder) = &args.output {
        planned.write(folder)?;
    }
    Ok(stop.signal().map_or(Exit::Complete, Exit::Signal))
}

/// What was decided.
struct Planned {
    totals: Totals,
    /// The first sets of which something goes, and the first ties.
    shown: Vec<Decision>,
    ties: Vec<Decision>,
    /// The first that verdicts leave out.
    left_out: Vec<Decision>,
    /// Whether it was known what people decided.
    verdicts_known: bool,
    /// How often each rule decided what is kept.
    by_rule: BTreeMap<String, u64>,
    /// The plan of each site of which something goes.
    plans: BTreeMap<String, PlanFile>,
}

impl Planned {
    fn of(report: &Report, keep: &Keep, limit: usize) -> anyhow::Result<Planned> {
        let limit = if limit == 0 { usize::MAX } else { limit };
        let head = PlanFile::of(report, keep)?;
        let mut planned = Planned {
            totals: Totals::default(),
            shown: Vec::new(),
            ties: Vec::new(),
            left_out: Vec::new(),
            verdicts_known: report.has_verdicts(),
            by_rule: BTreeMap::new(),
            plans: BTreeMap::new(),
        };
        report.plan::<anyhow::Error>(keep, |decision| {
            planned.totals.add(&decision, keep);
            if decision.left.is_none() {
                for why in decision.staying().filter_map(|member| member.kept.as_ref()) {
                    *planned.by_rule.entry(why.to_string()).or_default() += 1;
                }
                let mut sites: Vec<&str> = decision.gone().map(|member| member.document.site.as_str()).collect();
                sites.dedup();
                for site in sites {
                    let plan = planned.plans.entry(site.to_owned()).or_insert_with(|| head.for_site(site));
                    plan.add(Set::of(&decision, site));
                }
            }
            if decision.left == Some(Left::Verdict) {
                let mut sites: Vec<&str> =
                    decision.members.iter().map(|member| member.document.site.as_str()).collect();
                sites.dedup();
                for site in sites {
                    planned.plans.entry(site.to_owned()).or_insert_with(|| head.for_site(site)).leave_out(&decision);
                }
            }
            let list = match decision.left {
                None => &mut planned.shown,
                Some(Left::Tie) => &mut planned.ties,
                Some(Left::Verdict) => &mut planned.left_out,
                Some(Left::Few) => return Ok(()),
            };
            if list.len() < limit {
                list.push(decision);
            }
            Ok(())
        })?;
        planned.plans.retain(|_, plan| !plan.sets.is_empty());
        Ok(planned)
    }

    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("`{}` cannot be made", folder.display()))?;
        for (site, plan) in &self.plans {
            for (ending, bytes) in [("json", plan.json()?), ("csv", plan.csv()?), ("sh", script::script(plan, &[])?)] {
                let path = folder.join(format!("{site}.{ending}"));
                std::fs::write(&path, bytes).with_context(|| format!("`{}` cannot be written", path.display()))?;
            }
        }
        match self.plans.len() {
            0 => eprintln!("cognate: nothing goes anywhere: no plan was written"),
            some => eprintln!("cognate: plans for {some} sites are in `{}`", folder.display()),
        }
        Ok(())
    }
}

fn check_folder(folder: &Path) -> anyhow::Result<()> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => {
                Err(usage(format!("-o `{}`: it is not empty, and no plan is written over another", folder.display())))
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(anyhow!("`{}` cannot be read: {error}", folder.display())),
    }
}
