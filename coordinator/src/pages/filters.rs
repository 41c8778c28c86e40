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
pub(crate) fn number<T: std::borrow::Borrow<u64>>(number: T, _: &dyn Values) -> Result<String> {
    Ok(show::number(*number.borrow()))
}

/// A share in percent; what nobody can tell is a dash.
#[askama::filter_fn]
pub(crate) fn percent(share: &Option<crate::report::Ratio>, _: &dyn Values) -> Result<String> {
    Ok(share.map_or_else(|| "–".to_owned(), |share| show::percent(share.0)))
}

/// Ten-thousandths in percent.
#[askama::filter_fn]
pub(crate) fn share(share: &i64, _: &dyn Values) -> Result<String> {
    Ok(show::percent(*share))
}

/// The day of a time as reports write it.
#[askama::filter_fn]
pub(crate) fn day<T: AsRef<str>>(time: T, _: &dyn Values) -> Result<String> {
    Ok(time.as_ref().chars().take(10).collect())
}

/// A text as a value in an address.
#[askama::filter_fn]
pub(crate) fn query<T: AsRef<str>>(text: T, _: &dyn Values) -> Result<String> {
    Ok(form_urlencoded::byte_serialize(text.as_ref().as_bytes()).collect())
}

/// The beginning of an id.
#[askama::filter_fn]
pub(crate) fn short<T: AsRef<str>>(id: T, _: &dyn Values) -> Result<String> {
    Ok(id.as_ref().chars().take(8).collect())
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
