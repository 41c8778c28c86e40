//! Filters that people have given names: for all who look at results, over all scans.

use cognate_proto::limits::TEXT_BYTES_MAX;
use cognate_proto::name::one_line;

use cognate_storage::verdict::SavedFilter;

use super::{Verdicts, refused};
use crate::error::Error;
use cognate_result::browse::ClusterFilter;
use cognate_storage::journal::What;

const NAME_CHARS_MAX: usize = 60;
const FILTERS_MAX: usize = 200;

impl Verdicts {
    /// Saves a filter under a name, in place of what had that name.
    ///
    /// # Errors
    /// Fails if the name or the filter is invalid, or there are too many.
    pub fn save_filter(&self, name: &str, query: &str, by: &str) -> Result<(), Error> {
        let name = one_line(name.trim());
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
            return Err(refused("name", format!("1 to {NAME_CHARS_MAX} characters")));
        }
        if query.len() > TEXT_BYTES_MAX {
            return Err(refused("query", "it is too long"));
        }
        let _: ClusterFilter = query.parse()?;
        let saved = self.records.store.saved_filters()?;
        if saved.len() >= FILTERS_MAX && saved.iter().all(|filter| filter.name != name) {
            return Err(Error::Refused(format!("there are {FILTERS_MAX} filters: remove one first")));
        }
        let filter = SavedFilter { name, query: query.to_owned(), assignee: String::new() };
        Ok(self.records.record(What::FilterSaved(filter), by)?)
    }

    /// Gives the clusters of a filter to a person, or with an empty name to nobody in particular.
    ///
    /// # Errors
    /// Fails if there is no filter of this name.
    pub fn assign_filter(&self, name: &str, assignee: &str, by: &str) -> Result<(), Error> {
        let mut saved = self.records.store.saved_filters()?.into_iter();
        let filter = saved.find(|filter| filter.name == name);
        let filter = filter.ok_or_else(|| Error::Unknown(format!("no filter `{}`", one_line(name))))?;
        let assignee = one_line(assignee.trim());
        if assignee.chars().count() > NAME_CHARS_MAX {
            return Err(refused("assignee", format!("at most {NAME_CHARS_MAX} characters")));
        }
        Ok(self.records.record(What::FilterSaved(SavedFilter { assignee, ..filter }), by)?)
    }

    /// Deletes a filter.
    ///
    /// # Errors
    /// Fails if there is none of this name.
    pub fn remove_filter(&self, name: &str, by: &str) -> Result<(), Error> {
        match self.records.store.saved_filters()?.iter().any(|filter| filter.name == name) {
            true => Ok(self.records.record(What::FilterRemoved(name.to_owned()), by)?),
            false => Err(Error::Unknown(format!("no filter `{}`", one_line(name)))),
        }
    }
}
