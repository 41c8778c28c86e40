//! A comparison of the sites by `cognate compare`, a process of its own: its time and memory are those that a user has.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde::Deserialize;

use crate::error::Error;
use crate::machine::{Stopwatch, peak_mib_of};
use crate::setting::Setting;

/// The program, in the folder of this one.
const PROGRAM: &str = "cognate";
/// Exit codes of a comparison whose report is written: complete, and with documents that could not be read.
const WRITTEN: [i32; 2] = [0, 3];
/// Between two looks at the memory of the process. The system keeps the peak, so only what is taken at its very end is not seen.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a comparison reports, as far as the experiment asks.
#[derive(Default, Debug)]
pub(super) struct Report {
    pub(super) documents: Vec<DocumentRow>,
    pub(super) links: Vec<Link>,
    pub(super) overlaps: Vec<Overlap>,
    /// Pairs that were measured by fine chunks, and pairs that were left out.
    pub(super) fine: Fine,
    pub(super) seconds: f64,
    /// The greatest memory of the process; none if the system does not provide it.
    pub(super) peak_mib: Option<f64>,
}

/// One line of the report.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line {
    Scan {
        #[serde(default)]
        fine: Fine,
    },
    Overlap(Overlap),
    Document(DocumentRow),
    Cluster(Cluster),
    #[serde(other)]
    Other,
}

/// Counts of pairs.
#[derive(Clone, Copy, Deserialize, Default, Debug)]
#[serde(default)]
pub(super) struct Fine {
    pub(super) fine_pairs: u64,
    pub(super) coarse_pairs: u64,
    pub(super) omitted_pairs: u64,
}

/// What two sites have in common.
#[derive(Deserialize, Debug)]
pub(super) struct Overlap {
    pub(super) level: String,
    a: String,
    b: String,
    bytes_total_a: u64,
    bytes_total_b: u64,
    shared_bytes_a: u64,
    shared_bytes_b: u64,
    #[serde(default)]
    estimated_bytes_a: u64,
    #[serde(default)]
    estimated_bytes_b: u64,
    #[serde(default)]
    estimate_error_bytes_a: u64,
    #[serde(default)]
    estimate_error_bytes_b: u64,
}

/// The part of a site that another has, by the report.
pub(super) struct InCommon<'r> {
    pub(super) of: &'r str,
    pub(super) at: &'r str,
    /// All bytes that were compared.
    pub(super) bytes: u64,
    /// What was measured.
    pub(super) measured_bytes: u64,
    /// With what samples show besides.
    pub(super) estimated_bytes: u64,
    /// How far from the truth that may be.
    pub(super) error_bytes: u64,
}

impl Overlap {
    /// Seen from both sites.
    pub(super) fn directions(&self) -> [InCommon<'_>; 2] {
        let [a, b] = [&self.a, &self.b];
        [
            InCommon {
                of: a,
                at: b,
                bytes: self.bytes_total_a,
                measured_bytes: self.shared_bytes_a,
                estimated_bytes: self.estimated_bytes_a.max(self.shared_bytes_a),
                error_bytes: self.estimate_error_bytes_a,
            },
            InCommon {
                of: b,
                at: a,
                bytes: self.bytes_total_b,
                measured_bytes: self.shared_bytes_b,
                estimated_bytes: self.estimated_bytes_b.max(self.shared_bytes_b),
                error_bytes: self.estimate_error_bytes_b,
            },
        ]
    }
}

/// The place of a document.
#[derive(Clone, PartialEq, Eq, Hash, Deserialize, Debug)]
pub(super) struct Place {
    pub(super) site: String,
    pub(super) path: String,
}

/// A document, and what is decided about it.
#[derive(Deserialize, Debug)]
pub(super) struct DocumentRow {
    #[serde(flatten)]
    pub(super) place: Place,
    /// What other sites have of it: `yes`, `standard text`, `no` or `not decided`; nothing if it was not compared.
    pub(super) elsewhere: Option<String>,
    pub(super) partner: Option<ReportedPartner>,
}

/// The best partner at another site.
#[derive(Deserialize, Debug)]
pub(super) struct ReportedPartner {
    #[serde(flatten)]
    pub(super) place: Place,
    /// The share of the document that it has, 0 to 1.
    pub(super) share: Option<f64>,
}

#[derive(Deserialize)]
struct Cluster {
    documents: Vec<Place>,
    links: Vec<ClusterLink>,
}

#[derive(Deserialize)]
struct ClusterLink {
    a: usize,
    b: usize,
    a_in_b: Option<f64>,
    b_in_a: Option<f64>,
}

/// The share of a document that another has, by the report.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) of: Place,
    pub(super) at: Place,
    pub(super) share: f64,
}

impl DocumentRow {
    /// True if the report says that no other site has anything of it.
    pub(super) fn is_only_here(&self) -> bool {
        self.elsewhere.as_deref() == Some("no")
    }

    /// True if the report says that others have what many unlike documents have, and nothing else of it.
    pub(super) fn has_standard_text(&self) -> bool {
        self.elsewhere.as_deref() == Some("standard text")
    }

    /// True if the report leaves open what other sites have of it.
    pub(super) fn is_undecided(&self) -> bool {
        self.elsewhere.as_deref() == Some("not decided")
    }
}

/// Compares folders, each as the site of its name.
pub(super) fn compare(setting: &Setting<'_>, sites: &[(String, &Path)]) -> Result<Report, Error> {
    let own = std::env::current_exe().map_err(Error::io("find", Path::new("cognate-evaluate")))?;
    let program = own.with_file_name(PROGRAM);
    let folder = tempfile::tempdir().map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
    let output = folder.path().join("report.ndjson");
    let mut command = Command::new(&program);
    command.arg("compare").args(["--format", "ndjson", "-o"]).arg(&output);
    for (name, path) in sites {
        let mut argument = std::ffi::OsString::from(format!("{name}="));
        argument.push(path);
        command.arg(argument);
    }
    let watch = Stopwatch::start();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(Error::io("start", &program))?;
    let mut peak_mib = None;
    let status = loop {
        peak_mib = peak_mib_of(child.id()).or(peak_mib);
        if let Some(status) = child.try_wait().map_err(Error::io("wait for", &program))? {
            break status;
        }
        if let Err(stopped) = setting.step("comparing", 0, 1) {
            // It has ended, or it ends now.
            let _ = child.kill();
            let _ = child.wait();
            return Err(stopped);
        }
        sleep(LOOK_EVERY);
    };
    let seconds = watch.seconds();
    if !status.code().is_some_and(|code| WRITTEN.contains(&code)) {
        return Err(Error::Method(format!("`{}` ended with {status}", program.display())));
    }
    let file = File::open(&output).map_err(Error::io("read", &output))?;
    let mut report = Report { seconds, peak_mib, ..Report::default() };
    for line in BufReader::new(file).lines() {
        report.add(&line.map_err(Error::io("read", &output))?)?;
    }
    Ok(report)
}

impl Report {
    /// Takes in a line of NDJSON.
    pub(super) fn add(&mut self, line: &str) -> Result<(), Error> {
        match serde_json::from_str(line).map_err(|error| Error::Method(format!("a line of the report: {error}")))? {
            Line::Scan { fine } => self.fine = fine,
            Line::Overlap(row) => self.overlaps.push(row),
            Line::Document(row) => {
                let found = row.partner.as_ref().and_then(|partner| Some((partner.place.clone(), partner.share?)));
                self.links.extend(found.map(|(at, share)| Link { of: row.place.clone(), at, share }));
                self.documents.push(row);
            }
            Line::Cluster(cluster) => {
                for link in &cluster.links {
                    for (of, at, share) in [(link.a, link.b, link.a_in_b), (link.b, link.a, link.b_in_a)] {
                        let places = [of, at].map(|number| cluster.documents.get(number).cloned());
                        let ([Some(of), Some(at)], Some(share)) = (places, share) else { continue };
                        self.links.push(Link { of, at, share });
                    }
                }
            }
            Line::Other => {}
        }
        Ok(())
    }
}
