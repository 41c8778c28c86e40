//! `k=v,k=v`: the parameters of a method as they are typed, and what is wrong with them.

use std::ops::RangeInclusive;

/// Parameters that have not been asked for yet.
pub(crate) struct Params<'a> {
    method: &'static str,
    given: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
}

/// Why parameters are refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParamError {
    /// Not of the form `k=v`.
    #[error("`{text}` is not a parameter: parameters are written `w=20,n=100`")]
    Form {
        /// What was given.
        text: String,
    },
    /// The same one twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// Which.
        name: String,
    },
    /// The method has none of this name.
    #[error("`{method}` has no parameter `{name}`; it has {}", list(.known, "and"))]
    Unknown {
        /// Whose.
        method: &'static str,
        /// Which.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A number out of its range, or no number.
    #[error("{name}={value} is out of range: {name} of `{method}` is a number from {least} to {most}")]
    OutOfRange {
        /// Whose.
        method: &'static str,
        /// Which.
        name: &'static str,
        /// What was given.
        value: String,
        /// The least.
        least: u32,
        /// The greatest.
        most: u32,
    },
    /// A word that is none of those there are.
    #[error("{name}={value} makes no sense: {name} of `{method}` is {}", list(.choices, "or"))]
    Choice {
        /// Whose.
        method: &'static str,
        /// Which.
        name: &'static str,
        /// What was given.
        value: String,
        /// What there is.
        choices: Vec<&'static str>,
    },
    /// The same thing asked for in two ways.
    #[error("--chunk-bytes and {name}= both say how much `{method}` samples; give one of them")]
    Contradiction {
        /// Whose.
        method: &'static str,
        /// Which.
        name: &'static str,
    },
}

fn list(names: &[&'static str], last_with: &str) -> String {
    match names {
        [] => "none".to_owned(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} {last_with} {last}", names.join(", ")),
    }
}

impl<'a> Params<'a> {
    pub(crate) fn parse(method: &'static str, text: &'a str) -> Result<Params<'a>, ParamError> {
        let mut params = Params { method, given: Vec::new(), known: Vec::new() };
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let form = || ParamError::Form { text: part.to_owned() };
            let (name, value) = part.split_once('=').ok_or_else(form)?;
            if params.given.iter().any(|(other, _)| *other == name) {
                return Err(ParamError::Twice { name: name.to_owned() });
            }
            params.given.push((name, value));
        }
        Ok(params)
    }

    /// Takes the value of `name`, if it is given.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let place = self.given.iter().position(|(other, _)| *other == name)?;
        Some(self.given.swap_remove(place).1)
    }

    /// A number in `range`; `default` where none is given.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u32>,
        default: u32,
    ) -> Result<u32, ParamError> {
        let Some(value) = self.take(name) else { return Ok(default) };
        let (least, most) = range.clone().into_inner();
        let method = self.method;
        let refused = || ParamError::OutOfRange { method, name, value: value.to_owned(), least, most };
        let number: u32 = value.parse().map_err(|_| refused())?;
        if range.contains(&number) { Ok(number) } else { Err(refused()) }
    }

    /// One of `choices`; the first where none is given.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&'static str, T)],
    ) -> Result<T, ParamError> {
        let Some(value) = self.take(name) else { return Ok(choices[0].1) };
        let found = choices.iter().find(|(choice, _)| choice.eq_ignore_ascii_case(value));
        found.map(|(_, value)| *value).ok_or_else(|| ParamError::Choice {
            method: self.method,
            name,
            value: value.to_owned(),
            choices: choices.iter().map(|(choice, _)| *choice).collect(),
        })
    }

    /// How much is sampled, one in so many: by `name`, or as `asked` where the sampling was given as a mean.
    pub(crate) fn sampling(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u32>,
        asked: Option<u32>,
        default: u32,
    ) -> Result<u32, ParamError> {
        if asked.is_some() && self.given.iter().any(|(other, _)| *other == name) {
            return Err(ParamError::Contradiction { method: self.method, name });
        }
        match asked {
            Some(asked) if !range.contains(&asked) => {
                let (least, most) = range.into_inner();
                Err(ParamError::OutOfRange { method: self.method, name, value: asked.to_string(), least, most })
            }
            Some(asked) => {
                self.known.push(name);
                Ok(asked)
            }
            None => {
                let default = default.clamp(*range.start(), *range.end());
                self.number(name, range, default)
            }
        }
    }

    /// Refuses what has not been taken.
    pub(crate) fn finish(self) -> Result<(), ParamError> {
        match self.given.first() {
            None => Ok(()),
            Some((name, _)) => {
                let name = (*name).to_owned();
                Err(ParamError::Unknown { method: self.method, name, known: self.known })
            }
        }
    }
}
