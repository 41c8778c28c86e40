//! `cognate worker move`: the coordinator is at another address from now on.

use std::io::Write as _;

use clap::Args;
use cognate_proto::invitation::check_address;
use cognate_worker::enrolment::Identity;

use super::ConfigArgs;
use super::setup::{self, enrolment_error};
use crate::exit::{Exit, usage};

/// Reaches the same coordinator at another address from the next start on.
///
/// The site stays enrolled: it connects only to a coordinator that shows a certificate of the same authority, for this
/// address.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  cognate worker move hub2.example.com:7443 --config worker.toml && systemctl restart cognate-worker")]
pub(super) struct MoveArgs {
    /// Addresses of the coordinator, `HOST:PORT`, in the order in which they are tried
    #[arg(value_name = "ADDRESS", required_unless_present = "print_config")]
    addresses: Vec<String>,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
}

pub(super) fn run(args: &MoveArgs) -> anyhow::Result<Exit> {
    args.addresses.iter().try_for_each(|address| check_address(address)).map_err(usage)?;
    let setup = setup::load(&args.config)?;
    let mut identity = Identity::open(&setup.state_dir).map_err(enrolment_error)?;
    let before = identity.addresses().join(", ");
    identity.relocate(&args.addresses).map_err(enrolment_error)?;
    writeln!(
        std::io::stdout(),
        "the coordinator is at {} from the next start of the worker on; it was at {before}",
        args.addresses.join(", "),
    )?;
    Ok(Exit::Complete)
}
