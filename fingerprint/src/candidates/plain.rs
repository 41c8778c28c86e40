//! Candidates place by place.

use super::{Bits, Run, WORD_PLACES};
use crate::tttd::Tttd;
use crate::window_sample::{OpenSample, WindowSampler, has_level};

/// Sets the bits of the run's candidates, and offers its windows to the sample.
pub(super) fn find(tttd: &Tttd, run: Run<'_>, bits: Bits<'_>, sample: Option<(&WindowSampler, &mut OpenSample)>) {
    match sample {
        None => follow(tttd, run, bits, |_, _| ()),
        Some((sampler, sample)) => {
            let lacking = sample.lacking();
            follow(tttd, run, bits, |fingerprint, place| {
                if has_level(fingerprint) && place >= run.from + lacking {
                    sampler.offer(sample, fingerprint, run.data, place);
                }
            });
            sample.add(run.data.len() - run.from);
        }
    }
}

/// Calls `each` with the fingerprint of each place.
#[inline(always)]
fn follow(tttd: &Tttd, run: Run<'_>, bits: Bits<'_>, mut each: impl FnMut(u64, usize)) {
    let (table, bound_main, bound_backup) = (tttd.table(), tttd.bound_main(), tttd.bound_backup());
    let mut fingerprint = tttd.before(run.data, run.from);
    let words = run.data[run.from..].chunks(WORD_PLACES).zip((run.from..).step_by(WORD_PLACES));
    for (((bytes, first), main), backup) in words.zip(bits.main).zip(bits.backup) {
        let (mut below_main, mut below_backup) = (0_u64, 0_u64);
        for (step, byte) in bytes.iter().enumerate() {
            fingerprint = (fingerprint << 1).wrapping_add(table[usize::from(*byte)]);
            // The bound of D' is never the lower one, so one rare test guards both.
            if fingerprint < bound_backup {
                let bit = 1 << (WORD_PLACES - 1 - step);
                below_backup |= bit;
                if fingerprint < bound_main {
                    below_main |= bit;
                }
            }
            each(fingerprint, first + step);
        }
        (*main, *backup) = (below_main, below_backup);
    }
}
