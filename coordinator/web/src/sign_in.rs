//! Signing in and out. An address from `cognate operator login` shows a button; the button signs in, so that whoever looks
//! at addresses before people do (mail programs, chats) does not use them up.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::routing::{get, post};

use crate::guard::cookie;
use crate::person::role;
use crate::{Fields, Page, Pages, Shown, filters, html, see};
use cognate_server::identity::Refusal;
use cognate_server::logins::Redeemed;
use cognate_server::operator::blocking;
use cognate_storage::journal::Action;

pub(crate) fn routes() -> Router<Pages> {
    Router::new().route("/sign-in", get(ask).post(sign_in)).route("/sign-out", post(sign_out))
}

#[derive(Template)]
#[template(path = "sign-in.html")]
struct SignIn {
    page: Page,
    code: String,
    /// Who the code is for, in words; nothing: none that holds.
    who: Option<(String, &'static str)>,
    to: String,
    /// Whether a code was given that signs nobody in.
    refused: bool,
}

async fn ask(State(pages): State<Pages>, headers: HeaderMap, fields: Fields) -> Shown {
    let code = fields.text("code").unwrap_or_default().to_owned();
    let wanted = fields.text("to").map(str::to_owned).or_else(|| {
        let kept = cookie(&headers, &pages.cookie_name("to"))?;
        form_urlencoded::parse(format!("to={kept}").as_bytes()).next().map(|(_, to)| to.into_owned())
    });
    let (expected, asked) = (pages.clone(), code.clone());
    let operator = blocking(move || Ok(expected.logins().expected(expected.members(), &asked))).await?;
    let who = operator.map(|operator| (operator.name.to_string(), role(operator.role)));
    let refused = !code.is_empty() && who.is_none();
    html(&SignIn { page: Page::of_nobody(pages.now()), code, who, to: local(wanted.as_deref()), refused })
}

async fn sign_in(State(pages): State<Pages>, fields: Fields) -> Shown {
    // People paste the whole address as well as the code in it.
    let given = fields.text("code").unwrap_or_default();
    let code = given.rsplit_once("code=").map_or(given, |(_, code)| code).to_owned();
    let to = local(fields.text("to"));
    let (service, tried) = (pages.clone(), code.clone());
    let redeemed = blocking(move || {
        let redeemed = service.logins().redeem(service.members(), &tried);
        let records = &service.services().records;
        match &redeemed {
            Redeemed::Session { operator, .. } => records.note(Action::SignedIn, 0, operator.name.as_str())?,
            Redeemed::Late(name) => records.note(Action::SignInRefused, 0, name.as_str())?,
            // Whoever guesses fills no journal.
            Redeemed::Unknown => {}
        }
        Ok(redeemed)
    })
    .await?;
    match redeemed {
        Redeemed::Session { secret, operator } => {
            tracing::info!(by = %operator.name, "signed in");
            let mut response = axum::response::Redirect::to(&to).into_response();
            pages.set_cookie(&mut response, "session", &secret, 12 * 3600);
            pages.set_cookie(&mut response, "to", "", 0);
            Ok(response)
        }
        Redeemed::Late(_) | Redeemed::Unknown => {
            pages.members().refusals().count(Refusal::SignIn);
            tracing::info!(reason = Refusal::SignIn.label(), "nobody was signed in");
            let page = Page::of_nobody(pages.now());
            html(&SignIn { page, code, who: None, to, refused: true })
        }
    }
}

async fn sign_out(State(pages): State<Pages>, headers: HeaderMap, fields: Fields) -> Shown {
    if let Some((person, session)) = pages.browser(&headers)
        && fields.text("csrf") == Some(person.csrf().as_str())
    {
        pages.logins().end(&session);
        let name = person.operator.name.clone();
        let records = std::sync::Arc::clone(&pages.services().records);
        blocking(move || records.note(Action::SignedOut, 0, name.as_str())).await?;
    }
    let mut response = see("/sign-in")?;
    pages.set_cookie(&mut response, "session", "", 0);
    Ok(response)
}

/// An address of these pages, or the first of them.
fn local(to: Option<&str>) -> String {
    let is_local = |to: &&str| {
        to.starts_with('/')
            && !to.starts_with("//")
            && !to.contains(['\\', '\r', '\n', '\t'])
            && !to.starts_with("/sign-")
            && to.is_ascii()
    };
    to.filter(is_local).unwrap_or("/").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere_after_signing_in() {
        assert_eq!(local(Some("/scans/1?x=y")), "/scans/1?x=y");
        for to in ["", "https://elsewhere", "//elsewhere", "/\\elsewhere", "/a\r\nb", "/sign-in?to=/", "javascript:1"] {
            assert_eq!(local(Some(to)), "/", "{to}");
        }
    }
}
