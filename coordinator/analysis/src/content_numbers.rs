//! Numbers of some contents: their places among each other, in little memory.

/// Some contents, and the place of each among them: a bit for each content up to the last, and the number of bits before each word.
pub(crate) struct ContentNumbers {
    /// Ascending.
    pub(crate) all: Vec<u32>,
    words: Vec<u64>,
    before: Vec<u32>,
}

impl ContentNumbers {
    /// The contents ascend.
    pub(crate) fn of(all: Vec<u32>) -> ContentNumbers {
        let mut words = vec![0_u64; all.last().map_or(0, |last| *last as usize / 64 + 1)];
        for content in &all {
            words[*content as usize / 64] |= 1 << (content % 64);
        }
        let mut before = Vec::with_capacity(words.len());
        words.iter().fold(0, |count, word| {
            before.push(count);
            count + word.count_ones()
        });
        ContentNumbers { all, words, before }
    }

    pub(crate) fn place(&self, content: u32) -> Option<usize> {
        let word = self.words.get(content as usize / 64)?;
        let bit = 1 << (content % 64);
        let place = || (self.before[content as usize / 64] + (word & (bit - 1)).count_ones()) as usize;
        (word & bit != 0).then(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_content_is_its_place_in_the_list_and_others_have_none() {
        for step in [1, 2, 63, 64, 65, 1000] {
            let contents: Vec<u32> = (3..5000).step_by(step).collect();
            let numbered = ContentNumbers::of(contents.clone());
            for content in 0..5200 {
                assert_eq!(numbered.place(content), contents.binary_search(&content).ok(), "{content}, every {step}th");
            }
        }
        assert_eq!(ContentNumbers::of(Vec::new()).place(0), None);
    }
}
