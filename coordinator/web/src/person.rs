//! Who looks at a page, and what it may ask for: the same table as for calls says so.

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

/// The person whose request it is. A handler that takes one is never called for nobody.
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
    /// When the role does not allow it.
    pub(crate) fn ask<T>(&self, method: &str, message: T) -> Result<Request<T>, PageError> {
        self.may(method)?;
        let mut request = Request::new(message);
        request.extensions_mut().insert(self.identity());
        Ok(request)
    }

    /// Whether the role allows a call of the operators' service. For what is not such a call itself: the one that it stands
    /// nearest to.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn may(&self, method: &str) -> Result<(), PageError> {
        authorize::check(&format!("/cognate.v1.Operator/{method}"), &self.identity()).map_err(|error| {
            tracing::info!(by = %self.operator.name, method, "a page was refused");
            PageError::denied(error.to_string())
        })
    }

    fn identity(&self) -> Identity {
        Identity::Operator(self.operator.clone())
    }

    /// Whether the role is this one or a greater one: for what is offered, not for what is allowed.
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

    /// Says something on the page that is shown next.
    pub(crate) fn say(&self, text: impl Into<String>) {
        self.say_with(text, None);
    }

    /// The same with something to copy.
    pub(crate) fn say_with(&self, text: impl Into<String>, copy: Option<String>) {
        if let Some(session) = &self.session {
            self.pages.logins().say(session, Notice { text: text.into(), copy });
        }
    }

    /// Whether it may still look: for pages that go on.
    pub(crate) fn holds(&self) -> bool {
        self.session.as_ref().is_some_and(|session| self.pages.logins().holds(self.pages.members(), session))
    }

    /// What every form of this session carries: a page of somebody else's cannot know it.
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
        // `guard.rs` and `api.rs` put it there, or answer themselves.
        parts.extensions.get::<Person>().cloned().ok_or_else(|| PageError::nobody("nobody is signed in"))
    }
}
