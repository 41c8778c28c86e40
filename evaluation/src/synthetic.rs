//! Generates documents from a seed, for experiments without a corpus: prose of an invented language, in versions and copies.

use crate::document::Document;
use crate::rng::Rng;
use crate::statistics::truncated;

const VOCABULARY: usize = 6000;
const HEAD: &str = "<html><head><title>Support document</title></head><body class=\"page\">\n\
                    <div class=\"head\">Technical support knowledge base, all rights reserved</div>\n";

/// Generates documents.
pub(crate) struct Generator {
    rng: Rng,
    words: Vec<String>,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        let mut rng = Rng::of(seed, 1);
        let words = (0..VOCABULARY).map(|_| word(&mut rng)).collect();
        Generator { rng, words }
    }

    /// A random word. The first of the list are by far the most frequent, as in any language (Zipf's law).
    pub(crate) fn word(&mut self) -> &str {
        let rank = truncated((VOCABULARY as f64).powf(self.rng.unit())) - 1;
        &self.words[rank.min(VOCABULARY - 1)]
    }

    /// A paragraph with this number of words.
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

    /// A collection in which one document in sixteen is a copy of an earlier one, and one in six a new version of one.
    pub(crate) fn collection(&mut self, count: usize, mean_bytes: usize) -> Vec<Document> {
        let mut documents: Vec<Vec<String>> = Vec::with_capacity(count);
        for number in 0..count {
            let paragraphs = match self.rng.below(48) {
                0..3 if number > 0 => documents[self.rng.below(number)].clone(),
                3..11 if number > 0 => self.version(number, &documents),
                _ => self.fresh(mean_bytes),
            };
            documents.push(paragraphs);
        }
        let document = |(number, paragraphs): (usize, Vec<String>)| Document {
            path: format!("folder-{:02}/document-{number:05}.html", number % 40),
            bytes: format!("{HEAD}<p>{}</p>\n</body></html>\n", paragraphs.join("</p>\n<p>")).into_bytes(),
        };
        documents.into_iter().enumerate().map(document).collect()
    }

    fn fresh(&mut self, mean_bytes: usize) -> Vec<String> {
        // Few documents are long: the logarithm of the length is uniform.
        let bytes = mean_bytes as f64 * 0.25 * 16_f64.powf(self.rng.unit());
        let count = truncated((bytes / 500.0).ceil());
        (0..count)
            .map(|_| {
                let words = 40 + self.rng.below(80);
                self.paragraph(words)
            })
            .collect()
    }

    fn version(&mut self, number: usize, documents: &[Vec<String>]) -> Vec<String> {
        let mut paragraphs = documents[self.rng.below(number)].clone();
        for _ in 0..=self.rng.below(4) {
            let at = self.rng.below(paragraphs.len());
            match self.rng.below(3) {
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

fn word(rng: &mut Rng) -> String {
    let syllables = 1 + rng.below(4);
    let mut word = String::new();
    for _ in 0..syllables {
        word.push(char::from(b"bcdfghlmnprstvw"[rng.below(15)]));
        word.push(char::from(b"aeiou"[rng.below(5)]));
        if rng.below(3) == 0 {
            word.push(char::from(b"lnrst"[rng.below(5)]));
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_the_same_for_the_same_seed_and_has_copies() {
        let make = |seed| Generator::new(seed).collection(200, 2000);
        let documents = make(7);
        assert_eq!(documents, make(7));
        assert_ne!(documents, make(8));
        let mut contents: Vec<&[u8]> = documents.iter().map(|document| document.bytes.as_slice()).collect();
        contents.sort_unstable();
        contents.dedup();
        assert!((100..200).contains(&contents.len()), "{}", contents.len());
    }

    #[test]
    fn a_paragraph_has_its_words_and_the_first_of_the_vocabulary_are_the_most_frequent() {
        let mut generator = Generator::new(2);
        for words in [0, 1, 12, 13, 500] {
            assert_eq!(generator.paragraph(words).split_whitespace().count(), words);
        }
        let frequent: Vec<String> = generator.words[..10].to_vec();
        let count = (0..5000).filter(|_| frequent.contains(&generator.word().to_owned())).count();
        // By Zipf's law the share of the first ten of 6000 is about ln 11 / ln 6000.
        assert!((1100..1800).contains(&count), "{count}");
    }

    #[test]
    fn documents_are_pages_of_about_the_mean_size() {
        for mean in [2000, 12_000] {
            let documents = Generator::new(3).collection(300, mean);
            let bytes: usize = documents.iter().map(|document| document.bytes.len()).sum();
            assert!((mean / 2..mean * 3).contains(&(bytes / 300)), "{mean} {}", bytes / 300);
            assert!(documents.iter().all(|document| document.bytes.starts_with(b"<html>")));
            let mut paths: Vec<&String> = documents.iter().map(|document| &document.path).collect();
            paths.dedup();
            assert_eq!(paths.len(), 300);
        }
    }
}
