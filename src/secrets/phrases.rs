//! Secrets that words introduce: passwords, PINs, codes, the words of a wallet. In twenty languages.

use super::beginnings::Beginnings;
use super::{Place, SecretKind, Shown, key_names, keys, numbers};

/// Words for a password, in small letters.
const PASSWORDS: &str = "pass:|pass for|pass is|pw:|pw|pwd:|pwd|mdp|のパス|clave del banco|clave de mi|mi clave|passwords|password|passphrase|passwd|login pw|wifi pw|passwort|kennwort|mot de passe|contraseña|clave del wifi|clave de acceso|clave del correo|\
contrasena|senha|palavra-passe|wachtwoord|lösenord|adgangskode|salasana|hasło|пароль|şifre|parola|mật khẩu|비밀번호를|비밀번호|비번을|비번|패스워드를|패스워드|암호는|暗証は|\
パスワード|密码|密碼|口令|şifrem|şifresi|parolam|passord|heslo|jelszó|jelszava|kata sandi|κωδικός|סיסמה|סיסמא|รหัสผ่าน|พาสเวิร์ด|\
كلمة المرور|كلمة السر|كلمه المرور|كلمه السر|पासवर्ड|pass";

/// Words for a PIN.
const PINS: &str = "alarm code|gate code|lock code|safe code|entry code|unlock code|alarmcode|código de la alarma|code de l'alarme|pin code|pin-code|door code|handy-pin|code de la porte|türcode|ピンは|pin number|pin|passcode|geheimzahl|code pin|código pin|пин-код|пин|핀번호|핀 번호|핀은|暗証番号|ピンコード";

/// Words for a code that logs in once.
const ONE_TIME_CODES: &str = "verification code|sms code|code de connexion|动态码|one-time code|one time code|security code is|login code|otp|2fa code|\
authentication code|confirmation code|bestätigungscode|code de vérification|código de verificación|código de verificação|\
код подтверждения|인증번호|인증 번호|인증코드|認証コード|確認コード|验证码|驗證碼";

/// Words for several codes that are kept in case another way fails.
const BACKUP_CODES: &str = "backup code|backup codes|recovery code|recovery codes|backup-codes|wiederherstellungscodes|\
códigos de respaldo|códigos de recuperación|codes de secours|codes de récupération|códigos de backup|백업 코드|복구 코드|バックアップコード|リカバリーコード|备用码|恢复码";

/// Words for an account's number.
const ACCOUNTS: &str = "account number|account no|acct number|routing number|sort code|kontonummer|bankleitzahl|número de cuenta|\
numéro de compte|número da conta|numero di conto|номер счёта|номер счета|계좌번호|계좌 번호|口座番号|银行账号|银行账户";

/// Words in front of a name and its password.
const LOGINS: &str = "login|logins|log in|credentials|creds|zugangsdaten|anmeldedaten|credenciales|identifiants|credenziali|\
credenciais|로그인|ログイン|登录|登陆";

/// Words for a card's code.
const CARD_CODES: &str = "cvv2|cvc2|cvv|cvc|digits on the back|card security code|security code on the back|código de seguridad|code de sécurité|kartenprüfnummer|prüfziffer|카드 보안코드|セキュリティコード|安全码";

/// Words for a number of a person that tells nothing by its form.
const PERSON_NUMBERS: &str = "passport number|passport no|passport is|reisepass-nr|reisepass nr|pasaporte es|driver's license number|driver's licence number|reisepassnummer|\
passnummer|ausweisnummer|führerscheinnummer|steuernummer|sozialversicherungsnummer|numéro de passeport|numéro de sécurité sociale|\
número de pasaporte|número de dni|número do passaporte|номер паспорта|여권번호|여권 번호|パスポート番号|マイナンバー|护照号";

/// Words for the words of a wallet.
const RECOVERY_PHRASES: &str = "seed phrase|recovery phrase|recovery words|12 words are|24 words are|wiederherstellungswörter|frase de recuperación|mots de récupération|복구 단어|secret phrase|backup phrase|mnemonic|seed words|\
wiederherstellungsphrase|phrase de récupération|frase semilla|passphrase|복구 구문|복구 문구|시드 구문|시드 문구|니모닉|リカバリーフレーズ|シードフレーズ|助记词";

/// Words that say that the secret comes now.
const COPULAS: &str = "-|is|are|was|will be|should be|must be|heißt|=|:|->|ist|lautet|war|est|es|é|è|era|jest|to|это|är|er|on|now|는|은|이|가|는요|は|が|是|为|為|と|คือ|เป็น|هي|هو|है|είναι|היא|adalah|là|wynosi|brzmi";

/// Words that say whose it is: then any word that follows can be a password.
const OWNERS: &str = "my |our |her |his |their |mein |meine |unser |mon |notre |mi |nuestra |minha |meu |la mia |il mio |mijn |\
moje |мой |моя |wifi |wi-fi |wlan |root |admin |login |내 |제 |우리 |私の|我的|我们的";

/// Words that follow a password's name and are none.
const COMMON: &str = "password|passwords|passwort|secret|string|text|hash|hashed|salted|encrypted|stored|required|wrong|incorrect|\
invalid|missing|empty|optional|expired|weak|strong|safe|secure|correct|needed|changed|reset|different|public|private|lost|\
forgotten|unknown|false|hidden|visible|below|above|following|important|valid|accepted|shown|deleted|plaintext|sensitive|\
protected|manager|there|where|still|being|never|always|falsch|richtig|vergessen|notwendig|sicher|abgelaufen|incorrecta|\
correcta|incorrect|oublié|obligatoire|obligatorio|неверный|sha256|sha512|sha1|base64|oauth2|bcrypt|argon2|scrypt|pbkdf2|\
field|input|login|email|username|admin|value|prompt|policy|screen|similar|short|simple|pretty|really|too";

/// Words for a number of social security.
const SOCIAL_SECURITY: &str = "ssn|social security number|social security";

/// How all of these begin, and what [`introduced`] reads besides.
static BEGINNINGS: Beginnings = Beginnings::new();
const INTRODUCTIONS: [&str; 13] = [
    "bearer|authorization:",
    SOCIAL_SECURITY,
    PERSON_NUMBERS,
    CARD_CODES,
    ONE_TIME_CODES,
    PINS,
    ACCOUNTS,
    BACKUP_CODES,
    RECOVERY_PHRASES,
    key_names::KEY_NAMES,
    key_names::PLAIN_NAMES,
    PASSWORDS,
    LOGINS,
];

/// How far behind its name a secret may stand, in characters.
const REACH: usize = 48;

/// The secret that a word or phrase at a place introduces.
pub(super) fn introduced(shown: &Shown<'_>, at: usize) -> Option<Place> {
    if !BEGINNINGS.may_stand(shown, at, &INTRODUCTIONS) {
        return None;
    }
    if let Some(behind) = shown.reads(at, "bearer") {
        return keys::authorization(shown, behind, 16);
    }
    if let Some(behind) = shown.reads(at, "authorization: token") {
        return keys::authorization(shown, behind, 16);
    }
    if let Some(behind) = shown.reads(at, "authorization: basic") {
        return keys::authorization(shown, behind, 8);
    }
    if let Some(behind) = read_any(shown, at, SOCIAL_SECURITY) {
        return social_security(shown, behind);
    }
    if let Some(behind) = read_any(shown, at, PERSON_NUMBERS) {
        return person_number(shown, behind);
    }
    if let Some(behind) = read_any(shown, at, CARD_CODES) {
        return number_behind(shown, behind, SecretKind::CardCode, 3..=4, true);
    }
    if let Some(behind) = read_any(shown, at, ONE_TIME_CODES) {
        return number_behind(shown, behind, SecretKind::OneTimeCode, 4..=8, true);
    }
    if let Some(behind) = read_any(shown, at, PINS) {
        return number_behind(shown, behind, SecretKind::Pin, 4..=8, behind > at + 3);
    }
    if let Some(behind) = read_any(shown, at, ACCOUNTS) {
        return account(shown, behind);
    }
    if let Some(behind) = read_any(shown, at, BACKUP_CODES) {
        return backup_codes(shown, behind);
    }
    let phrase = read_any(shown, at, RECOVERY_PHRASES).and_then(|behind| recovery_phrase(shown, behind));
    phrase
        .or_else(|| key_names::named_key(shown, at))
        .or_else(|| read_any(shown, at, PASSWORDS).and_then(|behind| password(shown, at, behind)))
        .or_else(|| read_any(shown, at, LOGINS).and_then(|behind| login(shown, behind)))
}

/// The first of these words that stands at a place, as a word of its own where its script has spaces.
pub(super) fn read_any(shown: &Shown<'_>, at: usize, words: &str) -> Option<usize> {
    let first = shown.lower(at);
    let mut words = words.split('|').filter(|word| word.starts_with(first));
    words.find_map(|word| {
        let end = shown.reads(at, word)?;
        let is_spaced = word.chars().all(|c| u32::from(c) < 0x0600 && (c.is_alphanumeric() || c == ' ' || c == '-'));
        let is_apart = |place: char| !place.is_alphanumeric() || u32::from(place) >= 0x0600;
        let before = at.checked_sub(1).map_or(' ', |before| shown.get(before));
        (!is_spaced || is_apart(shown.get(end)) && is_apart(before)).then_some(end)
    })
}

/// Whether this word, in small letters, ends at a place.
pub(super) fn stands_before(shown: &Shown<'_>, at: usize, word: &str) -> bool {
    at.checked_sub(word.chars().count()).is_some_and(|start| shown.reads(start, word).is_some())
}

/// Where what a name introduces begins, and whether a copula stands before it: the first copula before the sentence ends,
/// else what follows at once.
pub(super) fn value_start(shown: &Shown<'_>, behind: usize) -> (usize, bool) {
    let mut at = behind;
    let end = shown.run(behind, REACH, |c| !matches!(c, '!' | '?' | '\n' | ';' | ','));
    while at < end {
        let is_end_of_sentence = shown.get(at) == '.' && shown.get(at + 1).is_whitespace();
        if is_end_of_sentence {
            break;
        }
        if let Some(next) = copula(shown, at) {
            return (skip_dress(shown, next), true);
        }
        at += 1;
    }
    (skip_dress(shown, behind), false)
}

fn copula(shown: &Shown<'_>, at: usize) -> Option<usize> {
    let end = read_any(shown, at, COPULAS)?;
    // "is now", "is:", "lautet jetzt": the last of several counts.
    let next = shown.run(end, 2, |c| c == ' ');
    match read_any(shown, next, "now|jetzt|:|=|'|ahora|maintenant") {
        Some(further) if next > at => Some(further),
        _ => Some(end),
    }
}

pub(super) fn skip_dress(shown: &Shown<'_>, at: usize) -> usize {
    shown.run(at, 6, |c| matches!(c, ' ' | '"' | '\'' | '`' | '*' | '(' | '[' | '「' | '『' | '«' | '„' | '\n'))
}

fn number_behind(
    shown: &Shown<'_>,
    behind: usize,
    kind: SecretKind,
    length: std::ops::RangeInclusive<usize>,
    at_once: bool,
) -> Option<Place> {
    let (start, has_copula) = value_start(shown, behind);
    let end = shown.run(start, 12, |c| c.is_ascii_digit());
    let is_number = length.contains(&(end - start)) && !shown.get(end).is_ascii_alphanumeric();
    let continues = matches!(shown.get(end), '.' | ',' | '-' | '/') && shown.get(end + 1).is_ascii_digit();
    (is_number && !continues && (has_copula || at_once)).then_some((kind, start, end))
}

/// "482910 is your login code": a number that words say what it is of behind it.
pub(super) fn told_behind(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let end = shown.run(at, 9, |c| c.is_ascii_digit());
    let behind = shown.reads(end, " is your ")?;
    let is_code = (behind..behind + REACH / 2).any(|at| shown.reads(at, "code").or(shown.reads(at, "otp")).is_some());
    ((4..=8).contains(&(end - at)) && is_code).then_some((SecretKind::OneTimeCode, at, end))
}

/// Words behind a password by which it is one.
const NAMED_BEHIND: &str = " is my password| everywhere as my password| is the password| is our password| as my password| as the password| as password| is my pw|\
 ist mein passwort| ist das passwort| als passwort| es mi contraseña| es la contraseña| como contraseña| est mon mot de passe|\
 est le mot de passe| comme mot de passe|이 제 비밀번호|이 비밀번호|가 비밀번호|가 제 비밀번호|が私のパスワード|がパスワード|是我的密码|是密码";

/// "tiger42 is my password", "use tiger42 as the password": what words behind it say to be one.
pub(super) fn named_behind(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let end = shown.run(at, 64, |c| c.is_ascii_graphic() && !matches!(c, '"' | '`' | '(' | ')' | '<' | '>'));
    let value = shown.slice(at, end);
    let has = |is: fn(&char) -> bool| value.iter().any(is);
    let is_drawn = has(char::is_ascii_alphabetic)
        && (has(char::is_ascii_digit)
            || has(|c| matches!(c, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '+' | '?' | '~')));
    let behind = if matches!(shown.get(end), '"' | '`') { end + 1 } else { end };
    let is_named = || NAMED_BEHIND.split('|').any(|words| shown.reads(behind, words).is_some());
    (value.len() >= 5 && is_drawn && is_named()).then_some((SecretKind::Password, at, end))
}

/// A number of nine digits that words call one of social security.
fn social_security(shown: &Shown<'_>, behind: usize) -> Option<Place> {
    let (start, _) = value_start(shown, behind);
    let written = numbers::national_id(shown, start);
    let end = shown.run(start, 11, |c| c.is_ascii_digit() || c == ' ');
    let digits = shown.slice(start, end).iter().filter(|c| c.is_ascii_digit()).count();
    written.or((digits == 9).then_some((SecretKind::NationalId, start, end)))
}

/// Six to twenty letters and digits, at least five digits among them.
fn person_number(shown: &Shown<'_>, behind: usize) -> Option<Place> {
    let (start, _) = value_start(shown, behind);
    let end = shown.run(start, 21, |c| c.is_ascii_alphanumeric() || c == '-');
    let digits = shown.slice(start, end).iter().filter(|c| c.is_ascii_digit()).count();
    let is_number = (6..=20).contains(&(end - start)) && digits >= 5;
    is_number.then_some((SecretKind::NationalId, start, end))
}

/// Six to twenty digits, with single spaces or hyphens between them.
fn account(shown: &Shown<'_>, behind: usize) -> Option<Place> {
    let (start, _) = value_start(shown, behind);
    let run = shown.run(start, 26, |c| c.is_ascii_digit() || matches!(c, ' ' | '-'));
    let end = (start..run).rev().find(|at| shown.get(*at).is_ascii_digit()).map_or(start, |at| at + 1);
    let digits = shown.slice(start, end).iter().filter(|c| c.is_ascii_digit()).count();
    (6..=20).contains(&digits).then_some((SecretKind::Iban, start, end))
}

/// Codes of six to fourteen letters, digits and hyphens with a digit in each, one behind the other.
fn backup_codes(shown: &Shown<'_>, behind: usize) -> Option<Place> {
    let (start, _) = value_start(shown, behind);
    let (mut at, mut end) = (start, start);
    loop {
        let code_end = shown.run(at, 15, |c| c.is_ascii_alphanumeric() || c == '-');
        let has_digit = shown.slice(at, code_end).iter().any(char::is_ascii_digit);
        if !(6..=14).contains(&(code_end - at)) || !has_digit {
            break;
        }
        end = code_end;
        at = shown.run(end, 3, |c| matches!(c, ' ' | ',' | '\n' | ';'));
    }
    (end > start).then_some((SecretKind::OneTimeCode, start, end))
}

/// `name / password` or `name:password` behind words that announce both.
fn login(shown: &Shown<'_>, behind: usize) -> Option<Place> {
    [skip_dress(shown, behind), value_start(shown, behind).0].into_iter().find_map(|start| login_at(shown, start))
}

fn login_at(shown: &Shown<'_>, start: usize) -> Option<Place> {
    let name_end = shown.run(start, 80, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '@' | '+' | '-'));
    let mark = shown.run(name_end, 1, |c| c == ' ');
    let next = skip_dress(shown, mark + 1);
    let end = password_end(shown, next);
    let is_told = name_end > start + 1
        && (shown.get(mark) == ':' || shown.get(mark) == '/' && mark > name_end)
        && !matches!(shown.get(mark + 1), '/')
        && is_drawn(shown.slice(next, end));
    is_told.then_some((SecretKind::Password, next, end))
}

/// At least twelve words of three to eight letters, with spaces, commas or numbers between them.
fn recovery_phrase(shown: &Shown<'_>, behind: usize) -> Option<Place> {
    let (start, _) = value_start(shown, behind);
    let (mut words, mut at, mut end) = (0, start, start);
    while words < 24 {
        at = shown.run(at, 6, |c| matches!(c, ' ' | ',' | '.' | '\n' | ')') || c.is_ascii_digit());
        let word_end = shown.run(at, 9, |c| c.is_ascii_lowercase());
        if !(3..=8).contains(&(word_end - at)) {
            break;
        }
        (at, end) = (word_end, word_end);
        words += 1;
    }
    (words >= 12).then_some((SecretKind::RecoveryPhrase, start, end))
}

fn password(shown: &Shown<'_>, at: usize, behind: usize) -> Option<Place> {
    // The short word has other meanings: it must stand behind a name.
    let is_short = shown.reads(at, "pass") == Some(behind);
    let stands_apart = || [", ", "/ ", "; ", "| ", "\n"].iter().any(|mark| stands_before(shown, at, mark));
    if is_short && at > 0 && !stands_apart() {
        return None;
    }
    let at_once = skip_dress(shown, shown.run(behind, 1, |c| c == ','));
    let end = password_end(shown, at_once);
    if shown.get(at_once).is_ascii() && is_drawn(shown.slice(at_once, end)) {
        return Some((SecretKind::Password, at_once, end));
    }
    let (start, has_copula) = value_start(shown, behind);
    let end = password_end(shown, start);
    let value = shown.slice(start, end);
    let is_quoted = start > 0 && matches!(shown.get(start - 1), '"' | '\'' | '`' | '「' | '『' | '«' | '„');
    let is_owned = OWNERS.split('|').any(|owner| stands_before(shown, at, owner));
    let is_password = !is_short && is_password(shown, value, end, has_copula, is_quoted, is_owned);
    is_password.then_some((SecretKind::Password, start, end))
}

/// Where what may be a password ends: without the marks behind it.
fn password_end(shown: &Shown<'_>, start: usize) -> usize {
    let is_ascii = shown.get(start).is_ascii();
    let end = shown.run(start, 128, |c| {
        !c.is_whitespace()
            && !matches!(c, '"' | '`' | '」' | '』' | '»' | '“' | '<' | '>' | '、' | '。' | '，')
            && (c.is_ascii() || !is_ascii)
    });
    (start..end)
        .rev()
        .find(|at| !matches!(shown.get(*at), '.' | ',' | ';' | ')' | '\'' | '*' | ':' | '?'))
        .map_or(start, |at| at + 1)
}

/// Letters with digits, or with a symbol among them, as no word has them.
fn is_drawn(value: &[char]) -> bool {
    let has = |is: fn(&char) -> bool| value.iter().any(is);
    let inner = value.split_last().map_or(value, |(_, inner)| inner);
    value.len() >= 6
        && has(|c| c.is_alphabetic())
        && (has(char::is_ascii_digit) || inner.iter().any(is_symbol))
        && !has(is_of_code)
        && !is_common(value)
        && !keys::is_placeholder(value)
}

fn is_symbol(character: &char) -> bool {
    matches!(character, '!' | '@' | '#' | '$' | '%' | '^' | '&' | '+' | '?' | '~')
}

/// A call, a path or a type is no password.
fn is_of_code(character: &char) -> bool {
    matches!(character, '(' | '[' | '/' | '\\' | '{')
}

fn is_common(value: &[char]) -> bool {
    let word: String = value.iter().map(|c| crate::lexical::lower(*c)).collect();
    COMMON.split('|').any(|common| common == word)
}

/// Several words joined by hyphens, as none of a language are: `green-lemon-tree`.
fn is_joined(value: &[char]) -> bool {
    let mut parts = value.split(|c| *c == '-');
    parts.clone().count() >= 3 && parts.all(|part| part.len() >= 4)
}

fn is_password(
    shown: &Shown<'_>,
    value: &[char],
    end: usize,
    has_copula: bool,
    is_quoted: bool,
    is_owned: bool,
) -> bool {
    if !(4..=128).contains(&value.len()) || is_common(value) || keys::is_placeholder(value) {
        return false;
    }
    let has = |is: fn(&char) -> bool| value.iter().any(is);
    let (has_digit, has_letter) = (has(char::is_ascii_digit), has(|c| c.is_alphabetic()));
    if has_letter && (has_digit || has(is_symbol) && has_copula) {
        return value.len() >= 5 && !has(is_of_code) && (has_copula || value.len() >= 6);
    }
    if has_digit && !has_letter {
        return has_copula;
    }
    let ends_clause = end >= shown.len()
        || matches!(shown.get(end), '.' | ',' | '\n' | '!' | ';' | '"' | '\'' | '」' | '』' | '»' | '`' | '。');
    has_copula
        && value.len() >= 5
        && !has(|c| !c.is_alphanumeric() && *c != '-' && *c != '_')
        && (ends_clause || is_joined(value))
        && (is_quoted || is_owned || is_joined(value))
}
