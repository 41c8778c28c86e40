//! Signing in and out. An address from `cognate operator login` shows a button; only the button signs in, because mail
//! programs and chats open addresses before people do.

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
    /// The person whose code it is and the role; `None`: the code is not valid.
    who: Option<(String, &'static str)>,
    to: String,
    /// True if the given code is not valid.
    refused: bool,
}

async fn ask(State(pages): State<Pages>, headers: HeaderMap, fields: Fields) -> Shown {
    let code = fields.text("code").unwrap_or_default().to_owned();
    let wanted = fields.text("to").map(str::to_owned).or_else(|| {
        let stored = cookie(&headers, &pages.cookie_name("to"))?;
        form_urlencoded::parse(format!("to={stored}").as_bytes()).next().map(|(_, to)| to.into_owned())
    });
    let (expected, asked) = (pages.clone(), code.clone());
    let operator = blocking(move || Ok(expected.logins().expected(expected.members(), &asked))).await?;
    let who = operator.map(|operator| (operator.name.to_string(), role(operator.role)));
    let refused = !code.is_empty() && who.is_none();
    html(&SignIn { page: Page::without_person(pages.now()), code, who, to: local(wanted.as_deref()), refused })
}

async fn sign_in(State(pages): State<Pages>, fields: Fields) -> Shown {
    // People may paste the complete address or only its code.
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
            // Failed guesses must not fill the journal.
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
            tracing::info!(reason = Refusal::SignIn.label(), "a sign-in was refused");
            let page = Page::without_person(pages.now());
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
        blocking(move || Ok(records.note(Action::SignedOut, 0, name.as_str())?)).await?;
    }
    let mut response = see("/sign-in")?;
    pages.set_cookie(&mut response, "session", "", 0);
    Ok(response)
}

/// The given address if it is one of these pages, else the first page.
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
    fn signing_in_redirects_only_to_our_own_pages() {
        assert_eq!(local(Some("/scans/1?x=y")), "/scans/1?x=y");
        for to in ["", "https://elsewhere", "//elsewhere", "/\\elsewhere", "/a\r\nb", "/sign-in?to=/", "javascript:1"] {
            assert_eq!(local(Some(to)), "/", "{to}");
        }
    }
}
