//! The options that programs write as text: names, numbers and times as people type them.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Visitor};

/// Repositories as `site/repository`.
pub(super) mod repositories {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::name::{RepositoryName, SiteName};

    pub(crate) fn serialize<S: Serializer>(
        repositories: &[(SiteName, RepositoryName)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(repositories.iter().map(|(site, repository)| format!("{site}/{repository}")))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(SiteName, RepositoryName)>, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        names.iter().map(|name| parse(name).map_err(D::Error::custom)).collect()
    }

    fn parse(name: &str) -> Result<(SiteName, RepositoryName), String> {
        let (site, repository) = name.split_once('/').ok_or("a repository is SITE/REPOSITORY")?;
        let site = site.parse().map_err(|error| format!("{error}"))?;
        Ok((site, repository.parse().map_err(|error| format!("{error}"))?))
    }
}

/// A length of time as `5m`; empty: none.
pub(super) mod duration {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(crate) fn serialize<S: Serializer>(wait: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match wait {
            Some(wait) => serializer.collect_str(&humantime::format_duration(*wait)),
            None => serializer.serialize_str(""),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "" => Ok(None),
            text => humantime::parse_duration(text).map(Some).map_err(|_| D::Error::custom("10s, 5m or 2h")),
        }
    }
}

/// The id of a scan as 16 hexadecimal digits.
pub(super) mod scan_id {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::name::ScanId;

    pub(crate) fn serialize<S: Serializer>(scan: &ScanId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(scan)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ScanId, D::Error> {
        let text = String::deserialize(deserializer)?;
        let refused = || D::Error::custom("an id is 16 hexadecimal digits");
        if text.len() != 16 || text.starts_with('+') {
            return Err(refused());
        }
        u64::from_str_radix(&text, 16).map(ScanId).map_err(|_| refused())
    }
}

/// A decimal number, as a number or as it was typed: `0.8` or `"0.80"`.
pub(super) fn decimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    struct Decimal;

    impl Visitor<'_> for Decimal {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number from 0 to 1")
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
            Ok(number.to_string())
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }
    }

    deserializer.deserialize_any(Decimal)
}
