//! Numbers that contents have, those of a content next to each other.

/// Numbers by contents.
pub(super) struct ByContent {
    numbers: Vec<u32>,
    /// For each content, the start of its numbers; at the end, the count of all numbers.
    starts: Vec<usize>,
}

impl ByContent {
    /// Takes pairs of a content and a number, in any order. Contents are below `content_count`.
    pub(super) fn of(mut pairs: Vec<(u32, u32)>, content_count: usize) -> ByContent {
        pairs.sort_unstable();
        let mut starts = Vec::with_capacity(content_count + 1);
        for (place, (content, _)) in pairs.iter().enumerate() {
            starts.resize((*content as usize + 1).max(starts.len()), place);
        }
        starts.resize(content_count + 1, pairs.len());
        ByContent { numbers: pairs.into_iter().map(|(_, number)| number).collect(), starts }
    }

    /// The numbers of a content, ascending.
    pub(super) fn numbers(&self, content: u32) -> &[u32] {
        &self.numbers[self.starts[content as usize]..self.starts[content as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_content_has_its_numbers_in_order() {
        let found = ByContent::of(vec![(4, 7), (1, 9), (4, 2), (1, 3)], 6);
        let numbers: Vec<&[u32]> = (0..6).map(|content| found.numbers(content)).collect();
        assert_eq!(numbers, [&[][..], &[3, 9], &[], &[], &[2, 7], &[]]);
        assert!(ByContent::of(Vec::new(), 1).numbers(0).is_empty());
    }
}
