//! What templates write things with: `{{ path|name }}`, `{{ bytes|size }}`, `{{ started|when(page.now) }}`.

#![allow(unreachable_pub, reason = "the macro makes what it makes public")]

use askama::filters::Safe;
use askama::{Result, Values};

use super::show;

/// A name from outside.
#[askama::filter_fn]
pub(crate) fn name<T: AsRef<str>>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(show::name(text.as_ref())))
}

/// A size, exact where the pointer rests.
#[askama::filter_fn]
pub(crate) fn size(bytes: &u64, _: &dyn Values) -> Result<Safe<String>> {
    let exact = show::number(*bytes);
    Ok(Safe(format!("<data value=\"{bytes}\" title=\"{exact} bytes\">{}</data>", show::size(*bytes))))
}

/// A number with its thousands apart.
#[askama::filter_fn]
pub(crate) fn number(number: &u64, _: &dyn Values) -> Result<String> {
    Ok(show::number(*number))
}

/// How long something takes, in seconds.
#[askama::filter_fn]
pub(crate) fn duration(seconds: &u64, _: &dyn Values) -> Result<String> {
    Ok(show::duration(*seconds))
}

/// A moment by how far away it is, exact where the pointer rests; 0: never.
#[askama::filter_fn]
pub(crate) fn when(time: &i64, _: &dyn Values, now: &i64) -> Result<Safe<String>> {
    Ok(Safe(match *time {
        0 => "never".to_owned(),
        time => format!(
            "<time datetime=\"{}\" title=\"{}\">{}</time>",
            show::stamp(time),
            show::moment(time),
            show::ago(time, *now)
        ),
    }))
}

/// A moment to the second; 0: nothing.
#[askama::filter_fn]
pub(crate) fn moment(time: &i64, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(match *time {
        0 => String::new(),
        time => format!("<time datetime=\"{}\">{}</time>", show::stamp(time), show::moment(time)),
    }))
}
