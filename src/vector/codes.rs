//! 1-bit codes: for each dimension, whether a row is above a centre there.

/// The centre is the mean of about so many rows, evenly spread: enough for its direction, and quick at any size.
const CENTRE_SAMPLE_ROWS: usize = 16_384;

/// Words of a code.
pub(super) fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(64)
}

/// The code of a quantised row.
pub(super) fn encode(centre: &[f32], values: &[i8], scale: f32, code: &mut [u64]) {
    encode_unit(centre, values.iter().map(|value| f32::from(*value) * scale), code);
}

/// The code of a direction.
pub(super) fn encode_unit(centre: &[f32], values: impl Iterator<Item = f32>, code: &mut [u64]) {
    code.fill(0);
    for (dimension, (value, centre)) in values.zip(centre).enumerate() {
        code[dimension / 64] |= u64::from(value > *centre) << (dimension % 64);
    }
}

/// The mean of `count` quantised rows, as unit vectors: what codes are relative to.
pub(super) fn centre_of<'a>(dimensions: usize, count: usize, rows: impl Iterator<Item = (&'a [i8], f32)>) -> Vec<f32> {
    let mut mean = vec![0.0f32; dimensions];
    let mut seen = 0.0f32;
    for (values, scale) in rows.step_by((count / CENTRE_SAMPLE_ROWS).max(1)) {
        for (sum, value) in mean.iter_mut().zip(values) {
            *sum += f32::from(*value) * scale;
        }
        seen += 1.0;
    }
    mean.iter_mut().for_each(|sum| *sum /= seen.max(1.0));
    mean
}
