//! What is wrong with a form that was sent: shown at the field that it is about, in a form that keeps what was typed.

use askama::filters::Safe;
use axum::http::StatusCode;
use axum::response::Response;
use cognate_export::show;

use crate::error::PageError;
use crate::{Fields, Shown};

/// A form that is shown again: what was typed, and what is wrong with it.
#[derive(Default)]
pub(crate) struct Again {
    fields: Fields,
    message: String,
    /// The field that the message is about, or the one that the form names for all others.
    field: &'static str,
    status: Option<StatusCode>,
}

impl Again {
    /// A form with these fields, of which an error names one as `` `name` ``; if it names none, it is about the first one.
    ///
    /// # Errors
    /// The error itself if the form cannot be the cause.
    pub(crate) fn of(fields: Fields, error: PageError, names: &[&'static str]) -> Result<Again, PageError> {
        if !error.status.is_client_error() || error.status == StatusCode::FORBIDDEN {
            return Err(error);
        }
        let is_named = |name: &&&str| error.message.contains(&format!("`{name}`"));
        let field = names.iter().find(is_named).or(names.first()).copied().unwrap_or_default();
        // The message leaves out the name of the field below which it stands, and a name that the form does not have.
        let named = error.message.strip_prefix('`').and_then(|rest| rest.split_once("`: "));
        let message = match named.filter(|(name, _)| *name == field || !names.iter().any(|known| known == name)) {
            Some((_, rest)) => rest.to_owned(),
            None => error.message,
        };
        Ok(Again { fields, message, field, status: Some(error.status) })
    }

    /// A form as it was filled in, with nothing wrong.
    pub(crate) fn filled(fields: Fields) -> Again {
        Again { fields, ..Again::default() }
    }

    /// What was typed into a field.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.fields.text(name).unwrap_or_default()
    }

    /// True if a choice was made.
    pub(crate) fn is(&self, name: &str, value: &str) -> bool {
        self.value(name) == value
    }

    /// True if a box was ticked.
    pub(crate) fn is_ticked(&self, name: &str) -> bool {
        self.fields.is_set(name)
    }

    /// True if something is wrong.
    pub(crate) fn is_wrong(&self) -> bool {
        !self.message.is_empty()
    }

    /// The attributes of a field that is wrong.
    pub(crate) fn at(&self, name: &str) -> Safe<String> {
        let is_here = self.is_wrong() && self.field == name;
        let attributes = format!(" aria-invalid=\"true\" aria-describedby=\"{name}-problem\" autofocus");
        Safe(if is_here { attributes } else { String::new() })
    }

    /// The message, below the field that it is about.
    pub(crate) fn note(&self, name: &str) -> Safe<String> {
        let is_here = self.is_wrong() && self.field == name;
        let note =
            || format!("<p class=\"wrong\" id=\"{name}-problem\" role=\"alert\">{}</p>", show::sentence(&self.message));
        Safe(if is_here { note() } else { String::new() })
    }

    /// The status of the answer: that of the error, as it was without the form.
    pub(crate) fn answered(&self, page: Shown) -> Shown {
        page.map(|mut page: Response| {
            *page.status_mut() = self.status.unwrap_or(page.status());
            page
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stands_at_the_field_that_it_names_and_else_at_the_first_one() {
        let again = |message: &str| {
            let fields = Fields::read(b"name=x&every=never").unwrap();
            Again::of(fields, PageError::invalid(message), &["name", "every"]).unwrap()
        };
        let every = again("`every`: <not> a time");
        assert_eq!((every.at("name").0.as_str(), every.value("every")), ("", "never"));
        assert!(every.at("every").0.contains("aria-invalid"));
        assert!(
            every.note("every").0.contains("&lt;not&gt;") || every.note("every").0.contains("&#60;not&#62;"),
            "{}",
            every.note("every").0
        );
        assert!(again("it is too long").at("name").0.contains("aria-invalid"));
    }

    #[test]
    fn what_the_form_did_not_cause_is_a_page_of_its_own() {
        for error in [PageError::internal("it broke"), PageError::denied("not you")] {
            assert!(Again::of(Fields::default(), error, &["name"]).is_err());
        }
    }
}
