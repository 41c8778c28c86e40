//! `cognate scan profile`: scan options that are saved under a name.

use clap::{Args, Subcommand};
use cognate_proto::name::one_line;
use cognate_proto::v1;
use serde_json::{Value, json};

use super::FormatArgs;
use super::spec::{SpecArgs, names};
use crate::exit::Exit;
use crate::operator::client::{Operator, OperatorArg};
use crate::operator::members::{TableFormat, print, print_json};
use cognate_export::table::table;

/// Saves scan options under names.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate scan profile save monthly --repositories paris/kb,tokyo/kb --min-containment 0.8
  cognate scan launch --profile monthly")]
pub(super) struct ProfileArgs {
    #[command(subcommand)]
    command: ProfileCommand,
}

#[derive(Subcommand, Debug)]
enum ProfileCommand {
    /// Save scan options under a name, or replace them
    #[command(after_help = "Example:\n  cognate scan profile save monthly --repositories paris/kb,tokyo/kb")]
    Save {
        /// Name of the profile
        name: String,
        #[command(flatten)]
        spec: Box<SpecArgs>,
    },
    /// List the profiles
    #[command(after_help = "Example:\n  cognate scan profile list")]
    List(FormatArgs),
    /// Remove a profile
    #[command(after_help = "Example:\n  cognate scan profile remove monthly")]
    Remove {
        /// Name of the profile
        name: String,
    },
}

/// Runs the command.
pub(super) async fn run(arg: &OperatorArg, args: &ProfileArgs) -> anyhow::Result<Exit> {
    let operator = Operator::open(arg).await?;
    match &args.command {
        ProfileCommand::Save { name, spec } => {
            let profile = v1::Profile { name: name.clone(), options: Some(spec.typed()?.into()) };
            let request = v1::PutProfileRequest { profile: Some(profile) };
            let put = operator.call(|mut client| {
                let request = request.clone();
                async move { client.put_profile(request).await }
            });
            put.await?;
        }
        ProfileCommand::Remove { name } => {
            let request = v1::RemoveProfileRequest { name: name.clone() };
            let remove = operator.call(|mut client| {
                let request = request.clone();
                async move { client.remove_profile(request).await }
            });
            remove.await?;
        }
        ProfileCommand::List(FormatArgs { format }) => {
            let listed =
                operator.call(|mut client| async move { client.list_profiles(v1::ListProfilesRequest {}).await });
            let profiles = listed.await?.profiles;
            match format {
                TableFormat::Json => {
                    let rows = profiles.iter().map(
                        |profile| json!({"name": profile.name, "repositories": profile.options.as_ref().map(names)}),
                    );
                    print_json(&rows.collect::<Value>())?;
                }
                TableFormat::Text => {
                    let rows = profiles.iter().map(|profile| {
                        vec![one_line(&profile.name), profile.options.as_ref().map(names).unwrap_or_default()]
                    });
                    print(&table(&["PROFILE", "REPOSITORIES"], rows))?;
                }
            }
        }
    }
    Ok(Exit::Complete)
}
