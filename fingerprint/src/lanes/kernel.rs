//! The steps of all lanes, written once for every kind of register.
//!
//! A macro, because a function for one set of instructions inlines only functions for the same set. The module that uses it has
//! `LANES`; `Words`, a register of as many words; `splat`, `load` and `store`; `add`, `xor`, and `rotate` to the right; `choose`, which takes words of one register where a bit is set, else those of another; `blocks`, which loads a block of each
//! lane word by word; and `last_blocks`, which does so with at most 64 bytes of each lane, filled up with zeros.

macro_rules! kernel {
    ($(#[$attribute:meta])*) => {
        /// Follows each chain to its end, `LANES` at a time.
        $(#[$attribute])*
        fn follow(chains: &[Chain<'_>], flags: Flags, key: &[u32; 8], values: &mut [Value]) {
            for group in groups::<LANES>(chains) {
                let counters = load(&group.counters);
                let mut state = key.map(|word| splat(word));
                // While no chain has come to its last block, all lanes do the same.
                let (mut own, whole) = (splat(flags.common | flags.first), splat(flags.common));
                for step in 0..group.whole_steps() {
                    state = compress(&state, &blocks(&group.blocks(step)), counters, splat(BLOCK_LENGTH), own);
                    own = whole;
                }
                for step in group.whole_steps()..group.steps() {
                    let Step { rests, lengths, flags, active } = group.step(step, flags);
                    let next = compress(&state, &last_blocks(&rests), counters, load(&lengths), load(&flags));
                    for (word, next) in state.iter_mut().zip(next) {
                        *word = choose(active, next, *word);
                    }
                }
                group.put(&state.map(|word| store(word)), values);
            }
        }

        /// The compression function: seven rounds over the state of each lane, and what its lower and upper half differ by.
        $(#[$attribute])*
        #[inline]
        fn compress(
            state: &[Words; 8],
            m: &[Words; 16],
            counters: Words,
            lengths: Words,
            flags: Words,
        ) -> [Words; 8] {
            let mut v = [splat(0); 16];
            v[..8].copy_from_slice(state);
            for (word, initial) in v[8..12].iter_mut().zip(INITIAL) {
                *word = splat(initial);
            }
            (v[12], v[14], v[15]) = (counters, lengths, flags);
            macro_rules! mix {
                ($a:literal $b:literal $c:literal $d:literal, $x:literal $y:literal) => {
                    v[$a] = add(add(v[$a], m[$x]), v[$b]);
                    v[$d] = rotate::<16>(xor(v[$d], v[$a]));
                    v[$c] = add(v[$c], v[$d]);
                    v[$b] = rotate::<12>(xor(v[$b], v[$c]));
                    v[$a] = add(add(v[$a], m[$y]), v[$b]);
                    v[$d] = rotate::<8>(xor(v[$d], v[$a]));
                    v[$c] = add(v[$c], v[$d]);
                    v[$b] = rotate::<7>(xor(v[$b], v[$c]));
                };
            }
            // Columns, then diagonals. The arguments are the words of the block in the order of the round: the authors' permutation,
            // applied once more each time.
            macro_rules! round {
                ($a:literal $b:literal $c:literal $d:literal $e:literal $f:literal $g:literal $h:literal
                 $i:literal $j:literal $k:literal $l:literal $m:literal $n:literal $o:literal $p:literal) => {
                    mix!(0 4 8 12, $a $b);
                    mix!(1 5 9 13, $c $d);
                    mix!(2 6 10 14, $e $f);
                    mix!(3 7 11 15, $g $h);
                    mix!(0 5 10 15, $i $j);
                    mix!(1 6 11 12, $k $l);
                    mix!(2 7 8 13, $m $n);
                    mix!(3 4 9 14, $o $p);
                };
            }
            round!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            round!(2 6 3 10 7 0 4 13 1 11 12 5 9 14 15 8);
            round!(3 4 10 12 13 2 7 14 6 5 9 0 11 15 8 1);
            round!(10 7 12 9 14 3 13 15 4 0 11 2 5 8 1 6);
            round!(12 13 9 11 15 10 14 8 7 2 5 3 0 1 6 4);
            round!(9 14 11 5 8 12 15 1 13 3 0 10 2 6 4 7);
            round!(11 15 5 0 1 9 8 6 14 10 2 12 3 4 7 13);
            let mut next = [splat(0); 8];
            for (word, value) in next.iter_mut().enumerate() {
                *value = xor(v[word], v[word + 8]);
            }
            next
        }
    };
}
