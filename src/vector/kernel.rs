//! The inner loops: dot products of quantised rows and Hamming distance of codes.
//!
//! Each has a scalar form, which compilers turn into vector code natively, and on wasm with simd128 a hand-written one.
//! Both give the same integers; `tests/vector_kernel.rs` holds them together on both targets. This is the only file
//! with `unsafe`: sixteen-byte loads, each from a slice chunk of that length, and bytes read as int8.

/// Dot product of two int8 rows. Values must lie in -127..=127 (never -128): two products are added in 16 bits.
/// The shorter length counts.
#[inline]
#[must_use]
pub fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return simd::dot_i8(a, b);
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    scalar::dot_i8(a, b)
}

/// Dot product of an int16 query and an int8 row. The caller scales the query so that the sum fits 31 bits (see
/// `quantise::Query`). The shorter length counts.
#[inline]
#[must_use]
pub fn dot_i16_i8(a: &[i16], b: &[i8]) -> i32 {
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    return simd::dot_i16_i8(a, b);
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    scalar::dot_i16_i8(a, b)
}

/// Bits in which two codes differ. The shorter length counts. One form only: 64-bit population count is an instruction of
/// plain wasm.
#[inline]
#[must_use]
pub fn hamming(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// The same bytes, read as int8.
#[inline]
#[must_use]
pub fn signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: both are one byte of the same size, alignment and validity, and the slice lives as long as the borrow.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// Dot product of two f32 vectors of the same length, in sixteen running sums, which compilers keep in vector registers.
#[inline]
#[must_use]
pub fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    let mut sums = [0.0f32; 16];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// The scalar twins.
pub mod scalar {
    /// Twin of [`super::dot_i8`].
    #[inline]
    #[must_use]
    pub fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
        a.iter().zip(b).map(|(a, b)| i32::from(i16::from(*a) * i16::from(*b))).sum()
    }

    /// Twin of [`super::dot_i16_i8`]. Wrapping, as the SIMD form is: no input may panic.
    #[inline]
    #[must_use]
    pub fn dot_i16_i8(a: &[i16], b: &[i8]) -> i32 {
        a.iter().zip(b).fold(0i32, |sum, (a, b)| sum.wrapping_add(i32::from(*a) * i32::from(*b)))
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod simd {
    use core::arch::wasm32::{
        i16x8_add, i16x8_extend_high_i8x16, i16x8_extend_low_i8x16, i16x8_extmul_high_i8x16, i16x8_extmul_low_i8x16,
        i32x4_add, i32x4_dot_i16x8, i32x4_extadd_pairwise_i16x8, i32x4_extract_lane, i32x4_splat, v128, v128_load,
    };

    #[inline]
    fn load_i8(chunk: &[i8; 16]) -> v128 {
        // SAFETY: the reference covers sixteen readable bytes, and v128_load asks for no alignment.
        unsafe { v128_load(chunk.as_ptr().cast()) }
    }

    #[inline]
    fn load_i16(chunk: &[i16; 8]) -> v128 {
        // SAFETY: the reference covers sixteen readable bytes, and v128_load asks for no alignment.
        unsafe { v128_load(chunk.as_ptr().cast()) }
    }

    #[inline]
    fn sum_lanes(sums: v128) -> i32 {
        i32x4_extract_lane::<0>(sums)
            .wrapping_add(i32x4_extract_lane::<1>(sums))
            .wrapping_add(i32x4_extract_lane::<2>(sums))
            .wrapping_add(i32x4_extract_lane::<3>(sums))
    }

    #[inline]
    pub(super) fn dot_i8(a: &[i8], b: &[i8]) -> i32 {
        let length = a.len().min(b.len());
        let ((a_chunks, a_rest), (b_chunks, b_rest)) = (a[..length].as_chunks::<16>(), b[..length].as_chunks::<16>());
        let mut sums = i32x4_splat(0);
        for (a, b) in a_chunks.iter().zip(b_chunks) {
            let (a, b) = (load_i8(a), load_i8(b));
            let products = i16x8_add(i16x8_extmul_low_i8x16(a, b), i16x8_extmul_high_i8x16(a, b));
            sums = i32x4_add(sums, i32x4_extadd_pairwise_i16x8(products));
        }
        sum_lanes(sums).wrapping_add(super::scalar::dot_i8(a_rest, b_rest))
    }

    #[inline]
    pub(super) fn dot_i16_i8(a: &[i16], b: &[i8]) -> i32 {
        let length = a.len().min(b.len());
        let (b_chunks, b_rest) = b[..length].as_chunks::<16>();
        let a_chunks = a[..length].as_chunks::<8>().0;
        let (mut low_sums, mut high_sums) = (i32x4_splat(0), i32x4_splat(0));
        for (a, b) in a_chunks.as_chunks::<2>().0.iter().zip(b_chunks) {
            let b = load_i8(b);
            low_sums = i32x4_add(low_sums, i32x4_dot_i16x8(load_i16(&a[0]), i16x8_extend_low_i8x16(b)));
            high_sums = i32x4_add(high_sums, i32x4_dot_i16x8(load_i16(&a[1]), i16x8_extend_high_i8x16(b)));
        }
        let rest = super::scalar::dot_i16_i8(&a[length - b_rest.len()..length], b_rest);
        sum_lanes(i32x4_add(low_sums, high_sums)).wrapping_add(rest)
    }
}
