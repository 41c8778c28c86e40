//! Documents made from a seed, for experiments without a corpus: prose of a made-up language, in versions and copies.

use crate::corpus::Document;
use crate::dice::Dice;
use crate::statistics::whole;

const VOCABULARY: usize = 6000;
const HEAD: &str = "<html><head><title>Support document</title></head><body class=\"page\">\n\
                    <div class=\"head\">Technical support knowledge base, all rights reserved</div>\n";

/// Makes documents.
pub(crate) struct Synthetic {
    dice: Dice,
    words: Vec<String>,
}

impl Synthetic {
    pub(crate) fn new(seed: u64) -> Synthetic {
        let mut dice = Dice::of(seed, 1);
        let words = (0..VOCABULARY).map(|_| word(&mut dice)).collect();
        Synthetic { dice, words }
    }

    /// A word: the first of the list are by far the most frequent, as in any language (Zipf's law).
    pub(crate) fn word(&mut self) -> &str {
        let rank = whole((VOCABULARY as f64).powf(self.dice.unit())) - 1;
        &self.words[rank.min(VOCABULARY - 1)]
    }

    /// A paragraph of so many words.
    pub(crate) fn paragraph(&mut self, words: usize) -> String {
        let mut paragraph = String::with_capacity(6 * words);
        for number in 0..words {
            if number > 0 {
                paragraph.push(if number % 12 == 0 { '\n' } else { ' ' });
            }
            paragraph.push_str(self.word());
        }
        paragraph
    }

    /// A collection: one document in sixteen is a copy of an earlier one, one in six a new version of one.
    pub(crate) fn collection(&mut self, count: usize, mean_bytes: usize) -> Vec<Document> {
        let mut made: Vec<Vec<String>> = Vec::with_capacity(count);
        for number in 0..count {
            let paragraphs = match self.dice.below(48) {
                0..3 if number > 0 => made[self.dice.below(number)].clone(),
                3..11 if number > 0 => self.version(number, &made),
                _ => self.fresh(mean_bytes),
            };
            made.push(paragraphs);
        }
        let document = |(number, paragraphs): (usize, Vec<String>)| Document {
            path: format!("folder-{:02}/document-{number:05}.html", number % 40),
            bytes: format!("{HEAD}<p>{}</p>\n</body></html>\n", paragraphs.join("</p>\n<p>")).into_bytes(),
        };
        made.into_iter().enumerate().map(document).collect()
    }

    fn fresh(&mut self, mean_bytes: usize) -> Vec<String> {
        // Few are long: the length is spread evenly over its logarithm.
        let bytes = mean_bytes as f64 * 0.25 * 16_f64.powf(self.dice.unit());
        let count = whole((bytes / 500.0).ceil());
        (0..count)
            .map(|_| {
                let words = 40 + self.dice.below(80);
                self.paragraph(words)
            })
            .collect()
    }

    fn version(&mut self, number: usize, made: &[Vec<String>]) -> Vec<String> {
        let mut paragraphs = made[self.dice.below(number)].clone();
        for _ in 0..=self.dice.below(4) {
            let at = self.dice.below(paragraphs.len());
            match self.dice.below(3) {
                0 if paragraphs.len() > 1 => {
                    paragraphs.remove(at);
                }
                1 => {
                    let new = self.paragraph(60);
                    paragraphs.insert(at, new);
                }
                _ => {
                    let new = self.word().to_owned();
                    paragraphs[at] = paragraphs[at].replacen(' ', &format!(" {new} "), 1);
                }
            }
        }
        paragraphs
    }
}

fn word(dice: &mut Dice) -> String {
    let syllables = 1 + dice.below(4);
    let mut word = String::new();
    for _ in 0..syllables {
        word.push(char::from(b"bcdfghlmnprstvw"[dice.below(15)]));
        word.push(char::from(b"aeiou"[dice.below(5)]));
        if dice.below(3) == 0 {
            word.push(char::from(b"lnrst"[dice.below(5)]));
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_the_same_for_the_same_seed_and_has_copies() {
        let make = |seed| Synthetic::new(seed).collection(200, 2000);
        let documents = make(7);
        assert_eq!(documents, make(7));
        assert_ne!(documents, make(8));
        let mut contents: Vec<&[u8]> = documents.iter().map(|document| document.bytes.as_slice()).collect();
        contents.sort_unstable();
        contents.dedup();
        assert!((100..200).contains(&contents.len()), "{}", contents.len());
    }
}
