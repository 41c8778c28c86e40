//! `cognate worker enroll`: exchanges an invitation for a certificate.

use std::io::Write as _;
use std::sync::Arc;

use clap::Args;
use cognate_proto::invitation::Invitation;
use cognate_worker::enrolment;
use cognate_worker::ledger::Ledger;
use cognate_worker::state::StateFolder;

use super::ConfigArgs;
use super::setup::{self, clock, enrolment_error, now, site_error};
use crate::args::invitation_text;
use crate::exit::{Exit, coded};

/// Joins a federation: makes a key at this site, and lets the coordinator certify it.
///
/// The coordinator must first show the key that the invitation names; only then is the invitation's secret sent. After
/// an interruption, repeat the command with the same invitation.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  cognate worker enroll - --config worker.toml < invitation.txt
  cognate worker enroll - --config worker.toml                    # paste the line
  cognate worker enroll cog1_CgtodWI6NzQ0MxIg…_1f2e3d4c --config worker.toml   # other users of the machine see it meanwhile")]
pub(super) struct EnrollArgs {
    /// The line that `cognate site invite` printed; `-` reads it from standard input
    #[arg(
        value_name = "TOKEN",
        required_unless_present = "print_config",
        default_value = "",
        hide_default_value = true
    )]
    token: String,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
}

pub(super) fn run(args: &EnrollArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let invitation = read_invitation(&args.token)?;
    let state = StateFolder::open(&setup.state_dir).map_err(site_error)?;
    let ledger = Ledger::open(state.path(), clock).map_err(|error| site_error(error.into()))?;
    let runtime = setup::runtime()?;
    let enrolled = runtime.block_on(enrolment::enroll(state.path(), &invitation, &Arc::new(ledger), now()));
    let identity = enrolled.map_err(enrolment_error)?;
    let ends = identity.info().map(|info| setup::time(info.not_after)).unwrap_or_default();
    let site = identity.site().unwrap_or_default();
    writeln!(
        std::io::stdout(),
        "enrolled as site `{site}`; the certificate holds until {ends} and renews itself\nTLS key {}\nnow: cognate worker run --config {}",
        identity.key().words(),
        args.config.config.display(),
    )?;
    if let Some(why) = setup.is_of_no_use() {
        tell!("cognate: {why}");
    }
    Ok(Exit::Complete)
}

fn read_invitation(token: &str) -> anyhow::Result<Invitation> {
    invitation_text(token)?.parse().map_err(|error| coded(Exit::Authentication, format!("{error}")))
}
