//! `cognate site`: the sites of the federation.

mod show;

use std::io::IsTerminal as _;
use std::time::Duration;

use clap::{Args, Subcommand};
use cognate_proto::name::SiteName;
use cognate_proto::v1::{ForgetSiteRequest, MemberKind, Membership, NamePartyRequest};

use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg, block_on};
use crate::operator::members::{self, TableFormat};
use crate::tell;

/// Invites, lists and revokes sites, and erases what they sent.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate site invite paris
  cognate site invite tokyo --party acme --valid 72h
  cognate site invite tokyo --party acme --party-name \"Acme Trading GmbH\"
  cognate site list
  cognate site show tokyo
  cognate site revoke tokyo
  cognate site forget tokyo --yes")]
pub(crate) struct SiteArgs {
    #[command(subcommand)]
    command: SiteCommand,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Subcommand, Debug)]
enum SiteCommand {
    /// Print an invitation: one line to hand over, for one enrolment
    ///
    /// For an existing site, the invitation lets it enrol again, with a new key and unchanged otherwise.
    #[command(after_help = "Example:\n  cognate site invite paris --valid 72h")]
    Invite {
        /// Name of the site
        name: String,
        /// Party of the site [default: home]
        #[arg(long, value_name = "PARTY")]
        party: Option<String>,
        /// Name of the party in full, for pages and the auditor's report; applies to all its sites
        #[arg(long, value_name = "NAME")]
        party_name: Option<String>,
        /// Time until the invitation expires
        #[arg(long, value_name = "D", value_parser = humantime::parse_duration, default_value = "24h")]
        valid: Duration,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Give a party a name in full, for pages and the auditor's report; an empty one removes it
    #[command(after_help = "Example:\n  cognate site party acme \"Acme Trading GmbH\"")]
    Party {
        /// Name of the party
        party: String,
        /// Its name in full, at most 100 characters
        full_name: String,
    },
    /// List sites with their connections and certificates
    #[command(after_help = "Example:\n  cognate site list --format json")]
    List {
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Show a site: if it is well, what it offers, and how old each of its indexes is
    #[command(after_help = "Example:\n  cognate site show tokyo")]
    Show {
        /// Name of the site
        name: String,
        /// Output format
        #[arg(long, value_enum, default_value = "text")]
        format: TableFormat,
    },
    /// Revoke a site's access at once; its data stays at the coordinator
    #[command(after_help = "Example:\n  cognate site revoke tokyo")]
    Revoke {
        /// Name of the site
        name: String,
    },
    /// Erase a site and all its data, with the results that name its documents
    #[command(after_help = "Example:\n  cognate site forget tokyo --yes")]
    Forget {
        /// Name of the site
        name: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// Runs the command.
pub(crate) fn run(args: &SiteArgs) -> anyhow::Result<Exit> {
    match &args.command {
        SiteCommand::Party { party, full_name } => block_on(async {
            let operator = Operator::open(&args.operator).await?;
            name_party(&operator, party, full_name).await?;
            Ok(Exit::Complete)
        }),
        SiteCommand::Invite { name, party, party_name, valid, format } => {
            let membership = Membership {
                kind: MemberKind::Site.into(),
                name: name.clone(),
                party: party.clone().unwrap_or_default(),
                ..Membership::default()
            };
            block_on(async {
                let operator = Operator::open(&args.operator).await?;
                let party = party.clone().unwrap_or_else(|| "home".to_owned());
                let exit = members::invite(&operator, membership, *valid, *format).await?;
                if let Some(full_name) = party_name {
                    name_party(&operator, &party, full_name).await?;
                }
                Ok(exit)
            })
        }
        SiteCommand::List { format } => block_on(async {
            let operator = Operator::open(&args.operator).await?;
            members::list(&operator, MemberKind::Site, *format).await
        }),
        SiteCommand::Show { name, format } => block_on(async {
            let operator = Operator::open(&args.operator).await?;
            show::show(&operator, name, *format).await
        }),
        SiteCommand::Revoke { name } => block_on(async {
            let operator = Operator::open(&args.operator).await?;
            members::revoke(&operator, MemberKind::Site, name).await
        }),
        SiteCommand::Forget { name, yes } => {
            name.parse::<SiteName>().map_err(|error| usage(error.to_string()))?;
            if !yes && !agreed(name)? {
                tell!("nothing was erased");
                return Ok(Exit::Failed);
            }
            block_on(forget(&args.operator, name))
        }
    }
}

/// Gives a party its name in full.
async fn name_party(operator: &Operator, party: &str, full_name: &str) -> anyhow::Result<()> {
    let request = NamePartyRequest { party: party.to_owned(), full_name: full_name.to_owned() };
    operator
        .call(|mut client| {
            let request = request.clone();
            async move { client.name_party(request).await }
        })
        .await?;
    Ok(())
}

fn agreed(name: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(usage(format!("this erases all data of `{name}` for good: confirm with --yes")));
    }
    tell::ask(format_args!("Erase `{name}`, all its data and the results that name its documents? [y/N] "))?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

async fn forget(arg: &OperatorArg, name: &str) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    let request = ForgetSiteRequest { site: name.to_owned() };
    let erased = operator.call(|mut client| {
        let request = request.clone();
        async move { client.forget_site(request).await }
    });
    let erased = erased.await?;
    let mut line = format!(
        "{name} is erased: {} in {} of {}, and {}",
        cognate_export::human::bytes(erased.bytes),
        plural(erased.indexes, "index", "indexes"),
        plural(erased.documents, "document", "documents"),
        plural(erased.scans.len() as u64, "result", "results"),
    );
    for scan in erased.scans {
        line.push_str(&format!("\n  {scan:016x}"));
    }
    members::print(&line)?;
    Ok(Exit::Complete)
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", cognate_export::human::count(count), if count == 1 { one } else { many })
}
