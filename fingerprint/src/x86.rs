//! The instructions of AVX-512 and AVX2 that go through pointers, each behind a function that takes what it reads or writes as an array
//! or a slice of the right length; and the proofs that the processor has the instructions.
//!
//! All other instructions are safe in a function that is declared for them. `lanes/` has such functions, and calls the outermost ones by a
//! proof from here, each in one unsafe line.

use std::arch::x86_64::*;

/// Proof that the processor has AVX-512 (F and BW) and BMI2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Avx512> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("bmi2");
        has.then_some(Avx512(()))
    }
}

/// Proof that the processor has AVX-512 (F, BW, DQ, VBMI and VBMI2), BMI2 and POPCNT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Avx512Vbmi2(());

impl Avx512Vbmi2 {
    pub(crate) fn detect() -> Option<Avx512Vbmi2> {
        let has = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        has.then_some(Avx512Vbmi2(()))
    }
}

/// Proof that the processor has AVX2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Avx2> {
        is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

/// Sixteen words.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn load_16(words: &[u32; 16]) -> __m512i {
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Sixteen words with a sign.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn load_words(words: &[i32; 16]) -> __m512i {
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn load_64(bytes: &[u8; 64]) -> __m512i {
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Thirty-two words of two bytes.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn load_32_short(words: &[u16; 32]) -> __m512i {
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

/// Eight words of eight bytes.
#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn load_8_long(words: &[u64; 8]) -> __m512i {
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

static NOTHING: [u8; 64] = [0; 64];

/// The first 64 bytes of a slice, zeros after its end.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
#[expect(unsafe_code, reason = "the mask has a bit for each byte of the slice, and others are not loaded")]
pub(crate) fn load_bytes(bytes: &[u8]) -> __m512i {
    // An empty slice may be at an address that does not exist. Nothing is loaded from there, but finding that out takes a processor
    // hundreds of cycles.
    let bytes = if bytes.is_empty() { &NOTHING[..0] } else { bytes };
    let count = u32::try_from(bytes.len().min(64)).expect("at most 64");
    unsafe { _mm512_maskz_loadu_epi8(_bzhi_u64(u64::MAX, count), bytes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn store_16(words: __m512i) -> [u32; 16] {
    let mut array = [0; 16];
    unsafe { _mm512_storeu_si512(array.as_mut_ptr().cast(), words) };
    array
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn store_16_at(words: __m512i, array: &mut [u32; 16]) {
    unsafe { _mm512_storeu_si512(array.as_mut_ptr().cast(), words) };
}

#[inline]
#[target_feature(enable = "avx512f")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn store_words(words: __m512i, array: &mut [i32; 16]) {
    unsafe { _mm512_storeu_si512(array.as_mut_ptr().cast(), words) };
}

/// Eight words.
#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn load_8(words: &[u32; 8]) -> __m256i {
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// 64 bytes in two registers.
#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "the array has the bytes of two registers")]
pub(crate) fn load_halves(bytes: &[u8; 64]) -> [__m256i; 2] {
    let first: *const __m256i = bytes.as_ptr().cast();
    unsafe { [_mm256_loadu_si256(first), _mm256_loadu_si256(first.add(1))] }
}

#[inline]
#[target_feature(enable = "avx2")]
#[expect(unsafe_code, reason = "the array has the bytes of a register")]
pub(crate) fn store_8(words: __m256i) -> [u32; 8] {
    let mut array = [0; 8];
    unsafe { _mm256_storeu_si256(array.as_mut_ptr().cast(), words) };
    array
}
