//! `cognate plan`: plans which copies stay and which could go, for the administrators of the sites.

mod preview;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use cognate_result::plan::{Decision, Keep, Left, Rule, Totals, Version, VersionTotals, Versions};
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
  most-complete                          the one with the most bytes, of versions
  shortest-path, longest-path
  not-a-copy                             prefer documents not called `Copy of …`, `… (1)`, `… - Kopie`

Examples:
  cognate plan make latest --keep reference:paris/kb --keep newest
  cognate plan make result.sqlite --keep not-a-copy --keep oldest --keep shortest-path -o plan
  cognate plan make latest --keep prefer:tokyo --keep newest --min-copies 2 -o plan
  cognate plan make latest --versions --lose-max 200 --keep newest -o plan
      also documents of which a newer one has all but 200 bytes
Then, at each site: cognate worker plan check plan/SITE.json --config worker.toml
               and: cognate worker plan apply plan/SITE.json --quarantine /srv/quarantine --config worker.toml")]
struct MakeArgs {
    /// A scan: its id, the beginning of it, or `latest`; or a file that --format sqlite wrote
    scan: String,
    /// A rule; repeatable, applied in this order
    #[arg(long, value_name = "RULE", required = true)]
    keep: Vec<String>,
    /// Copies of each document that must stay at least, at all sites together
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_copies: usize,
    /// Plan also for versions: documents that are near to a document that stays, or contained in it. `--keep newest`,
    /// `most-complete` or `prefer:SITE` say which one stays
    #[arg(long)]
    versions: bool,
    /// Let a version go only if at most this much of it is in no document that stays: 0 loses nothing
    #[arg(long, value_name = "SIZE", default_value = "0", requires = "versions", value_parser = crate::args::size)]
    lose_max: u64,
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
    let versions = args.versions.then_some(Versions { lose_bytes_max: args.lose_max });
    let planned = Planned::of(report, &keep, versions, args.limit)?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let standard = output::OutputArgs::default();
    output::write_with(&standard, &stop, |out| {
        output::fitted(&standard, out, |out, columns| preview::write(&planned, &keep, limit, columns, out))
    })?;
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
    /// The sums of versions and the first of them, if they were asked for.
    versions: Option<(VersionTotals, Vec<Version>)>,
    /// The greatest loss of a version.
    lose_bytes_max: u64,
    /// True if the verdicts are known.
    verdicts_known: bool,
    /// Number of decisions by each rule.
    by_rule: BTreeMap<String, u64>,
    /// The plan of each site from which documents go.
    plans: BTreeMap<String, PlanFile>,
}

impl Planned {
    fn of(report: &Report, keep: &Keep, versions: Option<Versions>, limit: usize) -> anyhow::Result<Planned> {
        let limit = if limit == 0 { usize::MAX } else { limit };
        let head = PlanFile::of(report, keep, versions)?;
        let mut planned = Planned {
            totals: Totals::default(),
            shown: Vec::new(),
            ties: Vec::new(),
            left_out: Vec::new(),
            versions: None,
            lose_bytes_max: versions.map_or(0, |versions| versions.lose_bytes_max),
            verdicts_known: report.has_verdicts(),
            by_rule: BTreeMap::new(),
            plans: BTreeMap::new(),
        };
        let of_versions = match versions {
            Some(versions) => planned.add_versions(report, keep, versions, (&head, limit))?,
            None => HashSet::new(),
        };
        report.plan::<anyhow::Error>(keep, |decision| {
            // Its documents go already, and none of them stays for the others.
            if of_versions.contains(&decision.group) {
                return Ok(());
            }
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

    /// Adds the versions to the plans. Returns the digests of the contents that go.
    fn add_versions(
        &mut self,
        report: &Report,
        keep: &Keep,
        versions: Versions,
        (head, limit): (&PlanFile, usize),
    ) -> anyhow::Result<HashSet<String>> {
        let (mut digests, mut shown) = (HashSet::new(), Vec::new());
        let totals = report.plan_versions::<anyhow::Error>(keep, versions, |version| {
            digests.insert(version.digest.clone());
            let mut sites: Vec<&str> = version.gone.iter().map(|member| member.document.site.as_str()).collect();
            sites.dedup();
            for site in sites {
                let plan = self.plans.entry(site.to_owned()).or_insert_with(|| head.for_site(site));
                plan.add(Set::of_version(&version, site, head));
            }
            if shown.len() < limit {
                shown.push(version);
            }
            Ok(())
        })?;
        self.versions = Some((totals, shown));
        Ok(digests)
    }

    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        for plan in self.plans.values() {
            // A file of a result may be from anybody, and names of sites become names of files.
            plan.check().map_err(|problem| anyhow!("the result cannot become a plan: {problem}"))?;
        }
        std::fs::create_dir_all(folder).with_context(|| format!("`{}` cannot be made", folder.display()))?;
        for (site, plan) in &self.plans {
            for (ending, bytes) in [("json", plan.json()?), ("csv", plan.csv()?), ("sh", script::script(plan, &[])?)] {
                let path = folder.join(format!("{site}.{ending}"));
                std::fs::write(&path, bytes).with_context(|| format!("`{}` cannot be written", path.display()))?;
            }
        }
        match self.plans.len() {
            0 => tell!("cognate: no document would go: no plan was written"),
            some => tell!("cognate: plans for {some} sites are in `{}`", folder.display()),
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
