//! Numbers that look random and are the same for the same seed, everywhere and always.

pub use cognate_fuzzing::Dice;

/// The seed of a test: its own, moved on by `COGNATE_TEST_SEED` where that is set, to look further than every day.
pub fn seed(own: u64) -> u64 {
    let moved = std::env::var("COGNATE_TEST_SEED").ok().map_or(0, |text| text.parse().expect("a seed is a number"));
    own.wrapping_add(1000_u64.wrapping_mul(moved))
}

/// Lower-case letters, of which no two seeds share a longer run.
pub fn letters(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'a' + u8::try_from(state % 26).unwrap()
    };
    (0..bytes).map(|_| next()).collect()
}

/// Lines of hexadecimal words, of at least so many bytes, that no other text has.
pub fn text(dice: &mut Dice, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        let words: Vec<String> = (0..10).map(|_| format!("{:x}", dice.below(1 << 24))).collect();
        text.push_str(&format!("{}\n", words.join(" ")));
    }
    text
}
