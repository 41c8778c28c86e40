//! The way from the command line to the pages: an address that signs a browser in once, or a credential for programs.

use std::time::Duration;

use cognate_proto::v1;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use crate::journal::Action;

/// How long a credential for programs holds unless said otherwise, and at most.
const TOKEN_VALID: Duration = Duration::from_secs(3600);
const TOKEN_VALID_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

impl OperatorService {
    pub(super) fn log_in(&self, operator: &Operator, request: &v1::LoginRequest) -> Result<v1::LoginResponse, Error> {
        let pages = &self.settings.pages;
        if pages.is_empty() {
            return Err(Error::Refused("this coordinator serves no pages".to_owned()));
        }
        let (_, origin) = self.coordinator.members.operator(operator.name.as_str())?;
        if !request.token {
            self.coordinator.note(Action::LoginAsked, 0, operator.name.as_str())?;
            let (code, expires) = self.coordinator.logins.offer(&operator.name, origin)?;
            let address = format!("{pages}/sign-in?code={code}");
            return Ok(v1::LoginResponse { address, token: String::new(), expires });
        }
        let valid = match request.valid_seconds {
            0 => TOKEN_VALID,
            seconds => Duration::from_secs(seconds),
        };
        if valid > TOKEN_VALID_MAX {
            return Err(Error::Invalid("`valid`: a credential for programs holds for at most 7 days".to_owned()));
        }
        self.coordinator.note(Action::TokenAsked, 0, operator.name.as_str())?;
        let (token, expires) = self.coordinator.logins.token(&operator.name, origin, valid)?;
        Ok(v1::LoginResponse { address: format!("{pages}/api/v1"), token, expires })
    }
}
