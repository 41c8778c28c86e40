//! The layers of a configuration: defaults, the file, the environment. Each layer replaces
//! single values of the layer before it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::environment::PREFIX;
use crate::exit::usage;

/// The origin of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    Default,
    File,
    Environment,
}

/// All values by their names, and the origin of those that are not defaults.
pub(super) struct Layers {
    values: Table,
    origins: BTreeMap<String, Origin>,
}

impl Layers {
    pub(super) fn new(defaults: Table) -> Layers {
        Layers { values: defaults, origins: BTreeMap::new() }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// A usage error that names the file, the line, and the key.
    pub(super) fn file<T: for<'a> Deserialize<'a>>(&mut self, path: &Path, text: &str) -> anyhow::Result<()> {
        let refused = |error: toml::de::Error| usage(refusal(path, text, &error));
        // Parsed as the type first, since this error knows its line.
        toml::from_str::<T>(text).map_err(refused)?;
        let table = toml::from_str(text).map_err(refused)?;
        merge(&mut self.values, table, "", &mut |key| {
            self.origins.insert(key, Origin::File);
        });
        Ok(())
    }

    /// Adds a variable of the environment: `POLICY__HOURS` sets `policy.hours`.
    ///
    /// # Errors
    /// A usage error that names the key.
    pub(super) fn variable<T: for<'a> Deserialize<'a>>(&mut self, name: &str, value: &str) -> anyhow::Result<()> {
        let key = name.to_lowercase().replace("__", ".");
        let mut parts: Vec<&str> = key.split('.').collect();
        let last = parts.pop().unwrap_or_default();
        let mut table = &mut self.values;
        for part in parts {
            let inner = table.get_mut(part).and_then(Value::as_table_mut);
            table = inner.ok_or_else(|| usage(format!("the environment, `{PREFIX}{name}`: there is no such key")))?;
        }
        let new = typed(value, table.get(last));
        table.insert(last.to_owned(), new);
        // Checked one by one, so that an error names its variable.
        let checked = self.values.clone().try_into::<T>();
        checked.map_err(|error| usage(format!("the environment, key `{key}`: {}", error.message())))?;
        self.origins.insert(key, Origin::Environment);
        Ok(())
    }

    pub(super) fn values(&self) -> &Table {
        &self.values
    }

    pub(super) fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).copied().unwrap_or(Origin::Default)
    }
}

fn merge(below: &mut Table, above: Table, prefix: &str, replaced: &mut impl FnMut(String)) {
    for (name, value) in above {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match (below.get_mut(&name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above, &key, replaced),
            (_, value) => {
                below.insert(name, value);
                replaced(key);
            }
        }
    }
}

/// A variable is text if it replaces text, and TOML otherwise.
fn typed(text: &str, replaced: Option<&Value>) -> Value {
    let text_of_its_own = || Value::String(text.to_owned());
    match replaced {
        Some(Value::String(_)) => text_of_its_own(),
        // `1` is valid for a key with a fractional value.
        Some(Value::Float(_)) => text.trim().parse().map_or_else(|_| text_of_its_own(), Value::Float),
        _ => text.trim().parse().unwrap_or_else(|_| text_of_its_own()),
    }
}

/// One line: the file, the place, the key, and the mistake.
fn refusal(path: &Path, text: &str, error: &toml::de::Error) -> String {
    let path = path.display();
    let Some(before) = error.span().and_then(|span| text.get(..span.start)) else {
        return format!("`{path}`: {}", error.message());
    };
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let key = line.split_once('=').map_or(line, |(key, _)| key).trim();
    format!("`{path}`, line {number}, key `{key}`: {}", error.message())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::{CoordinatorFile, WorkerFile};

    fn layers() -> Layers {
        Layers::new(Table::try_from(WorkerFile::default()).unwrap())
    }

    fn read(layers: &Layers) -> WorkerFile {
        layers.values().clone().try_into().unwrap()
    }

    #[test]
    fn every_layer_replaces_single_values_of_the_one_below() {
        let mut layers = layers();
        layers.file::<WorkerFile>(&PathBuf::from("w"), "threads = 3\n[policy]\nhours = '22:00-06:00'\n").unwrap();
        layers.variable::<WorkerFile>("THREADS", "4").unwrap();
        layers.variable::<WorkerFile>("POLICY__SHARE_OF_TIME", "1").unwrap();
        layers.variable::<WorkerFile>("POLICY__VIEWS", "[\"raw\"]").unwrap();
        let values = read(&layers);
        assert_eq!((values.threads, values.policy.hours.as_str()), (4, "22:00-06:00"));
        assert_eq!((values.policy.share_of_time, values.policy.views), (1.0, vec!["raw".to_owned()]));
        assert_eq!(values.policy.times, WorkerFile::default().policy.times);
        let origins = ["drain", "policy.hours", "threads"].map(|key| layers.origin(key));
        assert_eq!(origins, [Origin::Default, Origin::File, Origin::Environment]);
    }

    #[test]
    fn a_text_of_digits_stays_a_text_where_the_key_has_one() {
        let mut layers = layers();
        layers.variable::<WorkerFile>("POLICY__CHUNK_BYTES_MIN", "120").unwrap();
        assert_eq!(read(&layers).policy.chunk_bytes_min, "120");
    }

    #[test]
    fn a_mistake_in_a_file_is_named_with_its_line_and_key() {
        let mut layers = Layers::new(Table::try_from(CoordinatorFile::default()).unwrap());
        let text = "listen = 'x'\n\nthreads = \"many\"\n";
        let error = layers.file::<CoordinatorFile>(&PathBuf::from("c.toml"), text).unwrap_err().to_string();
        assert!(error.starts_with("`c.toml`, line 3, key `threads`: "), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let error = layers.file::<CoordinatorFile>(&PathBuf::from("c.toml"), "lisen = 1\n").unwrap_err().to_string();
        assert!(error.contains("line 1, key `lisen`"), "{error}");
    }

    #[test]
    fn a_mistake_in_a_variable_is_named_with_its_key() {
        let error = layers().variable::<WorkerFile>("THREADS", "many").unwrap_err().to_string();
        assert!(error.starts_with("the environment, key `threads`: "), "{error}");
    }
}
