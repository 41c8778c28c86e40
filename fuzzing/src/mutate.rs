//! Mutations of bytes: small damage, numbers at their limits, and pieces of other inputs.

use crate::dice::Dice;

/// Values at which readers go wrong.
const NUMBERS: [u64; 12] =
    [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX / 2, u64::MAX];
/// Mutations of one input at most.
const STEPS_MAX: usize = 5;

/// Makes inputs from others. The same seed makes the same ones.
pub(crate) struct Mutator(Dice);

impl Mutator {
    pub(crate) fn new(seed: u64) -> Mutator {
        Mutator(Dice::new(seed))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }

    fn byte(&mut self) -> u8 {
        self.0.roll().to_le_bytes()[0]
    }

    /// A mutation of one of the inputs. Later ones, which led to something new, come more often.
    pub(crate) fn mutated(&mut self, pool: &[Vec<u8>]) -> Vec<u8> {
        let one = self.below(pool.len()).max(self.below(pool.len()));
        let mut input = pool[one].clone();
        for _ in 0..=self.below(STEPS_MAX) {
            self.step(&mut input, pool);
        }
        input
    }

    fn step(&mut self, input: &mut Vec<u8>, pool: &[Vec<u8>]) {
        let at = self.below(input.len());
        let length = 1 + self.below((input.len() - at).min(64));
        match self.below(9) {
            _ if input.is_empty() => input.push(self.byte()),
            0 => input[at] ^= 1 << self.below(8),
            1 => input[at] = self.byte(),
            2 => self.put_number(input, at),
            3 => drop(input.drain(at..(at + length).min(input.len()))),
            4 => {
                let piece = input[at..(at + length).min(input.len())].to_vec();
                let to = self.below(input.len());
                input.splice(to..to, piece);
            }
            5 => input.truncate(at),
            6 => {
                let other = &pool[self.below(pool.len())];
                let from = self.below(other.len());
                let piece = other[from..].iter().copied().take(length * 4).collect::<Vec<u8>>();
                let end = (at + if self.below(2) == 0 { piece.len() } else { 0 }).min(input.len());
                input.splice(at..end, piece);
            }
            7 => {
                let byte = self.byte();
                input.splice(at..at, std::iter::repeat_n(byte, length));
            }
            _ => {
                // The number of a length or a place is near to what it was.
                input[at] = input[at].wrapping_add(1 + self.byte() % 4).wrapping_sub(2);
            }
        }
    }

    fn put_number(&mut self, input: &mut [u8], at: usize) {
        let number = NUMBERS[self.below(NUMBERS.len())];
        let width = [1, 2, 4, 8][self.below(4)].min(input.len() - at);
        let bytes = if self.below(2) == 0 { number.to_le_bytes() } else { (number << (64 - 8 * width)).to_be_bytes() };
        input[at..at + width].copy_from_slice(&bytes[..width]);
    }
}
