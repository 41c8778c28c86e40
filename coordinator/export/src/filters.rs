//! The filters of templates: `{{ path|name }}`, `{{ bytes|size }}`, `{{ started|when(page.now) }}`.

#![expect(missing_docs, reason = "the macro of askama makes items without docs of each documented function")]

use askama::filters::Safe;
use askama::{Result, Values};

use crate::{human, show};

/// A name from outside.
#[askama::filter_fn]
pub fn name<T: AsRef<str>>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(show::name(text.as_ref())))
}

/// A name from outside within an attribute, or as a title: characters that act on the text around them are made visible.
#[askama::filter_fn]
pub fn label<T: AsRef<str>>(text: T, _: &dyn Values) -> Result<String> {
    Ok(cognate_proto::shown::harmless(text.as_ref()).into_owned())
}

/// A sentence with names from outside in it.
#[askama::filter_fn]
pub fn sentence<T: AsRef<str>>(text: T, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(show::sentence(text.as_ref())))
}

/// A size, exact in the tooltip.
#[askama::filter_fn]
pub fn size(bytes: &u64, _: &dyn Values) -> Result<Safe<String>> {
    let exact = human::count(*bytes);
    Ok(Safe(format!("<data value=\"{bytes}\" title=\"{exact} bytes\">{}</data>", human::bytes(*bytes))))
}

/// A number with its thousands apart.
#[askama::filter_fn]
pub fn number<T: std::borrow::Borrow<u64>>(number: T, _: &dyn Values) -> Result<String> {
    Ok(human::count(*number.borrow()))
}

/// A share in percent; an unknown one is a dash.
#[askama::filter_fn]
pub fn percent(share: &Option<cognate_result::report::Ratio>, _: &dyn Values) -> Result<String> {
    Ok(share.map_or_else(|| "–".to_owned(), |share| human::share(share.0)))
}

/// Ten-thousandths in percent.
#[askama::filter_fn]
pub fn share(share: &i64, _: &dyn Values) -> Result<String> {
    Ok(human::share(*share))
}

/// The day of a time as reports write it.
#[askama::filter_fn]
pub fn day<T: AsRef<str>>(time: T, _: &dyn Values) -> Result<String> {
    Ok(time.as_ref().chars().take(10).collect())
}

/// A text as a value in an address.
#[askama::filter_fn]
pub fn query<T: AsRef<str>>(text: T, _: &dyn Values) -> Result<String> {
    Ok(form_urlencoded::byte_serialize(text.as_ref().as_bytes()).collect())
}

/// The beginning of an id.
#[askama::filter_fn]
pub fn short<T: AsRef<str>>(id: T, _: &dyn Values) -> Result<String> {
    Ok(id.as_ref().chars().take(8).collect())
}

/// A duration in seconds.
#[askama::filter_fn]
pub fn duration(seconds: &u64, _: &dyn Values) -> Result<String> {
    Ok(human::duration(*seconds))
}

/// A moment by its distance from now, exact in the tooltip; 0: never.
#[askama::filter_fn]
pub fn when(time: &i64, _: &dyn Values, now: &i64) -> Result<Safe<String>> {
    Ok(Safe(match *time {
        0 => "never".to_owned(),
        time => format!(
            "<time datetime=\"{}\" title=\"{}\">{}</time>",
            human::stamp(time),
            human::moment(time),
            human::ago(time, *now)
        ),
    }))
}

/// A moment to the second; 0: nothing.
#[askama::filter_fn]
pub fn moment(time: &i64, _: &dyn Values) -> Result<Safe<String>> {
    Ok(Safe(match *time {
        0 => String::new(),
        time => format!("<time datetime=\"{}\">{}</time>", human::stamp(time), human::moment(time)),
    }))
}
