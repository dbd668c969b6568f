//! The inner loops against plain arithmetic. Compiled natively this tests the scalar forms; `vector_kernel.test.mjs`
//! compiles the same file for wasm, with and without simd128, and runs it in Node: the SIMD forms and their twins.

#[allow(unsafe_code, missing_docs)]
#[path = "../src/vector/kernel.rs"]
mod kernel;

/// Numbers without a pattern, for every length, the extremes among them.
fn numbers(seed: u32, length: usize, largest: i32) -> Vec<i32> {
    let number = |position: u32| {
        let mut hash = (seed * 4_096 + position).wrapping_mul(0x9e37_79b9);
        hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b);
        match hash >> 29 {
            0 => largest,
            1 => -largest,
            _ => (hash >> 3) as i32 % (largest + 1) * if hash & 1 == 0 { 1 } else { -1 },
        }
    };
    (0..length as u32).map(number).collect()
}

fn lengths() -> impl Iterator<Item = usize> {
    (0..70).chain([127, 128, 383, 384, 385, 1_536])
}

#[test]
fn int8_rows() {
    for length in lengths() {
        for seed in 0..20 {
            let (a, b) = (numbers(seed, length, 127), numbers(seed + 100, length, 127));
            let expected: i32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let narrow = |row: &[i32]| row.iter().map(|value| *value as i8).collect::<Vec<i8>>();
            assert_eq!(kernel::dot_i8(&narrow(&a), &narrow(&b)), expected);
            assert_eq!(kernel::scalar::dot_i8(&narrow(&a), &narrow(&b)), expected);
        }
    }
}

#[test]
fn int8_extremes_do_not_overflow_sixteen_bits() {
    let (high, low) = (vec![127i8; 4_096], vec![-127i8; 4_096]);
    assert_eq!(kernel::dot_i8(&high, &high), 127 * 127 * 4_096);
    assert_eq!(kernel::dot_i8(&high, &low), -127 * 127 * 4_096);
    assert_eq!(kernel::dot_i8(&low, &low), 127 * 127 * 4_096);
}

#[test]
fn int16_queries() {
    for length in lengths() {
        for seed in 0..20 {
            let (a, b) = (numbers(seed, length, 9_000), numbers(seed + 100, length, 127));
            let expected: i32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let query: Vec<i16> = a.iter().map(|value| *value as i16).collect();
            let row: Vec<i8> = b.iter().map(|value| *value as i8).collect();
            assert_eq!(kernel::dot_i16_i8(&query, &row), expected);
            assert_eq!(kernel::scalar::dot_i16_i8(&query, &row), expected);
        }
    }
}

#[test]
fn the_shorter_length_counts() {
    assert_eq!(kernel::dot_i8(&[2; 40], &[3; 33]), 6 * 33);
    assert_eq!(kernel::dot_i16_i8(&[2; 40], &[3; 17]), 6 * 17);
    assert_eq!(kernel::dot_i16_i8(&[2; 17], &[3; 40]), 6 * 17);
    assert_eq!(kernel::hamming(&[0b1011, 7], &[0b0001]), 2);
}

#[test]
fn codes_and_floats() {
    assert_eq!(kernel::hamming(&[u64::MAX, 0, 1], &[0, 0, 3]), 65);
    let (a, b): (Vec<f32>, Vec<f32>) = (1..=37).map(|n| (n as f32, 2.0)).unzip();
    assert_eq!(kernel::dot_f32(&a, &b), (37 * 38) as f32);
}

#[test]
fn bytes_are_read_as_int8() {
    let bytes: Vec<u8> = (0..=255).collect();
    let expected: Vec<i8> = (0..=127).chain(-128..=-1).collect();
    assert_eq!(kernel::signed(&bytes), expected);
    assert!(kernel::signed(&[]).is_empty());
}
