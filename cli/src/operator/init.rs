//! `cognate coordinator init`: creates a federation, with its CA and its first administrator.

use std::path::PathBuf;

use clap::Args;
use cognate_proto::limits::ADDRESSES_MAX;
use cognate_server::Error;
use cognate_server::identity::addresses;
use cognate_storage::ErrorKind;

use super::file::OperatorFile;
use crate::config::{self, CoordinatorFile};
use crate::exit::{Exit, coded, of_kind, usage};

/// The first administrator's file, in the state.
const OPERATOR_FILE: &str = "operator.toml";

/// Creates a federation: its CA, and in the state folder the file of its first administrator.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate coordinator init --config /etc/cognate/coordinator.toml
  cognate coordinator init --config coordinator.toml --administrator anna.berger   # the name in signed reports
  cognate coordinator init --config coordinator.toml --new-administrator   # the old file was lost or has expired")]
pub(crate) struct InitArgs {
    /// Configuration, a TOML file
    #[arg(long, value_name = "FILE", env = "COGNATE_CONFIG")]
    pub(crate) config: PathBuf,
    /// Names or addresses by which others reach this machine, instead of `names` of the configuration
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) names: Vec<String>,
    /// Name of the first administrator, as the audit log and signed reports have it [default: admin]
    #[arg(long, value_name = "NAME")]
    pub(crate) administrator: Option<String>,
    /// Replace the first administrator's file of an existing federation; the coordinator must not be running
    #[arg(long)]
    pub(crate) new_administrator: bool,
}

/// Runs the command.
pub(crate) fn run(args: &InitArgs) -> anyhow::Result<Exit> {
    let mut values = config::load::<CoordinatorFile>(&args.config)?.values;
    if !args.names.is_empty() {
        values.names.clone_from(&args.names);
    }
    let addresses = addresses(&names(&values)?, port(&values)?);
    let path = values.state_dir.join(OPERATOR_FILE);
    let unusable = |error| coded(Exit::InputOutput, format!("`{}` cannot be read: {error}", path.display()));
    if path.try_exists().map_err(unusable)? && !args.new_administrator {
        return Err(coded(
            Exit::Failed,
            format!(
                "`{}` is there already: this federation exists already; --new-administrator replaces the file",
                path.display()
            ),
        ));
    }
    let words = {
        let first = cognate_server::First { name: args.administrator.as_deref(), replace: args.new_administrator };
        cognate_server::init(&values.state_dir, clock, first, |_, credential| {
            OperatorFile::write(&path, &addresses, credential).map_err(|error| std::io::Error::other(error.to_string()))
        })
    };
    let words = words.map_err(|error| refusal(&error))?;
    super::members::print(&path.display().to_string())?;
    tell!("the federation is created; the key of its authority: {words}");
    let operator = path.display();
    tell!("next:");
    tell!("  1. cognate coordinator run --config {}", args.config.display());
    tell!("  2. cognate site invite NAME --operator {operator}          one line for the worker of each site");
    tell!("  3. cognate operator login --operator {operator}            the pages, in a browser");
    tell!(
        "  4. keep a copy of `{}` in another place: without it, all sites must be invited again after a loss",
        values.state_dir.join("ca.key").display()
    );
    Ok(Exit::Complete)
}

/// Names of the coordinator: those of the configuration, or else the one address that it listens on.
///
/// # Errors
/// If neither gives a name.
pub(crate) fn names(values: &CoordinatorFile) -> anyhow::Result<Vec<String>> {
    let names = match (values.names.is_empty(), values.listen.parse::<std::net::SocketAddr>()) {
        (false, _) => values.names.clone(),
        (true, Ok(listen)) if !listen.ip().is_unspecified() => vec![listen.ip().to_string()],
        (true, _) => {
            return Err(usage(format!(
                "it listens on `{}`, which is not an address to reach it by: set `names = [\"hub.example.com\"]` in the configuration, or use --names",
                values.listen
            )));
        }
    };
    // Otherwise nobody could use an invitation that has them all.
    if names.len() > ADDRESSES_MAX {
        return Err(usage(format!(
            "`names` has {} names, and an invitation at most {ADDRESSES_MAX} addresses: leave out names by which no site or person reaches this machine",
            names.len()
        )));
    }
    for address in addresses(&names, 1) {
        cognate_proto::invitation::check_address(&address)
            .map_err(|_| usage(format!("`{address}`: the part before the port is neither a name nor an address")))?;
    }
    Ok(names)
}

fn port(values: &CoordinatorFile) -> anyhow::Result<u16> {
    let port = values.listen.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.ok_or_else(|| usage(format!("`listen = \"{}\"` is not host:port", values.listen)))
}

fn refusal(error: &Error) -> anyhow::Error {
    let exit = match error.kind() {
        ErrorKind::Internal | ErrorKind::Corrupt => Exit::InputOutput,
        ErrorKind::Invalid => Exit::Failed,
        kind => of_kind(kind),
    };
    coded(exit, error.to_string())
}

#[expect(clippy::disallowed_methods, reason = "this is a composition root: the clock is read here and handed down")]
fn clock() -> std::time::SystemTime {
    std::time::SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_the_configuration_or_from_the_one_address_that_is_listened_on() {
        let with = |listen: &str, given: &[&str]| {
            let given = given.iter().map(ToString::to_string).collect();
            names(&CoordinatorFile { listen: listen.into(), names: given, ..CoordinatorFile::default() })
        };
        assert_eq!(with("0.0.0.0:7443", &["hub", "10.0.0.1"]).unwrap(), ["hub", "10.0.0.1"]);
        assert_eq!(with("127.0.0.5:0", &[]).unwrap(), ["127.0.0.5"]);
        assert_eq!(with("[::1]:7443", &[]).unwrap(), ["::1"]);
        assert_eq!(with("[::]:7443", &["::1"]).unwrap(), ["::1"]);
        for (listen, given) in [("0.0.0.0:7443", &[][..]), ("[::]:1", &[]), ("hub:1", &[]), ("1.2.3.4:1", &["a b"])] {
            assert!(with(listen, given).is_err(), "{listen} {given:?}");
        }
        let many: Vec<String> = (0..=ADDRESSES_MAX).map(|number| format!("hub{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(with("0.0.0.0:7443", &many[1..]).is_ok());
        let refused = with("0.0.0.0:7443", &many).unwrap_err().to_string();
        assert!(refused.contains("17 names") && refused.contains("at most 16"), "{refused}");
    }
}
