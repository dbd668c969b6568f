//! SHA-256 (FIPS 180-4) and the keyed hash made of it (HMAC, RFC 2104): the proof of origin in a vocabulary's header, and
//! the names and marks of encrypted records. It reads no table by what it hashes, so its time says nothing of it.

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
const ROUND_CONSTANTS: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// The first 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4, 5.3.3).
const START: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The digest of `message`.
#[must_use]
pub fn sha256(message: &[u8]) -> [u8; 32] {
    digest(START, 0, message)
}

/// A keyed hash: HMAC-SHA-256 with a key of 32 bytes.
#[derive(Clone)]
pub struct KeyedHash {
    /// Behind the block of the key that comes first in the message.
    inner: [u32; 8],
    /// Behind the block of the key that comes first in the answer.
    outer: [u32; 8],
}

impl KeyedHash {
    /// The hash under a key.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        let behind = |pad: u8| {
            let mut block = [pad; 64];
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            let mut state = START;
            compress(&mut state, &block);
            state
        };
        Self { inner: behind(0x36), outer: behind(0x5c) }
    }

    /// The hash of `message`.
    #[must_use]
    pub fn of(&self, message: &[u8]) -> [u8; 32] {
        digest(self.outer, 64, &digest(self.inner, 64, message))
    }
}

/// Ends a hash whose `state` has seen so many bytes, a whole number of blocks, with `message`.
fn digest(mut state: [u32; 8], before: usize, message: &[u8]) -> [u8; 32] {
    let (blocks, rest) = message.as_chunks::<64>();
    blocks.iter().for_each(|block| compress(&mut state, block));
    let mut tail = rest.to_vec();
    tail.push(0x80);
    tail.resize(if tail.len() > 56 { 120 } else { 56 }, 0);
    tail.extend_from_slice(&((before + message.len()) as u64 * 8).to_be_bytes());
    tail.as_chunks::<64>().0.iter().for_each(|block| compress(&mut state, block));
    let mut digest = [0; 32];
    for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    digest
}

fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    let mut schedule = [0_u32; 64];
    for (word, bytes) in schedule.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for at in 16..64 {
        let (near, far) = (schedule[at - 2], schedule[at - 15]);
        let near = near.rotate_right(17) ^ near.rotate_right(19) ^ near >> 10;
        let far = far.rotate_right(7) ^ far.rotate_right(18) ^ far >> 3;
        schedule[at] = schedule[at - 16].wrapping_add(far).wrapping_add(schedule[at - 7]).wrapping_add(near);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in schedule.into_iter().zip(ROUND_CONSTANTS) {
        let choice = e & f ^ !e & g;
        let majority = a & b ^ a & c ^ b & c;
        let sum = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let first = h.wrapping_add(sum).wrapping_add(choice).wrapping_add(constant).wrapping_add(word);
        let second = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22)).wrapping_add(majority);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    for (word, value) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digest: [u8; 32]) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn known_answers() {
        let hex = |message: &[u8]| hex(sha256(message));
        // FIPS 180-4 example values of "", "abc" and the 448-bit message.
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(
            hex(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        );
    }
    #[test]
    fn known_answers_with_a_key() {
        // The keys of RFC 4231 that are not longer than 32 bytes; shorter ones end in zeros by definition (RFC 2104).
        let answers: [(&[u8], &[u8], &str); 3] = [
            (&[0x0b; 20], b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (&[0xaa; 20], &[0xdd; 50], "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        ];
        for (given, message, expected) in answers {
            let mut key = [0; 32];
            key[..given.len()].copy_from_slice(given);
            assert_eq!(hex(KeyedHash::new(&key).of(message)), expected);
        }
    }
}
