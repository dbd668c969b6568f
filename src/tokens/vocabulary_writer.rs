//! Makes the vocabulary files from the ranks of `tiktoken-rs`. Runs when the package is built, never in it.

use super::sha256::sha256;
use super::vocabulary::{HEADER_BYTES, LAYOUT_VERSION, MAGIC, SINGLE_BYTES, checksum};
use super::{Encoding, TiktokenCounter};
use crate::error::{Code, Error, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The vocabulary file of `encoding`, as [`super::BytePairEncoder::from_asset`] reads it. `source` says what it is made
/// from and by which version (`tiktoken-rs 0.12.1`, at most 28 bytes).
///
/// # Errors
/// [`Code::InvalidConfig`] where the ranks of this `tiktoken-rs` are not those whose SHA-256 OpenAI publishes, or a
/// token is not the merge of exactly two lower ones.
pub fn vocabulary_asset(encoding: Encoding, source: &str) -> Result<Vec<u8>> {
    let tokens = tokens(encoding)?;
    let digest = sha256(rank_file(&tokens).as_bytes());
    if digest != encoding.source_sha256() {
        return Err(unusable("the ranks are not the published ones"));
    }
    let body = body(&tokens)?;
    let mut asset = Vec::with_capacity(HEADER_BYTES + body.len());
    asset.extend_from_slice(MAGIC);
    asset.extend_from_slice(&LAYOUT_VERSION.to_le_bytes());
    asset.extend_from_slice(&[0; 2]);
    asset.extend_from_slice(&encoding.vocabulary_size().to_le_bytes());
    asset.extend_from_slice(&checksum(&body).to_le_bytes());
    asset.extend_from_slice(&digest);
    asset.extend_from_slice(source.as_bytes());
    if asset.len() > HEADER_BYTES {
        return Err(unusable("the name of the source is longer than 28 bytes"));
    }
    asset.resize(HEADER_BYTES, 0);
    asset.extend_from_slice(&body);
    Ok(asset)
}

fn tokens(encoding: Encoding) -> Result<Vec<Vec<u8>>> {
    let counter = TiktokenCounter::new(encoding);
    (0..encoding.vocabulary_size())
        .map(|rank| counter.token_bytes(rank).ok_or_else(|| unusable("a rank has no token")))
        .collect()
}

/// The file that OpenAI publishes: each line is a token in base64, a space and its rank.
fn rank_file(tokens: &[Vec<u8>]) -> String {
    let mut file = String::new();
    for (rank, token) in tokens.iter().enumerate() {
        push_base64(&mut file, token);
        // Writing to a string cannot fail.
        let _ = writeln!(file, " {rank}");
    }
    file
}

fn push_base64(out: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            out.push(if digit <= chunk.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
}

/// The single bytes, then the six planes.
fn body(tokens: &[Vec<u8>]) -> Result<Vec<u8>> {
    let ranks: BTreeMap<&[u8], u32> = tokens.iter().zip(0..).map(|(token, rank)| (token.as_slice(), rank)).collect();
    let (single, merged) = tokens.split_at_checked(SINGLE_BYTES).ok_or_else(|| unusable("too few tokens"))?;
    let mut body = Vec::with_capacity(SINGLE_BYTES + 6 * merged.len());
    for token in single {
        match token.as_slice() {
            [byte] => body.push(*byte),
            _ => return Err(unusable("the first 256 tokens are not single bytes")),
        }
    }
    let pairs: Vec<[u32; 2]> = merged.iter().map(|token| split(&ranks, token)).collect::<Result<_>>()?;
    for side in 0..2 {
        for byte in 0..3 {
            body.extend(pairs.iter().map(|pair| (pair[side] >> (8 * byte)) as u8));
        }
    }
    Ok(body)
}

/// The two tokens that `token` is the merge of: what is left when all lower merges are done.
fn split(ranks: &BTreeMap<&[u8], u32>, token: &[u8]) -> Result<[u32; 2]> {
    let own = ranks.get(token).copied().unwrap_or(u32::MAX);
    let mut borders: Vec<usize> = (0..=token.len()).collect();
    while borders.len() > 3 {
        let pair = |at: usize| ranks.get(&token[borders[at]..borders[at + 2]]).copied().unwrap_or(u32::MAX);
        match (0..borders.len() - 2).map(|at| (pair(at), at)).min() {
            Some((rank, at)) if rank < own => borders.remove(at + 1),
            _ => return Err(unusable("a token is not the merge of two lower ones")),
        };
    }
    match borders[..] {
        [_, middle, _] => match (ranks.get(&token[..middle]), ranks.get(&token[middle..])) {
            (Some(&left), Some(&right)) if left < own && right < own => Ok([left, right]),
            _ => Err(unusable("a token is not the merge of two lower ones")),
        },
        _ => Err(unusable("a token above the single bytes has one byte")),
    }
}

fn unusable(reason: &str) -> Error {
    Error::new(Code::InvalidConfig, format!("this tiktoken-rs cannot be the source of a vocabulary file: {reason}"))
}
