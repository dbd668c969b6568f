//! Numbers that sort as whole numbers do: a sort for fractions would be 3 KB of its own.

/// A number that is ordered among others as [`f32::total_cmp`] orders what it was made of.
pub(super) fn rank_of(number: f32) -> u64 {
    let bits = number.to_bits();
    (if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }).into()
}

/// The inverse of [`rank_of`].
pub(super) fn of_rank(rank: u64) -> f32 {
    let rank = rank as u32;
    f32::from_bits(if rank >> 31 == 1 { rank & !(1 << 31) } else { !rank })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ordered_as_the_numbers_are() {
        let numbers =
            [f32::NEG_INFINITY, -1.5, -f32::MIN_POSITIVE, -0.0, 0.0, f32::MIN_POSITIVE, 0.25, 1.0, f32::INFINITY];
        for pair in numbers.windows(2) {
            assert!(rank_of(pair[0]) < rank_of(pair[1]), "{pair:?}");
        }
        for number in numbers {
            assert_eq!(of_rank(rank_of(number)).to_bits(), number.to_bits());
        }
    }
}
