//! Variables of the environment that start with our prefix: keys of the configuration, variables of the command line, and
//! variables that Kubernetes sets for a service of this name.

use crate::exit::usage;

/// The beginning of the names of our variables.
pub(super) const PREFIX: &str = "COGNATE_";
/// The variables that belong to the command line.
const OF_THE_COMMAND_LINE: [&str; 4] = ["LOG_FORMAT", "LOG_LEVEL", "OPERATOR", "CONFIG"];

/// The use of a variable.
#[derive(PartialEq, Eq, Debug)]
enum Purpose {
    /// It sets a key of the configuration.
    Key,
    /// The command line reads it.
    CommandLine,
    /// Kubernetes sets it in every pod next to a service that is called `cognate` or `cognate-…`.
    ServiceLink,
    /// Nothing reads it. Holds the nearest known name.
    Unknown(Option<String>),
}

/// The keys of a configuration as names of variables, without the prefix.
pub(super) fn keys(table: &toml::Table) -> Vec<String> {
    let mut keys = Vec::new();
    for (name, value) in table {
        let name = name.to_uppercase();
        if let toml::Value::Table(inner) = value {
            keys.extend(self::keys(inner).into_iter().map(|key| format!("{name}__{key}")));
        }
        keys.push(name);
    }
    keys
}

/// Variables of this process that start with our prefix, without the prefix.
pub(super) fn variables() -> Vec<(String, String)> {
    let all = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?.to_uppercase();
        Some((name.strip_prefix(PREFIX)?.to_owned(), value.to_string_lossy().into_owned()))
    });
    all.collect()
}

/// The variables that set a key of the configuration, with their values.
///
/// # Errors
/// A usage error for a variable that nothing reads, with the nearest name.
pub(super) fn settings(keys: &[String], variables: Vec<(String, String)>) -> anyhow::Result<Vec<(String, String)>> {
    let mut settings = Vec::new();
    for (name, value) in variables {
        match purpose(&name, &value, keys) {
            Purpose::Key => settings.push((name, value)),
            Purpose::CommandLine => {}
            Purpose::ServiceLink => {
                tracing::debug!("the environment's `{PREFIX}{name}` is ignored: Kubernetes sets it for a service");
            }
            Purpose::Unknown(nearest) => {
                let nearest = nearest.map(|nearest| format!("; the nearest name is `{PREFIX}{nearest}`"));
                let nearest = nearest.unwrap_or_default();
                return Err(usage(format!("the environment, `{PREFIX}{name}`: there is no such key{nearest}")));
            }
        }
    }
    Ok(settings)
}

fn purpose(name: &str, value: &str, keys: &[String]) -> Purpose {
    if OF_THE_COMMAND_LINE.contains(&name) {
        return Purpose::CommandLine;
    }
    if keys.iter().any(|key| key == name) {
        return Purpose::Key;
    }
    if is_service_link(name, value) {
        return Purpose::ServiceLink;
    }
    let known = keys.iter().map(String::as_str).chain(OF_THE_COMMAND_LINE);
    let nearness = |known: &&str| strsim::normalized_damerau_levenshtein(name, known);
    Purpose::Unknown(known.max_by(|a, b| nearness(a).total_cmp(&nearness(b))).map(str::to_owned))
}

/// True for variables that Kubernetes sets for services: `PORT`, `SERVICE_HOST`, `WEB_SERVICE_PORT_GRPC`,
/// `WEB_PORT=tcp://10.0.0.1:7443`, `WEB_PORT_7443_TCP_ADDR`.
fn is_service_link(name: &str, value: &str) -> bool {
    let is_address = value.starts_with("tcp://") || value.starts_with("udp://");
    name.starts_with("PORT")
        || name.ends_with("SERVICE_HOST")
        || name.contains("SERVICE_PORT")
        || name.contains("_PORT") && (is_address || is_part_of_address(name))
}

/// True for `…_PORT_7443_TCP_ADDR`, and the same with `PORT` and `PROTO`.
fn is_part_of_address(name: &str) -> bool {
    let Some((_, rest)) = name.rsplit_once("_PORT_").filter(|(_, rest)| rest.contains('_')).or_else(|| {
        // `…_PORT_7443_TCP_PORT` ends with the word itself.
        name.strip_suffix("_PORT")?.rsplit_once("_PORT_")
    }) else {
        return false;
    };
    let mut parts = rest.split('_');
    let port = parts.next().unwrap_or_default();
    let protocol = parts.next().unwrap_or_default();
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) && matches!(protocol, "TCP" | "UDP" | "SCTP")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<String> {
        let table = "state_dir = 'x'\nlisten = 'x'\nthreads = 1\n[policy]\nhours = 'x'\n";
        keys(&toml::from_str(table).unwrap())
    }

    #[test]
    fn keys_of_a_table_are_named_through_their_tables() {
        let mut keys = known();
        keys.sort();
        assert_eq!(keys, ["LISTEN", "POLICY", "POLICY__HOURS", "STATE_DIR", "THREADS"]);
    }

    #[test]
    fn every_variable_has_its_purpose() {
        let unknown = |nearest: &str| Purpose::Unknown(Some(nearest.to_owned()));
        let cases = [
            ("LISTEN", "tcp://x", Purpose::Key),
            ("POLICY__HOURS", "22:00-06:00", Purpose::Key),
            ("LOG_LEVEL", "info", Purpose::CommandLine),
            ("PORT", "tcp://10.0.0.1:7443", Purpose::ServiceLink),
            ("PORT_7443_TCP", "tcp://10.0.0.1:7443", Purpose::ServiceLink),
            ("PORT_7443_TCP_PROTO", "tcp", Purpose::ServiceLink),
            ("SERVICE_HOST", "10.0.0.1", Purpose::ServiceLink),
            ("SERVICE_PORT", "7443", Purpose::ServiceLink),
            ("SERVICE_PORT_GRPC", "7443", Purpose::ServiceLink),
            ("WEB_SERVICE_HOST", "10.0.0.1", Purpose::ServiceLink),
            ("WEB_SERVICE_PORT_HTTP", "7480", Purpose::ServiceLink),
            ("WEB_PORT", "udp://10.0.0.1:7480", Purpose::ServiceLink),
            ("WEB_PORT_7480_TCP", "tcp://10.0.0.1:7480", Purpose::ServiceLink),
            ("WEB_PORT_7480_TCP_ADDR", "10.0.0.1", Purpose::ServiceLink),
            ("WEB_PORT_7480_TCP_PORT", "7480", Purpose::ServiceLink),
            ("WEB_PORT_7480_TCP_PROTO", "tcp", Purpose::ServiceLink),
            ("WEB_PORT", "7480", unknown("LOG_FORMAT")),
            ("WEB_PORT_HTTP", "7480", unknown("LOG_FORMAT")),
            ("STATEDIR", "/x", unknown("STATE_DIR")),
            ("POLICY__HUORS", "x", unknown("POLICY__HOURS")),
            ("LOGLEVEL", "x", unknown("LOG_LEVEL")),
        ];
        for (name, value, wanted) in cases {
            assert_eq!(purpose(name, value, &known()), wanted, "{name}={value}");
        }
    }

    #[test]
    fn a_name_that_nothing_reads_is_an_error_with_the_nearest_one() {
        let of = |name: &str| vec![(name.to_owned(), "x".to_owned())];
        let error = settings(&known(), of("THREDS")).unwrap_err().to_string();
        assert!(error.contains("`COGNATE_THREDS`") && error.contains("`COGNATE_THREADS`"), "{error}");
        assert_eq!(settings(&known(), of("SERVICE_HOST")).unwrap(), Vec::new());
        assert_eq!(settings(&known(), of("THREADS")).unwrap(), of("THREADS"));
    }
}
