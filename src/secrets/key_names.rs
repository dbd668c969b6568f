//! Keys that a name introduces, as people write it: "my api key is ...", "here is the access token that you asked for: ...".

use super::phrases::{read_any, skip_dress, stands_before, value_start};
use super::{Place, SecretKind, Shown, keys};

/// Names of nothing but secrets; the value stands within [`REACH`] of them.
pub(super) const KEY_NAMES: &str = "api key|api-key|apikey|api token|api-token|api secret|access key|access token|secret key|secret token|private key|\
privatekey|privkey|client secret|app secret|application secret|app key|account key|accountkey|shared access key|sharedaccesskey|\
subscription key|subscription-key|auth key|auth token|authtoken|bot token|refresh token|session token|bearer token|deploy key|\
deploy token|signing secret|encryption key|master key|license key|licence key|service key|personal access token|wallet(|\
clave api|clave de api|clave de la api|clave secreta|clave privada|llave privada|llave api|token de acceso|\
api-schlüssel|api schlüssel|apischlüssel|geheime schlüssel|geheimer schlüssel|geheimen schlüssel|private schlüssel|\
privater schlüssel|privaten schlüssel|zugriffsschlüssel|zugangsschlüssel|zugriffstoken|zugangstoken|clé api|clé d'api|clé secrète|\
clé privée|jeton d'accès|clé d'accès|chave de api|chave da api|chave api|chave secreta|chave privada|chiave api|chiave segreta|\
chiave privata|ключ api|api ключ|api-ключ|ключ доступа|секретный ключ|приватный ключ|закрытый ключ|токен доступа|klucz api|\
api sleutel|api-sleutel|api anahtar|khóa api|kunci api|api 키|api키|비밀 키|비밀키|개인 키|개인키|액세스 토큰|인증 토큰|시크릿 키|\
apiキー|apiトークン|秘密鍵|アクセストークン|アクセスキー|シークレットキー|api密钥|访问密钥|访问令牌|私钥|秘钥|密钥|คีย์ api|مفتاح api|مفتاح الـ api";

/// Names that much else has as well: the value follows at once or behind a copula.
pub(super) const PLAIN_NAMES: &str = "key|token|secret|geheimnis|schlüssel|clave|llave|clé|chave|chiave|jeton|ключ|токен|키는|토큰은|토큰|キーは|トークン|令牌";

/// What stands before a plain name that is no secret.
const OTHER_KEYS: &str = "public |primary |foreign |cache |idempotency |partition |sort |object |unique |composite |surrogate |map |row |record |page |öffentlicher |pública |publique ";

/// How far behind its name a key may stand, in characters.
const REACH: usize = 64;
/// Least length of a key, by the name in front of it.
const LEAST: usize = 16;
const LEAST_OF_PLAIN: usize = 20;
/// So often a key changes between digits and other characters at least; names and versions seldom do.
const LEAST_CHANGES: usize = 3;

/// The key that a name at a place introduces.
pub(super) fn named_key(shown: &Shown<'_>, at: usize) -> Option<Place> {
    if let Some(behind) = read_any(shown, at, KEY_NAMES) {
        return introduced(shown, behind, LEAST).or_else(|| within_reach(shown, behind));
    }
    let behind = read_any(shown, at, PLAIN_NAMES)?;
    let is_other = OTHER_KEYS.split('|').any(|word| stands_before(shown, at, word));
    if is_other { None } else { introduced(shown, behind, LEAST_OF_PLAIN) }
}

/// The key that follows at once or behind a copula.
fn introduced(shown: &Shown<'_>, behind: usize, least: usize) -> Option<Place> {
    let comma = shown.run(behind, 1, |c| c == ',');
    let copula = || value_start(shown, behind).0;
    // "the secret that I was given: ...", on the same line.
    let end = shown.run(behind, REACH, |c| !matches!(c, '\n' | '.' | '?' | '!' | ';'));
    let colon = || (behind..end).rev().find(|at| shown.get(*at) == ':').map(|at| skip_dress(shown, at + 1));
    key(shown, skip_dress(shown, comma), least)
        .or_else(|| key(shown, copula(), least))
        .or_else(|| key(shown, colon()?, least))
}

/// The first key on the same line.
fn within_reach(shown: &Shown<'_>, behind: usize) -> Option<Place> {
    let end = shown.run(behind, REACH, |c| c != '\n');
    let is_start = |at: &usize| !at.checked_sub(1).is_some_and(|before| keys::is_token_character(shown.get(before)));
    (behind..end).filter(is_start).find_map(|at| key(shown, at, LEAST))
}

/// A run of a key's characters that looks drawn by chance.
fn key(shown: &Shown<'_>, start: usize, least: usize) -> Option<Place> {
    let end = keys::trimmed(shown, start, shown.run(start, 500, keys::is_token_character));
    let value = shown.slice(start, end);
    let has = |is: fn(&char) -> bool| value.iter().any(is);
    let changes = value.windows(2).filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()));
    // Addresses and paths are written small.
    let is_path = has(|c| matches!(c, '/' | '.')) && !(has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase));
    let is_key = value.len() >= least
        && has(char::is_ascii_alphabetic)
        && changes.count() >= LEAST_CHANGES
        && !is_path
        && !matches!(shown.get(end), '(' | '[')
        && !keys::is_placeholder(value);
    is_key.then_some((SecretKind::Assignment, start, end))
}
