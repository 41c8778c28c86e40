//! Reads the parameters of a method as they are typed: `k=v,k=v`.

use std::ops::RangeInclusive;

/// The parameters that no one has taken yet.
pub(crate) struct Params<'a> {
    method: &'static str,
    given: Vec<(&'a str, &'a str)>,
    /// The names that the method has asked for.
    known: Vec<&'static str>,
}

/// The reason why parameters are refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParamError {
    /// A part does not have the form `k=v`.
    #[error("`{text}` is not a parameter: parameters are written `w=20,n=100`")]
    Form {
        /// The part.
        text: String,
    },
    /// A parameter is given twice.
    #[error("`{name}` is given twice")]
    Twice {
        /// The parameter.
        name: String,
    },
    /// The method has no parameter of this name.
    #[error("`{method}` has no parameter `{name}`; it has {}", list(.known, "and"))]
    Unknown {
        /// The method.
        method: &'static str,
        /// The parameter.
        name: String,
        /// The parameters that the method has.
        known: Vec<&'static str>,
    },
    /// A value is out of its range, or no number.
    #[error("{name}={value} is out of range: {name} of `{method}` is a number from {least} to {most}")]
    OutOfRange {
        /// The method.
        method: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The least value.
        least: u32,
        /// The greatest value.
        most: u32,
    },
    /// A value is none of the words that the parameter allows.
    #[error("{name}={value} makes no sense: {name} of `{method}` is {}", list(.choices, "or"))]
    Choice {
        /// The method.
        method: &'static str,
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The words that are allowed.
        choices: Vec<&'static str>,
    },
    /// The size of the sample is given twice: as a mean and as a parameter.
    #[error("--chunk-bytes and {name}= both say how much `{method}` samples; give one of them")]
    Contradiction {
        /// The method.
        method: &'static str,
        /// The parameter.
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

    /// Takes the value of `name` if it is given.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        let place = self.given.iter().position(|(other, _)| *other == name)?;
        Some(self.given.swap_remove(place).1)
    }

    /// Takes a number in `range`; `default` if none is given.
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

    /// Takes one of `choices`; the first if none is given.
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

    /// Takes the size of the sample, one in so many: `asked` if a mean was given, else the parameter `name`.
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

    /// Refuses the parameters that were not taken.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_once_and_the_rest_is_refused() {
        let mut params = Params::parse("x", "a=1,b=two,c=3").unwrap();
        assert_eq!(params.take("b"), Some("two"));
        assert_eq!((params.take("b"), params.take("z")), (None, None));
        assert_eq!(params.number("a", 0..=9, 5), Ok(1));
        assert_eq!(params.number("d", 0..=9, 5), Ok(5));
        let known = vec!["b", "b", "z", "a", "d"];
        assert_eq!(params.finish(), Err(ParamError::Unknown { method: "x", name: "c".to_owned(), known }));
    }

    #[test]
    fn only_pairs_are_parameters() {
        assert!(Params::parse("x", "").unwrap().finish().is_ok());
        assert_eq!(Params::parse("x", "a=b=c").unwrap().take("a"), Some("b=c"));
        for (text, part) in [("a", "a"), (",", ""), ("a=1,", ""), ("a=1,,b=2", ""), ("a=1,b", "b")] {
            let Err(error) = Params::parse("x", text) else { panic!("{text}") };
            assert_eq!(error, ParamError::Form { text: part.to_owned() }, "{text}");
        }
        let Err(error) = Params::parse("x", "a=1,b=2,a=1") else { panic!("twice") };
        assert_eq!(error.to_string(), "`a` is given twice");
    }

    #[test]
    fn a_mean_and_its_parameter_exclude_each_other() {
        let sampling = |text, asked, default| {
            let mut params = Params::parse("x", text).unwrap();
            params.sampling("n", 10..=100, asked, default)
        };
        assert_eq!(sampling("n=20", None, 50), Ok(20));
        assert_eq!(sampling("", Some(20), 50), Ok(20));
        assert_eq!(sampling("", None, 50), Ok(50));
        // A default of the view is moved into the range of the method.
        assert_eq!((sampling("", None, 5), sampling("", None, 500)), (Ok(10), Ok(100)));
        assert_eq!(sampling("n=20", Some(20), 50), Err(ParamError::Contradiction { method: "x", name: "n" }));
        assert!(matches!(sampling("", Some(9), 50), Err(ParamError::OutOfRange { least: 10, most: 100, .. })));
    }

    #[test]
    fn names_are_listed_as_in_a_sentence() {
        assert_eq!(list(&[], "and"), "none");
        assert_eq!(list(&["a"], "and"), "a");
        assert_eq!(list(&["a", "b"], "or"), "a or b");
        assert_eq!(list(&["a", "b", "c"], "and"), "a, b and c");
    }
}
