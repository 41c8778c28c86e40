//! Reads every document of a plan again, with the method of the scan and this site's key.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use cognate_fingerprint::{Fingerprinter, Method, View};
use cognate_proto::name::SiteName;
use cognate_proto::path::{DocumentPath, printable};
use serde::Serialize;

use super::{CheckArgs, CheckFormat};
use crate::exit::{Exit, usage};
use crate::worker::setup::{self, Setup};
use cognate_export::human::{bytes, count};
use cognate_export::plan::file::{PlanFile, SCHEMA, Set};
use cognate_export::plan::script::{path_of, script, staying_path};

/// Most bytes of a plan.
const PLAN_BYTES_MAX: u64 = 4 << 30;

/// Result of checking a plan.
#[derive(Serialize, Default, Debug)]
struct Checked {
    schema: &'static str,
    site: String,
    scan: String,
    /// Documents that were read and match the plan.
    unchanged: u64,
    /// Sets with documents that still go, the number of these documents, and their bytes.
    sets: u64,
    go: u64,
    go_bytes: u64,
    /// Refused documents, and the reasons.
    refused: Vec<Refused>,
}

#[derive(Clone, Serialize, Debug)]
struct Refused {
    set: String,
    /// `go` or `keep`, as planned.
    planned: &'static str,
    repository: String,
    path: String,
    reason: String,
}

pub(super) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let plan = read(&args.file)?;
    let mut checker = Checker::of(&setup, &plan)?;
    let mut checked = Checked {
        schema: "cognate.plan-check/1",
        site: plan.site.clone(),
        scan: plan.scan.clone(),
        ..Checked::default()
    };
    let mut holding = PlanFile { sets: Vec::new(), totals: Default::default(), ..plan.clone() };
    for set in &plan.sets {
        if let Some(set) = checker.set(set, &plan, &mut checked) {
            checked.sets += 1;
            checked.go += set.go.len() as u64;
            checked.go_bytes += set.go.len() as u64 * set.size_bytes;
            holding.add(set);
        }
    }
    if let Some(path) = &args.output {
        std::fs::write(path, holding.json()?).with_context(|| format!("`{}` cannot be written", path.display()))?;
    }
    if let Some(path) = &args.script {
        let roots: Vec<(String, &Path)> =
            setup.repositories.iter().map(|(name, path)| (name.to_string(), path.as_path())).collect();
        std::fs::write(path, script(&holding, &roots)?)
            .with_context(|| format!("`{}` cannot be written", path.display()))?;
    }
    report(&checked, args.format)?;
    Ok(if checked.refused.is_empty() { Exit::Complete } else { Exit::Incomplete })
}

fn read(path: &Path) -> anyhow::Result<PlanFile> {
    let context = || format!("`{}` cannot be read", path.display());
    let file = File::open(path).with_context(context)?;
    if file.metadata().with_context(context)?.len() > PLAN_BYTES_MAX {
        return Err(anyhow!("`{}` is too large for a plan", path.display()));
    }
    let plan: PlanFile = serde_json::from_reader(io::BufReader::new(file))
        .map_err(|error| usage(format!("`{}` is not a plan: {error}", path.display())))?;
    if plan.schema != SCHEMA {
        return Err(usage(format!(
            "`{}` is of schema `{}`, this version reads `{SCHEMA}`",
            path.display(),
            plan.schema
        )));
    }
    let names = plan.site.parse::<SiteName>().is_ok() && u64::from_str_radix(&plan.scan, 16).is_ok();
    if !names || !plan.report_digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(usage(format!("`{}` is not a plan: its site or scan is invalid", path.display())));
    }
    Ok(plan)
}

fn report(checked: &Checked, format: CheckFormat) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    if format == CheckFormat::Json {
        serde_json::to_writer_pretty(&mut out, checked)?;
        return Ok(writeln!(out)?);
    }
    for refused in &checked.refused {
        let path = printable(refused.path.as_bytes());
        writeln!(out, "refused ({}) {}: {path}: {}", refused.planned, refused.repository, refused.reason)?;
    }
    writeln!(
        out,
        "{} documents match the plan; {} may go, {}, of {} sets; {} are refused",
        count(checked.unchanged),
        count(checked.go),
        bytes(checked.go_bytes),
        count(checked.sets),
        count(checked.refused.len() as u64)
    )?;
    Ok(())
}

struct Checker {
    roots: HashMap<String, PathBuf>,
    fingerprinter: Fingerprinter,
}

/// Identifies a file that matches the plan, whatever its names.
type Identity = (u64, u64);

impl Checker {
    fn of(setup: &Setup, plan: &PlanFile) -> anyhow::Result<Checker> {
        let view: View = plan.method.view.parse().map_err(|error| usage(format!("the plan: {error}")))?;
        let chunk_bytes = plan.method.chunk_bytes.unwrap_or_default();
        let param = plan.method.param.as_deref().unwrap_or_default();
        let method = Method::restore(&plan.method.name, view, chunk_bytes, param)
            .map_err(|error| usage(format!("the plan's method: {error}")))?;
        let key = setup.key()?;
        if key.is_keyed() != plan.keyed {
            let (is, had) = if plan.keyed { ("no key", "had one") } else { ("a key", "had none") };
            return Err(usage(format!(
                "this site has {is}, and its documents {had} in the scan: nothing can be compared"
            )));
        }
        let roots = setup.repositories.iter().map(|(name, path)| (name.to_string(), path.clone())).collect();
        Ok(Checker { roots, fingerprinter: method.fingerprinter(&key) })
    }

    /// The documents of a set that still go: none if a copy that should stay has changed and no other one stays.
    fn set(&mut self, set: &Set, plan: &PlanFile, checked: &mut Checked) -> Option<Set> {
        let refuse = |planned, repository: &str, path: &str, reason: String| Refused {
            set: set.digest.clone(),
            planned,
            repository: repository.to_owned(),
            path: path.to_owned(),
            reason,
        };
        let mut identities: Vec<Identity> = Vec::new();
        let (mut kept, mut lost) = (Vec::new(), 0);
        for copy in &set.kept {
            if copy.site != plan.site || copy.path.contains(cognate_proto::path::INSIDE) {
                kept.push(copy.clone());
                continue;
            }
            match self.look(&copy.repository, &staying_path(copy), set) {
                Ok(identity) if identities.contains(&identity) => {
                    let reason = "it is another name of a copy that stays as well".to_owned();
                    checked.refused.push(refuse("keep", &copy.repository, &copy.path, reason));
                    lost += 1;
                }
                Ok(identity) => {
                    identities.push(identity);
                    checked.unchanged += 1;
                    kept.push(copy.clone());
                }
                Err(reason) => {
                    checked.refused.push(refuse("keep", &copy.repository, &copy.path, reason));
                    lost += 1;
                }
            }
        }
        let mut go = Vec::new();
        for going in &set.go {
            let found = if lost > 0 {
                Err("a copy that should stay has changed".to_owned())
            } else {
                self.look(&going.repository, &path_of(going), set)
            };
            match found {
                Ok(identity) if identities.contains(&identity) => {
                    let reason = "it is another name of a file that stays, or that goes already".to_owned();
                    checked.refused.push(refuse("go", &going.repository, &going.path, reason));
                }
                Ok(identity) => {
                    identities.push(identity);
                    checked.unchanged += 1;
                    go.push(going.clone());
                }
                Err(reason) => checked.refused.push(refuse("go", &going.repository, &going.path, reason)),
            }
        }
        let holds = !go.is_empty() && !kept.is_empty();
        holds.then(|| Set { digest: set.digest.clone(), size_bytes: set.size_bytes, kept, go })
    }

    /// Reads a document again.
    fn look(&mut self, repository: &str, path: &[u8], set: &Set) -> Result<Identity, String> {
        let root = self.roots.get(repository).ok_or("this site has no such repository")?;
        // A plan is untrusted: none of its paths may lead out of the repository.
        let path = DocumentPath::new(path).map_err(|error| error.to_string())?;
        let full = root.join(std::ffi::OsStr::from_bytes(path.as_bytes()));
        let within = || -> io::Result<bool> { Ok(full.canonicalize()?.starts_with(root.canonicalize()?)) };
        let gone = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "it is not there any more".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        let found = std::fs::symlink_metadata(&full).map_err(gone)?;
        if !found.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        if !within().map_err(gone)? {
            return Err("it is reached through a link out of the repository".to_owned());
        }
        if found.len() != set.size_bytes {
            return Err(format!("it has {} bytes instead of {}", found.len(), set.size_bytes));
        }
        let mut file = File::open(&full).map_err(gone)?;
        let content = self.fingerprinter.read(&mut file, |_| Ok(())).map_err(gone)?;
        let digest: String = content.digest.0.iter().map(|byte| format!("{byte:02x}")).collect();
        if digest != set.digest {
            return Err("its content has changed".to_owned());
        }
        Ok((found.dev(), found.ino()))
    }
}
