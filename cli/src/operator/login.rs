//! `cognate operator login`: an address for the browser, or a credential for programs.

use std::time::Duration;

use clap::Args;
use cognate_proto::name::one_line;
use cognate_proto::v1::LoginRequest;
use serde_json::json;

use super::client::Operator;
use super::members::{TableFormat, print, print_json, time};
use crate::exit::{Exit, usage};

#[derive(Args, Debug)]
pub(super) struct LoginArgs {
    /// Print a credential for programs instead, for the header `Authorization: Bearer …`
    #[arg(long)]
    token: bool,
    /// Lifetime of the credential, at most 7 days; an address for the browser is valid for 5 minutes
    #[arg(long, value_name = "D", value_parser = humantime::parse_duration, requires = "token")]
    valid: Option<Duration>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: TableFormat,
}

/// Prints only the address or the credential on standard output.
pub(super) async fn run(operator: &Operator, args: &LoginArgs) -> anyhow::Result<Exit> {
    let valid_seconds = args.valid.map_or(0, |valid| valid.as_secs());
    if args.valid.is_some() && valid_seconds == 0 {
        return Err(usage("--valid: at least a second"));
    }
    let request = LoginRequest { token: args.token, valid_seconds };
    let answer = operator.call(|mut client| async move { client.login(request).await }).await?;
    let (address, token) = (one_line(&answer.address), one_line(&answer.token));
    let expires = time(answer.expires);
    match (args.format, args.token) {
        (TableFormat::Json, true) => print_json(&json!({"api": address, "token": token, "expires": expires}))?,
        (TableFormat::Json, false) => print_json(&json!({"address": address, "expires": expires}))?,
        (TableFormat::Text, true) => {
            print(&token)?;
            tell!("for programs, until {expires}: curl -H \"Authorization: Bearer TOKEN\" {address}/scans");
        }
        (TableFormat::Text, false) => {
            print(&address)?;
            tell!("for one browser, once, until {expires}");
        }
    }
    Ok(Exit::Complete)
}
