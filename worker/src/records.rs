//! Floor 1: what this site writes to its own disk. Only the ledger ([`crate::ledger`]) is a record that must last;
//! everything here saves work and may be deleted.
//!
//! - [`stamp`], [`file_hashes`]: values that are remembered of a file.
//! - [`lists`]: the chunks of every content, so that nothing is read again only because it must be sent again.
//! - [`texts`]: extracted text, under a [`text_key::TextKey`].
//! - [`cache`]: what is remembered of every document, and the places of its lists and texts.
//! - [`sent_state`]: what was sent of every index.
//! - [`answers`]: how many answers about contents a coordinator has had today.
//! - [`compaction`]: removes lists that the cache does not refer to.
//! - [`store`]: all of the above, open.

pub(crate) mod answers;
pub(crate) mod cache;
pub(crate) mod compaction;
pub(crate) mod file_hashes;
pub(crate) mod lists;
mod numbered;
pub(crate) mod sent_state;
pub(crate) mod stamp;
pub(crate) mod store;
pub(crate) mod text_key;
pub(crate) mod texts;
