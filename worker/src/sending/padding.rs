//! Zeros that make the size of a message a multiple of 64 KiB, so that it tells less of the documents.

use cognate_proto::limits::PADDED_BYTES;
use cognate_proto::v1::PushRequest;
use prost::Message as _;
use prost::bytes::Bytes;

/// What a message may be filled up with.
static ZEROS: [u8; 2 * PADDED_BYTES] = [0; 2 * PADDED_BYTES];

/// Fills a message up.
pub(super) fn pad(request: &mut PushRequest) {
    request.padding = Bytes::new();
    let least = request.encoded_len().next_multiple_of(PADDED_BYTES).saturating_sub(request.encoded_len());
    // The number of the zeros is part of the message, and takes one to three bytes itself: some sizes cannot be reached.
    let fits = |zeros: usize| {
        let tried = PushRequest { padding: Bytes::from_static(&ZEROS[..zeros]), message: None };
        (request.encoded_len() + tried.encoded_len()).is_multiple_of(PADDED_BYTES)
    };
    let near = |end: usize| (0..=4).map(move |less| end.saturating_sub(less));
    let zeros = near(least).chain(near(least + PADDED_BYTES)).find(|zeros| fits(*zeros));
    request.padding = Bytes::from_static(&ZEROS[..zeros.unwrap_or_default()]);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cognate_proto::v1::Batch;
    use cognate_proto::v1::push_request::Message;

    use super::*;

    #[test]
    fn messages_of_any_size_have_a_few_sizes_when_they_are_padded() {
        let mut sizes = BTreeSet::new();
        // Every size near a border, and some between.
        let borders = [0, 1, 2, 3].map(|times| times * PADDED_BYTES);
        let near = borders.into_iter().flat_map(|border| border.saturating_sub(300)..border + 300);
        for body_bytes in near.chain((0..4 * PADDED_BYTES).step_by(997)) {
            let body = Bytes::from(vec![7; body_bytes]);
            let batch = Batch { sequence: 1, digest: vec![1; 16], body };
            let mut request = PushRequest { message: Some(Message::Batch(batch)), ..PushRequest::default() };
            let before = request.encoded_len();
            pad(&mut request);
            let after = request.encoded_len();
            // The next multiple, but where no number of zeros and its own bytes come to the difference.
            let next = before.next_multiple_of(PADDED_BYTES);
            let is_out_of_reach = [1, 2, 130, 16_387].contains(&(next - before));
            assert_eq!(after, next + if is_out_of_reach { PADDED_BYTES } else { 0 }, "{body_bytes} bytes");
            assert!(request.padding.iter().all(|byte| *byte == 0));
            sizes.insert(after);
        }
        assert_eq!(Vec::from_iter(sizes), [1, 2, 3, 4].map(|times| times * PADDED_BYTES));
    }
}
