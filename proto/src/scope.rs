//! Scopes: the contents of a repository that a refinement chose, by their digests under an earlier method.
//!
//! The digest over it names the index that the refinement makes, so that an index of some documents is never taken for
//! one of all. A received scope is checked piece by piece: no more than was announced, ascending, and at the end equal
//! to the digest.

use std::fmt;

use cognate_fingerprint::{ContentDigest, MethodId};

use crate::limits::{SCOPE_CONTENTS_MAX, SCOPE_PIECE_CONTENTS};
use crate::v1;

/// The digest over a method and contents under it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeId(pub [u8; 16]);

/// Contents that were sent under a method, ascending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    id: ScopeId,
    of: MethodId,
    contents: Vec<ContentDigest>,
}

/// A scope as an assignment announces it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScopeAnnouncement {
    /// The digest over it.
    pub id: ScopeId,
    /// The method under which the contents were sent.
    pub of: MethodId,
    contents: usize,
}

/// A scope of which some pieces have been received.
#[derive(Debug)]
pub struct ScopeReceiver {
    announced: ScopeAnnouncement,
    contents: Vec<ContentDigest>,
}

/// The error of a received scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScopeError {
    /// A digest has another length.
    #[error("a digest of a refinement has another length than 16 bytes")]
    Length,
    /// There are more contents than a refinement may choose.
    #[error("a refinement of more than {SCOPE_CONTENTS_MAX} contents")]
    TooMany,
    /// A piece is empty or longer than one may be.
    #[error("a piece of a refinement that is empty or too long")]
    Piece,
    /// There are more contents, or fewer, than were announced.
    #[error("a refinement of another number of contents than was announced")]
    Count,
    /// A content does not come after the one before it.
    #[error("contents of a refinement that are out of order")]
    Order,
    /// The contents have another digest.
    #[error("contents of a refinement that have another digest")]
    Digest,
}

impl ScopeId {
    /// Reads the 16 bytes of a scope's digest.
    ///
    /// # Errors
    /// If there are more or fewer.
    pub fn from_bytes(bytes: &[u8]) -> Result<ScopeId, ScopeError> {
        bytes.try_into().map(ScopeId).map_err(|_| ScopeError::Length)
    }

    /// As [`from_bytes`](ScopeId::from_bytes), where no bytes mean that there is no scope.
    ///
    /// # Errors
    /// If there are other than 16 bytes or none.
    pub fn from_field(bytes: &[u8]) -> Result<Option<ScopeId>, ScopeError> {
        if bytes.is_empty() { Ok(None) } else { ScopeId::from_bytes(bytes).map(Some) }
    }
}

impl fmt::Display for ScopeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ScopeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScopeId({self})")
    }
}

impl Scope {
    /// The scope of these contents, in any order, with repetitions.
    ///
    /// # Errors
    /// If there are too many.
    pub fn new(of: MethodId, mut contents: Vec<ContentDigest>) -> Result<Scope, ScopeError> {
        contents.sort_unstable();
        contents.dedup();
        if contents.len() > SCOPE_CONTENTS_MAX {
            return Err(ScopeError::TooMany);
        }
        Ok(Scope { id: digest(of, &contents), of, contents })
    }

    /// The digest over it.
    pub fn id(&self) -> ScopeId {
        self.id
    }

    /// The method under which the contents were sent.
    pub fn of(&self) -> MethodId {
        self.of
    }

    /// The contents, ascending.
    pub fn contents(&self) -> &[ContentDigest] {
        &self.contents
    }

    /// True if a content is in the scope.
    pub fn holds(&self, content: &ContentDigest) -> bool {
        self.contents.binary_search(content).is_ok()
    }

    /// The announcement of the scope in an assignment.
    pub fn announcement(&self) -> v1::Refinement {
        v1::Refinement {
            of_method_id: self.of.0.to_vec(),
            scope: self.id.0.to_vec(),
            contents: self.contents.len() as u64,
        }
    }

    /// The pieces in which it is sent.
    pub fn pieces(&self) -> impl Iterator<Item = v1::ScopeResponse> + '_ {
        let piece = |contents: &[ContentDigest]| contents.iter().flat_map(|content| content.0).collect();
        self.contents.chunks(SCOPE_PIECE_CONTENTS).map(move |contents| v1::ScopeResponse { contents: piece(contents) })
    }
}

impl ScopeAnnouncement {
    /// Checks the announcement of an assignment.
    ///
    /// # Errors
    /// If a digest has another length, or there are too many contents.
    pub fn check(refinement: &v1::Refinement) -> Result<ScopeAnnouncement, ScopeError> {
        let of = refinement.of_method_id.as_slice().try_into().map(MethodId).map_err(|_| ScopeError::Length)?;
        let contents = usize::try_from(refinement.contents).ok().filter(|contents| *contents <= SCOPE_CONTENTS_MAX);
        Ok(ScopeAnnouncement {
            id: ScopeId::from_bytes(&refinement.scope)?,
            of,
            contents: contents.ok_or(ScopeError::TooMany)?,
        })
    }

    /// Begins to receive its contents.
    pub fn receiver(self) -> ScopeReceiver {
        ScopeReceiver { announced: self, contents: Vec::new() }
    }
}

impl ScopeReceiver {
    /// Adds a piece. Memory grows with the bytes received, never with the announced number.
    ///
    /// # Errors
    /// If the piece cannot come next.
    pub fn take(&mut self, piece: &v1::ScopeResponse) -> Result<(), ScopeError> {
        let (contents, rest) = piece.contents.as_chunks::<16>();
        if contents.is_empty() || !rest.is_empty() || contents.len() > SCOPE_PIECE_CONTENTS {
            return Err(ScopeError::Piece);
        }
        if self.contents.len() + contents.len() > self.announced.contents {
            return Err(ScopeError::Count);
        }
        for content in contents {
            let content = ContentDigest(*content);
            if self.contents.last().is_some_and(|last| *last >= content) {
                return Err(ScopeError::Order);
            }
            self.contents.push(content);
        }
        Ok(())
    }

    /// The scope, after its last piece.
    ///
    /// # Errors
    /// If it differs from the announcement.
    pub fn finish(self) -> Result<Scope, ScopeError> {
        let ScopeAnnouncement { id, of, contents } = self.announced;
        if self.contents.len() != contents {
            return Err(ScopeError::Count);
        }
        if digest(of, &self.contents) != id {
            return Err(ScopeError::Digest);
        }
        Ok(Scope { id, of, contents: self.contents })
    }
}

fn digest(of: MethodId, contents: &[ContentDigest]) -> ScopeId {
    let mut hasher = blake3::Hasher::new_derive_key("cognate scope v1");
    hasher.update(&of.0);
    for content in contents {
        hasher.update(&content.0);
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    ScopeId(id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OF: MethodId = MethodId([7; 16]);

    fn content(number: u32) -> ContentDigest {
        let mut digest = [0; 16];
        digest[..4].copy_from_slice(&number.to_be_bytes());
        ContentDigest(digest)
    }

    fn scope(contents: u32) -> Scope {
        Scope::new(OF, (0..contents).rev().chain(0..1).map(content).collect()).unwrap()
    }

    fn receive(announced: &v1::Refinement, pieces: &[v1::ScopeResponse]) -> Result<Scope, ScopeError> {
        let mut receiver = ScopeAnnouncement::check(announced)?.receiver();
        pieces.iter().try_for_each(|piece| receiver.take(piece))?;
        receiver.finish()
    }

    #[test]
    fn a_scope_arrives_as_it_was_sent_in_any_number_of_pieces() {
        let piece = u32::try_from(SCOPE_PIECE_CONTENTS).unwrap();
        for (contents, pieces) in [(1, 1), (piece, 1), (piece + 1, 2), (3 * piece, 3)] {
            let sent = scope(contents);
            let in_pieces: Vec<_> = sent.pieces().collect();
            assert_eq!(in_pieces.len(), pieces);
            let arrived = receive(&sent.announcement(), &in_pieces).unwrap();
            assert_eq!(arrived, sent);
            assert!(arrived.holds(&content(contents - 1)) && !arrived.holds(&content(contents)));
        }
        let none = Scope::new(OF, vec![]).unwrap();
        assert_eq!(receive(&none.announcement(), &[]).unwrap(), none);
    }

    #[test]
    fn the_digest_depends_on_the_contents_and_their_method() {
        let other = Scope::new(MethodId([8; 16]), scope(3).contents().to_vec()).unwrap();
        assert_ne!(other.id(), scope(3).id());
        assert_ne!(scope(4).id(), scope(3).id());
        assert_eq!(ScopeId::from_field(&scope(3).id().0), Ok(Some(scope(3).id())));
        assert_eq!((ScopeId::from_field(&[]), ScopeId::from_field(&[1])), (Ok(None), Err(ScopeError::Length)));
    }

    #[test]
    fn a_scope_that_differs_from_its_announcement_is_refused_with_the_reason() {
        let announced = scope(3).announcement();
        let pieces: Vec<_> = scope(3).pieces().collect();
        let piece = |bytes: &[u8]| v1::ScopeResponse { contents: bytes.to_vec() };
        let bytes = &pieces[0].contents;
        let check = |announced: &v1::Refinement, pieces: &[v1::ScopeResponse], error| {
            assert_eq!(receive(announced, pieces).unwrap_err(), error);
        };
        check(&announced, &[], ScopeError::Count);
        check(&announced, &[piece(&bytes[..32])], ScopeError::Count);
        check(&announced, &[piece(bytes), piece(bytes)], ScopeError::Count);
        check(&announced, &[piece(&bytes[..17])], ScopeError::Piece);
        check(&announced, &[piece(&[])], ScopeError::Piece);
        check(&announced, &[piece(&vec![0; 16 * (SCOPE_PIECE_CONTENTS + 1)])], ScopeError::Piece);
        check(&announced, &[piece(&[&bytes[16..], &bytes[..16]].concat())], ScopeError::Order);
        check(&announced, &[piece(&bytes[..16]), piece(&bytes[..32])], ScopeError::Order);
        check(&announced, &[piece(&[&bytes[..32], &[255; 16][..]].concat())], ScopeError::Digest);
        let long = v1::Refinement { contents: SCOPE_CONTENTS_MAX as u64 + 1, ..announced.clone() };
        check(&long, &pieces, ScopeError::TooMany);
        check(&v1::Refinement { scope: vec![0; 15], ..announced.clone() }, &pieces, ScopeError::Length);
        check(&v1::Refinement { of_method_id: vec![], ..announced }, &pieces, ScopeError::Length);
    }

    #[test]
    fn the_error_of_a_piece_is_that_of_its_first_mistake_and_takes_nothing_beyond_the_announcement() {
        let mut receiver = ScopeAnnouncement::check(&scope(2).announcement()).unwrap().receiver();
        let three = scope(3).pieces().next().unwrap();
        assert_eq!(receiver.take(&three), Err(ScopeError::Count));
        assert!(receiver.contents.is_empty());
        let most = v1::Refinement { contents: SCOPE_CONTENTS_MAX as u64, ..scope(2).announcement() };
        assert_eq!(ScopeAnnouncement::check(&most).unwrap().receiver().contents.capacity(), 0);
    }

    proptest! {
        #[test]
        fn only_the_announced_scope_arrives(
            sent in prop::collection::btree_set(0..9_u32, 0..6),
            arriving in prop::collection::vec(0..9_u32, 0..6),
            piece in 1..4_usize,
        ) {
            let announced = Scope::new(OF, sent.iter().copied().map(content).collect()).unwrap();
            let bytes = |numbers: &[u32]| numbers.iter().flat_map(|number| content(*number).0).collect();
            let pieces: Vec<_> =
                arriving.chunks(piece).map(|numbers| v1::ScopeResponse { contents: bytes(numbers) }).collect();
            let arrived = receive(&announced.announcement(), &pieces);
            prop_assert_eq!(arrived.is_ok(), arriving.iter().eq(&sent), "{:?}", &arrived);
            if let Ok(arrived) = arrived {
                prop_assert_eq!(arrived, announced);
            }
        }
    }
}
