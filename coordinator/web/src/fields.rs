//! The content of a form or an address: names and values, as they came.

use std::fmt;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::Pages;
use crate::error::PageError;
use crate::large_forms::LargeForm;

/// The most fields of a form: each costs memory many times its length.
const FIELDS_MAX: usize = 10_000;

/// Names and values, in their order.
#[derive(Clone, Default)]
pub(crate) struct Fields {
    pairs: Vec<(String, String)>,
    _place: Option<Arc<LargeForm>>,
}

impl Fields {
    /// Reads the query of an address, or the body of a form.
    ///
    /// # Errors
    /// Fails if there are too many fields.
    pub(crate) fn read(encoded: &[u8]) -> Result<Fields, PageError> {
        let mut parsed = form_urlencoded::parse(encoded);
        let pairs = parsed.by_ref().take(FIELDS_MAX).map(|(name, value)| (name.into_owned(), value.into_owned()));
        let pairs = pairs.collect();
        if parsed.next().is_some() {
            return Err(PageError::invalid(format!("a form has at most {FIELDS_MAX} fields")));
        }
        Ok(Fields { pairs, _place: None })
    }

    /// One field.
    pub(crate) fn of(name: &str, value: &str) -> Fields {
        Fields { pairs: vec![(name.to_owned(), value.to_owned())], _place: None }
    }

    /// The same, which keep the place of a large form until they are dropped.
    pub(crate) fn holding(self, place: LargeForm) -> Fields {
        Fields { _place: Some(Arc::new(place)), ..self }
    }

    /// A value without spaces around it; `None` if it is missing or empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let value = self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }

    /// All names and values.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.trim()))
    }

    /// All values of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// True if a box is ticked.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// A required value.
    ///
    /// # Errors
    /// Fails if it is missing.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, PageError> {
        self.text(name).ok_or_else(|| PageError::invalid(format!("`{name}`: it is missing")))
    }

    /// An integer, if the field has one.
    ///
    /// # Errors
    /// Fails if it is not an integer.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, PageError> {
        let parse = |text: &str| text.parse().map_err(|_| PageError::invalid(format!("`{name}`: it is not a number")));
        self.text(name).map(parse).transpose()
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.pairs).finish()
    }
}

/// Reads the body of a form, or the query of the address for all other requests.
impl FromRequestParts<Pages> for Fields {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &Pages) -> Result<Fields, PageError> {
        match parts.extensions.remove::<Fields>() {
            Some(posted) => Ok(posted),
            None => Fields::read(parts.uri.query().unwrap_or_default().as_bytes()),
        }
    }
}
