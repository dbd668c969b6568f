//! Rows and queries as whole numbers.
//!
//! A row is int8 with one scale: each component is `round(x * 127 / max|x|)`, so -128 never occurs, and the scale is one
//! over the length of the *quantised* row, so that a row's cosine with itself is 1 and the length of the original does
//! not matter. A query is int16: its own rounding error then vanishes beside that of the rows, at the same speed.

/// Largest magnitude in a row.
const ROW_MAX: f32 = 127.0;

/// Quantises `vector` into `row` (which may be longer: the rest is zeroed). Returns the scale; `None` where the vector
/// has no direction. The numbers must be finite.
pub(super) fn quantise_row(vector: &[f32], row: &mut [i8]) -> Option<f32> {
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    if largest == 0.0 {
        return None;
    }
    row.fill(0);
    let mut square = 0i64;
    for (value, quantised) in vector.iter().zip(row) {
        // Divided first, so that subnormal and huge numbers neither overflow nor vanish.
        *quantised = (value / largest * ROW_MAX).round() as i8;
        square += i64::from(*quantised) * i64::from(*quantised);
    }
    Some((1.0 / (square as f64).sqrt()) as f32)
}

/// A query ready to be compared with rows.
pub(super) struct Query {
    /// Components, padded as the rows are.
    pub(super) values: Vec<i16>,
    /// One over the length of `values`.
    pub(super) scale: f32,
    /// The direction in floating point.
    pub(super) unit: Vec<f32>,
}

impl Query {
    /// `None` where the vector has no direction. The numbers must be finite. `width` is the rows' padded length.
    pub(super) fn new(vector: &[f32], width: usize) -> Option<Self> {
        let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        if largest == 0.0 {
            return None;
        }
        let length = vector.iter().map(|value| f64::from(value / largest).powi(2)).sum::<f64>().sqrt();
        let unit: Vec<f32> = vector.iter().map(|value| (f64::from(value / largest) / length) as f32).collect();
        // |sum| <= length of the query x length of a row (Cauchy-Schwarz, and so is every partial sum); a row's length
        // is at most 127 x the root of its dimensions. The query's length is chosen to keep the product below 2^30.
        let longest = f64::from(1u32 << 30) / (f64::from(ROW_MAX) * (width.max(1) as f64).sqrt());
        let factor = (f64::from(i16::MAX) * length).min(longest);
        let mut values = vec![0i16; width];
        let mut square = 0i64;
        for (value, quantised) in unit.iter().zip(&mut values) {
            *quantised = (f64::from(*value) * factor).round() as i16;
            square += i64::from(*quantised) * i64::from(*quantised);
        }
        Some(Self { values, scale: (1.0 / (square as f64).sqrt()) as f32, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{dot_i8, dot_i16_i8};
    use super::*;
    use proptest::prelude::*;

    fn cosine(a: &[f32], b: &[f32]) -> f64 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt())
    }

    #[test]
    fn a_zero_vector_has_no_direction() {
        assert!(quantise_row(&[0.0, -0.0], &mut [0; 2]).is_none());
        assert!(Query::new(&[0.0; 3], 16).is_none());
    }

    #[test]
    fn extremes_neither_overflow_nor_vanish() {
        for vector in [[f32::MAX, f32::MIN], [1e-45, -1e-45]] {
            let mut row = [0; 16];
            let scale = quantise_row(&vector, &mut row).unwrap();
            assert_eq!((row[0], row[1]), (127, -127));
            let query = Query::new(&vector, 16).unwrap();
            let similarity = dot_i16_i8(&query.values, &row) as f32 * query.scale * scale;
            assert!((similarity - 1.0).abs() < 1e-4, "{similarity}");
        }
    }

    #[test]
    fn the_largest_sum_fits_at_any_length() {
        for width in [16usize, 384, 1_536, 65_536] {
            let (vector, mut row) = (vec![1.0f32; width], vec![0i8; width]);
            let scale = quantise_row(&vector, &mut row).unwrap();
            let query = Query::new(&vector, width).unwrap();
            let similarity = dot_i16_i8(&query.values, &row) as f32 * query.scale * scale;
            assert!((similarity - 1.0).abs() < 1e-4, "{width}: {similarity}");
        }
    }

    proptest! {
        #[test]
        fn quantised_cosine_is_near_the_cosine(
            pair in prop::collection::vec((-1.0f32..1.0, -1.0f32..1.0), 1..400),
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pair.into_iter().unzip();
            let width = a.len().next_multiple_of(16);
            let (mut row_a, mut row_b) = (vec![0i8; width], vec![0i8; width]);
            if let (Some(scale_a), Some(scale_b), Some(query)) =
                (quantise_row(&a, &mut row_a), quantise_row(&b, &mut row_b), Query::new(&a, width))
            {
                prop_assert!(row_a.iter().chain(&row_b).all(|value| *value != i8::MIN));
                let rows = f64::from(dot_i8(&row_a, &row_b) as f32 * scale_a * scale_b);
                let asymmetric = f64::from(dot_i16_i8(&query.values, &row_b) as f32 * query.scale * scale_b);
                prop_assert!((rows - cosine(&a, &b)).abs() < 0.012, "{rows} {}", cosine(&a, &b));
                prop_assert!((asymmetric - cosine(&a, &b)).abs() < 0.008);
            }
        }
    }
}
