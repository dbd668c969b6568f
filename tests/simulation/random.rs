//! Numbers that a seed decides: SplitMix64 (Steele, Lea, Flood 2014).

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of one part of a seed's run.
    pub fn part(seed: u64, part: u64) -> Self {
        let mut stream = Self(seed ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Self(stream.next())
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `most` - 1; 0 where there is none.
    pub fn below(&mut self, most: usize) -> usize {
        if most == 0 { 0 } else { (self.next() % most as u64) as usize }
    }

    /// True in so many of a thousand cases.
    pub fn happens(&mut self, per_thousand: u64) -> bool {
        self.next() % 1_000 < per_thousand
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}
