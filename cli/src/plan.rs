//! `cognate plan`: plans which copies stay and which could go, for the administrators of the sites.

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

/// Plans which copies stay and which could go. Cognate deletes and moves nothing.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    command: PlanCommand,
}

#[derive(Subcommand, Debug)]
enum PlanCommand {
    /// Decide which copies stay, show the decisions, and write a plan for each site
    Make(MakeArgs),
}

/// Decides which documents of each set of identical documents stay, and shows which would go. With -o, writes a plan for
/// each site
/// (JSON and CSV) and a script that its administrator can read and run: by default it only lists the files, and with an
/// option it moves them into a folder.
///
/// Verdicts come first: sets marked intentional or not-a-duplicate are left out, documents marked keep stay, and
/// documents marked duplicate go before others. Then the rules apply in order: if one does not decide between two documents,
/// the next one applies. If none decides, or verdicts contradict each other, all stay, and the set is listed as a tie.
#[derive(Args, Debug)]
#[command(after_help = "Rules:
  reference:SITE[/REPOSITORY[/FOLDER]]   all documents there stay
  prefer:SITE[/REPOSITORY[/FOLDER]]      prefer documents there
  path:GLOB, not-path:GLOB               prefer documents that match, or do not
  newest, oldest                         by time of modification
  shortest-path, longest-path
  not-a-copy                             prefer documents not called `Copy of …`, `… (1)`, `… - Kopie`

Examples:
  cognate plan make latest --keep reference:paris/kb --keep newest
  cognate plan make result.sqlite --keep not-a-copy --keep oldest --keep shortest-path -o plan
  cognate plan make latest --keep prefer:tokyo --keep newest --min-copies 2 -o plan
Then, at each site: cognate worker plan check plan/SITE.json --config worker.toml")]
struct MakeArgs {
    /// A scan: its id, the beginning of it, or `latest`; or a file that --format sqlite wrote
    scan: String,
    /// A rule; repeatable, applied in this order
    #[arg(long, value_name = "RULE", required = true)]
    keep: Vec<String>,
    /// Copies of each document that must stay at least, at all sites together
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_copies: usize,
    /// Write the plans to this folder, which must be new or empty
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Sets to show; 0 shows all
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
        return Err(usage("--min-copies 0: at least one copy of each document stays"));
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

/// The decisions for a preview.
struct Planned {
    totals: Totals,
    /// The first sets from which documents go, and the first ties.
    shown: Vec<Decision>,
    ties: Vec<Decision>,
    /// The first sets that verdicts leave out.
    left_out: Vec<Decision>,
    /// True if the verdicts are known.
    verdicts_known: bool,
    /// Number of decisions by each rule.
    by_rule: BTreeMap<String, u64>,
    /// The plan of each site from which documents go.
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
            0 => eprintln!("cognate: no document would go: no plan was written"),
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
                Err(usage(format!("-o `{}`: it is not empty, and a plan never overwrites another", folder.display())))
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(anyhow!("`{}` cannot be read: {error}", folder.display())),
    }
}
