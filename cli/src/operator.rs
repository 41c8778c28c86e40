//! `cognate operator`: the operators of the federation.

pub(crate) mod client;
mod enroll;
pub(crate) mod file;
pub(crate) mod init;
mod login;
pub(crate) mod members;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use cognate_proto::v1::{MemberKind, Membership, Role};

use self::client::{Operator, OperatorArg, block_on};
use self::members::TableFormat;
use crate::exit::Exit;

/// Invites, lists and revokes operators, enrols with an invitation, and signs in to the pages.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate operator invite anna --role analyst
  cognate operator invite ben --role viewer --site paris
  cognate operator enroll - -o operator.toml < invitation.txt
  cognate operator login
  cognate operator revoke anna")]
pub(crate) struct OperatorArgs {
    #[command(subcommand)]
    command: OperatorCommand,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Subcommand, Debug)]
enum OperatorCommand {
    /// Print an invitation: one line to hand over, for one enrolment
    #[command(after_help = "Example:\n  cognate operator invite anna --role analyst --valid 8h")]
    Invite(InviteArgs),
    /// List operators with their roles and certificates
    #[command(after_help = "Example:\n  cognate operator list --format json")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Revoke an operator's access at once
    #[command(after_help = "Example:\n  cognate operator revoke anna")]
    Revoke {
        /// Name of the operator
        name: String,
    },
    /// Turn an invitation into the file for --operator
    Enroll(enroll::EnrollArgs),
    /// Print a one-time address that signs a browser in
    #[command(after_help = "Examples:
  cognate operator login                      # open the address that it prints
  cognate operator login --token --valid 8h   # a credential for programs")]
    Login(login::LoginArgs),
}

#[derive(Args, Debug)]
struct InviteArgs {
    /// Name of the operator
    name: String,
    /// Role of the operator
    #[arg(long, value_enum)]
    role: RoleArg,
    /// Restrict the operator to this site
    #[arg(long, value_name = "SITE")]
    site: Option<String>,
    /// Restrict the operator to the sites of this party
    #[arg(long, value_name = "PARTY")]
    party: Option<String>,
    /// Time until the invitation expires
    #[arg(long, value_name = "D", value_parser = humantime::parse_duration, default_value = "24h")]
    valid: Duration,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum RoleArg {
    /// Sees scans and results
    Viewer,
    /// Launches and cancels scans as well
    Analyst,
    /// Invites, revokes, forgets and deletes as well
    Administrator,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Role {
        match role {
            RoleArg::Viewer => Role::Viewer,
            RoleArg::Analyst => Role::Analyst,
            RoleArg::Administrator => Role::Administrator,
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &OperatorArgs) -> anyhow::Result<Exit> {
    match &args.command {
        OperatorCommand::Enroll(enroll) => enroll::run(enroll),
        OperatorCommand::Login(login) => block_on(async {
            let operator = Operator::open(&args.operator).await?;
            login::run(&operator, login).await
        }),
        OperatorCommand::Invite(invite) => {
            let membership = Membership {
                kind: MemberKind::Operator.into(),
                name: invite.name.clone(),
                party: invite.party.clone().unwrap_or_default(),
                role: Role::from(invite.role).into(),
                site: invite.site.clone().unwrap_or_default(),
            };
            block_on(async {
                let operator = Operator::open(&args.operator).await?;
                members::invite(&operator, membership, invite.valid, invite.format).await
            })
        }
        OperatorCommand::List { format } => block_on(async {
            let operator = Operator::open(&args.operator).await?;
            members::list(&operator, MemberKind::Operator, *format).await
        }),
        OperatorCommand::Revoke { name } => block_on(async {
            let operator = Operator::open(&args.operator).await?;
            members::revoke(&operator, MemberKind::Operator, name).await
        }),
    }
}
