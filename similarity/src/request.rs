//! The findings that a caller asks of an analysis.

use crate::error::Error;
use crate::link::Link;

/// Callback that receives links, some thousand at a time.
pub type LinkSink<'a> = dyn Fn(&[Link]) -> Result<(), Error> + Sync + 'a;

/// The findings that a caller asks for, next to the overlap.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) sink: Option<&'a LinkSink<'a>>,
    pub(crate) clusters: bool,
    /// If given, only links of which one end at least is marked.
    pub(crate) changed: Option<&'a [bool]>,
}
