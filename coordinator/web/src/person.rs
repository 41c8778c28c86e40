//! The person behind a request, and the calls that it may make, by the same table as for all calls.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use cognate_proto::v1::Role;
use tonic::Request;

use crate::error::PageError;
use crate::{Page, Pages};
use cognate_server::authorize;
use cognate_server::identity::{Identity, Operator};
use cognate_server::logins::Notice;

/// The person behind a request. A handler that takes one is called only for people who are signed in.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) operator: Operator,
    pub(crate) pages: Pages,
    /// The random number of the session; nothing: a program.
    pub(crate) session: Option<Arc<str>>,
}

impl Person {
    /// A call of the operators' service on this person's behalf, as if it came over the wire: `ask("ListScans", …)`.
    ///
    /// # Errors
    /// Fails if the role does not allow it.
    pub(crate) fn ask<T>(&self, method: &str, message: T) -> Result<Request<T>, PageError> {
        self.may(method)?;
        let mut request = Request::new(message);
        request.extensions_mut().insert(self.identity());
        Ok(request)
    }

    /// Checks that the role allows a call of the operators' service. Actions that are no such call use the permission
    /// of the most similar one.
    ///
    /// # Errors
    /// Fails if it does not.
    pub(crate) fn may(&self, method: &str) -> Result<(), PageError> {
        authorize::check(&format!("/cognate.v1.Operator/{method}"), &self.identity()).map_err(|error| {
            tracing::info!(by = %self.operator.name, method, "a page was refused");
            PageError::denied(error.to_string())
        })
    }

    fn identity(&self) -> Identity {
        Identity::Operator(self.operator.clone())
    }

    /// True if the role is this one or a greater one: for offering an action, not for permitting it.
    pub(crate) fn is(&self, role: Role) -> bool {
        i32::from(self.operator.role) >= i32::from(role)
    }

    /// The frame of a page: `here` is its place in the menu.
    pub(crate) fn page(&self, here: &'static str) -> Page {
        Page {
            here,
            name: self.operator.name.to_string(),
            role: role(self.operator.role),
            bound: match (&self.operator.site, &self.operator.party) {
                (Some(site), _) => format!("site {site}"),
                (None, Some(party)) => format!("party {party}"),
                (None, None) => String::new(),
            },
            is_analyst: self.is(Role::Analyst),
            is_administrator: self.is(Role::Administrator),
            csrf: self.csrf(),
            now: self.pages.now(),
            notice: self.session.as_ref().and_then(|session| self.pages.logins().said(session)),
        }
    }

    /// Shows a notice on the next page.
    pub(crate) fn say(&self, text: impl Into<String>) {
        self.say_with(text, None);
    }

    /// The same with something to copy.
    pub(crate) fn say_with(&self, text: impl Into<String>, copy: Option<String>) {
        if let Some(session) = &self.session {
            self.pages.logins().say(session, Notice { text: text.into(), copy });
        }
    }

    /// True if the session is still valid: for pages that stay open.
    pub(crate) fn holds(&self) -> bool {
        self.session.as_ref().is_some_and(|session| self.pages.logins().holds(self.pages.members(), session))
    }

    /// The secret in every form of this session: a page of another site cannot know it.
    pub(crate) fn csrf(&self) -> String {
        self.session.as_ref().map(|session| csrf(session)).unwrap_or_default()
    }
}

pub(crate) fn csrf(session: &str) -> String {
    let key = blake3::derive_key("cognate form v1", session.as_bytes());
    data_encoding::HEXLOWER.encode(&key[..16])
}

/// A role in a word.
pub(crate) fn role(role: Role) -> &'static str {
    match role {
        Role::Administrator => "administrator",
        Role::Analyst => "analyst",
        Role::Viewer => "viewer",
        Role::Unspecified => "",
    }
}

impl FromRequestParts<Pages> for Person {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &Pages) -> Result<Person, PageError> {
        // `guard.rs` and `api.rs` insert it, or answer themselves.
        parts.extensions.get::<Person>().cloned().ok_or_else(|| PageError::not_signed_in("you are not signed in"))
    }
}
