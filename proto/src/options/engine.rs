//! The engine that groups the chunks of a scan, and the addresses that somebody types for one elsewhere.

use serde::{Deserialize, Serialize};

use super::{LayerOptions, OptionError, ScanOptions};
use crate::limits::TEXT_BYTES_MAX;

/// The engine that groups the chunks of a scan by their tags. The result is the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// The coordinator's own.
    #[default]
    Native,
    /// An Apache Spark cluster, over Spark Connect.
    Spark,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 2] = [Engine::Native, Engine::Spark];

    /// The name, as it is typed and stored.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Native => "native",
            Engine::Spark => "spark",
        }
    }
}

impl ScanOptions {
    /// Checks the addresses of an engine elsewhere; the configuration of a coordinator allows them or not.
    pub(super) fn check_engine(&self) -> Result<(), OptionError> {
        for (option, address) in [("spark", &self.spark), ("exchange", &self.exchange)] {
            if !address.is_empty() && self.engine == Engine::Native {
                return Err(OptionError::new(option, &"the native engine has none: say --engine spark"));
            }
        }
        let looks = |layer: &LayerOptions| layer.method.capabilities().fixed_size;
        if self.engine == Engine::Spark && self.layers()?.iter().any(looks) {
            let reason =
                "only methods with chunks or features that add up are grouped by Spark; this one compares pair by pair";
            return Err(OptionError::new("engine", &reason));
        }
        check_server(&self.spark)?;
        check_exchange(&self.exchange)
    }
}

/// Checks the address of a Spark Connect server; empty is one.
///
/// # Errors
/// If it is none, or holds a secret: rows of scans are shown to people.
pub fn check_server(address: &str) -> Result<(), OptionError> {
    let refused = |reason: &str| Err(OptionError::new("spark", &reason));
    if address.is_empty() {
        return Ok(());
    }
    let nonsense = "it is an address such as sc://spark.example.com:15002, or sc://spark.example.com:443/;use_ssl=true";
    let Some(rest) = address.strip_prefix("sc://").filter(|_| address.len() <= TEXT_BYTES_MAX) else {
        return refused(nonsense);
    };
    let (host, parameters) = rest.split_once("/;").unwrap_or((rest, ""));
    if host.contains([';', '/']) || !parameters.split(';').all(is_parameter) {
        return refused(
            "after the port, it has /;use_ssl=true and headers such as x-databricks-cluster-id=NAME: a token belongs in \
             SPARK_CONNECT_AUTHENTICATE_TOKEN of the coordinator",
        );
    }
    let is_host =
        |host: &str| !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c));
    if is_host(host) { Ok(()) } else { refused(nonsense) }
}

/// True for a parameter of an address that holds no secret: encryption, or a header by which a platform finds the cluster.
fn is_parameter(parameter: &str) -> bool {
    let is_plain =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match parameter.split_once('=') {
        None => parameter.is_empty(),
        Some(("use_ssl", value)) => value == "true",
        Some((name, value)) => {
            let is_secret =
                ["token", "secret", "auth", "password", "credential"].iter().any(|word| name.contains(word));
            name.starts_with("x-")
                && !name.contains(|c: char| c.is_ascii_uppercase())
                && is_plain(name)
                && is_plain(value)
                && !is_secret
        }
    }
}

/// Checks the address of a folder for the exchange; empty is one.
///
/// # Errors
/// If it is none that a statement may hold.
pub fn check_exchange(address: &str) -> Result<(), OptionError> {
    if address.is_empty() {
        return Ok(());
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:.-_@".contains(c);
    let is_folder = address.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    let climbs = address.split('/').any(|part| part == ".." || part == ".");
    match is_folder && !climbs && address.chars().all(is_plain) && address.len() <= TEXT_BYTES_MAX {
        true => Ok(()),
        false => Err(OptionError::new(
            "exchange",
            &"it is the address of a folder such as file:///srv/exchange or s3a://bucket/folder, of letters, digits and -._@",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_and_holds_no_secret() {
        for address in [
            "",
            "sc://h",
            "sc://spark.example.com:15002",
            "sc://[::1]:15002",
            "sc://h:443/;use_ssl=true",
            "sc://h:443/;use_ssl=true;x-databricks-cluster-id=0123-456789-abcdefgh",
            "sc://h/;x-databricks-session-id=a.b_c",
        ] {
            assert_eq!(check_server(address), Ok(()), "{address}");
        }
        for address in [
            "sc://",
            "h:15002",
            "http://h",
            "sc://h/;token=x",
            "sc://h/;use_ssl=true;token=x",
            "sc://a b",
            "sc://u@h",
            "sc://h/;x-auth=x",
            "sc://h/;x-access-token=x",
            "sc://h/;user_id=x",
            "sc://h/;x-cluster=",
            "sc://h/;x-cluster=a b",
            "sc://h/;x-cluster=a'b",
            "sc://h/;use_ssl=false",
            "sc://h/x",
        ] {
            let error = check_server(address).unwrap_err();
            assert_eq!((error.option, error.reason.contains('\n')), ("spark", false), "{address}");
        }
        assert!(check_server("sc://h/;token=x").unwrap_err().reason.contains("SPARK_CONNECT_AUTHENTICATE_TOKEN"));
    }

    #[test]
    fn an_exchange_is_a_folder_that_a_statement_may_hold() {
        for address in ["", "file:///srv/x", "s3a://bucket/a-b_c/1.0", "abfss://box@account.dfs.core.windows.net/x"] {
            assert_eq!(check_exchange(address), Ok(()), "{address}");
        }
        for address in [
            "/srv/x",
            "file://",
            "file:///a'b",
            "file:///a`b",
            "file:///a/../b",
            "s3://b/x?k=v",
            "file:///a b",
            "file:///é",
        ] {
            assert_eq!(check_exchange(address).unwrap_err().option, "exchange", "{address}");
        }
    }
}
