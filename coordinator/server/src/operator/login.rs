//! Sign-in from the command line: an address that signs a browser in once, or a credential for programs.

use std::time::Duration;

use cognate_proto::v1;

use super::OperatorService;
use crate::error::Error;
use crate::identity::Operator;
use cognate_storage::journal::Action;

/// The validity of a credential for programs unless set otherwise, and at most.
const TOKEN_VALID: Duration = Duration::from_secs(3600);
const TOKEN_VALID_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

impl OperatorService {
    pub(super) fn log_in(&self, operator: &Operator, request: &v1::LoginRequest) -> Result<v1::LoginResponse, Error> {
        let pages = &self.settings.pages;
        if pages.is_empty() {
            return Err(Error::Refused("this coordinator serves no pages".to_owned()));
        }
        let (_, origin) = self.services.members.operator(operator.name.as_str())?;
        if !request.token {
            self.services.records.note(Action::LoginAsked, 0, operator.name.as_str())?;
            let (code, expires) = self.services.logins.offer(&operator.name, origin)?;
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
        self.services.records.note(Action::TokenAsked, 0, operator.name.as_str())?;
        let (token, expires) = self.services.logins.token(&operator.name, origin, valid)?;
        Ok(v1::LoginResponse { address: format!("{pages}/api/v1"), token, expires })
    }
}
