//! Links as they are without the frames that a scan finds.

use cognate_similarity::Link;

/// A link of which a frame is part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OutsideLink {
    /// The contents: the smaller number first.
    pub(crate) a: u32,
    pub(crate) b: u32,
    /// Bytes that they share outside of frames.
    pub(crate) shared_bytes: u64,
    /// Bytes of each outside of frames.
    pub(crate) own_bytes: [u64; 2],
    /// True if they would not be linked by these, of their sizes outside of frames.
    pub(crate) rests_on_frame: bool,
}

/// The link of two contents among others that ascend, if a frame is part of it.
pub(crate) fn outside_of(links: &[OutsideLink], a: u32, b: u32) -> Option<&OutsideLink> {
    let pair = (a.min(b), a.max(b));
    links.binary_search_by_key(&pair, |link| (link.a, link.b)).ok().map(|place| &links[place])
}

/// True if a link rests on a frame: its contents share standard text, and nothing else that counts.
pub(crate) fn rests_on_frame(links: &[OutsideLink], link: &Link) -> bool {
    outside_of(links, link.a.0, link.b.0).is_some_and(|link| link.rests_on_frame)
}
