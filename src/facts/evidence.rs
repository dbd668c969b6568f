//! Whether a message really says what a model claims that it says.

use super::fingerprint::normalized;
use super::similarity::{stem, terms};
use crate::lexical::push_lower;
use crate::prompt_text::{is_hidden, narrow};

/// Words that frame a fact about the user without being its content, in the languages in which users write: a fact is not
/// worth more or less for them. One beside the other by language: English, German, Spanish, French, Portuguese, Italian,
/// Russian, Korean.
const FRAME_WORDS: &str = "user the a an is are was be has have had their they his her he she them my me and or of to in on at for \
with by from as that this it its s prefer like want love use work live need call name speak own who which when don doesn isn \
won can t re ve m over than about into now also just really very currently usually generally would should go get do does \
nutzer nutzerin benutzer benutzerin anwender anwenderin der die das den dem des ein eine einen einem einer und oder ist sind \
war hat haben heißt möchte will wünscht mag bevorzugt verwendet nutzt benutzt arbeitet wohnt lebt braucht im am an auf für mit \
von vom zu zum zur bei aus als sich sein seine seinen ihr ihre ihren er sie es dass jetzt auch \
usuario usuaria el la los las un una y o es está son tiene se llama su sus de del al en con por para como que lo quiere \
prefiere usa utiliza trabaja vive necesita le gusta ahora también \
utilisateur utilisatrice les une et ou est sont appelle sa ses du au aux dans avec pour par qui veut préfère utilise \
travaille habite vit aime maintenant aussi \
usuário usuária utilizador os as um uma e é são tem chama seu sua da dos em na com quer prefere trabalha mora precisa gosta \
agora também \
utente il gli i uno è sono ha si chiama suo di della nel per che vuole preferisce lavora abita \
пользователь пользователя зовут он она и или в на с для из это его её хочет предпочитает использует работает \
живёт живет \
사용자 사용자는 사용자의 사용자가 이름은 이름이";

/// The same in scripts without spaces, where no word stands alone.
const UNSPACED_FRAMES: &str =
    "ユーザーの ユーザーは ユーザーが ユーザー 利用者は 名前は 用户的 用户 使用者 名字是 名字叫";

/// Words that turn a statement round, in the languages where they stand alone.
const NEGATIONS: &str = "not no never don't doesn't isn't can't cannot won't without avoid dislike hate stop skip omit nicht kein \
keine keinen nie ohne ne pas jamais sans nunca ni sin nada não nem sem non mai senza не нет никогда без 안 못 말고";

/// Parts of words that do in scripts where they do not stand alone.
const NEGATING_PARTS: &str = "않 없 ない ません なし 不 没 沒";

/// Text for finding a quote: small letters, white space as single spaces, hidden characters removed, typographic quotes,
/// dashes and full-width forms as ASCII.
fn quotable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars().filter(|c| !is_hidden(*c)) {
        match narrow(character) {
            c if c.is_whitespace() => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            '\u{2018}'..='\u{201B}' | '\u{2B9}'..='\u{2BC}' | '`' | '\u{B4}' => out.push('\''),
            '\u{201C}'..='\u{201F}' | '\u{AB}' | '\u{BB}' => out.push('"'),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => out.push('-'),
            '\u{2026}' => out.push_str("..."),
            c => push_lower(c, &mut out),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Whether the quote stands in the message, whatever its case, white space and kind of quotation marks. A quote needs at
/// least two letters or digits.
#[must_use]
pub fn is_quoted(quote: &str, message: &str) -> bool {
    let quote = quotable(quote);
    let quote = quote.trim_matches(|c| matches!(c, '"' | '\'' | ' '));
    quote.chars().filter(|c| c.is_alphanumeric()).count() >= 2 && quotable(message).contains(quote)
}

/// Whether the quote bears the fact by its words, so that the fact may count as said by the user and not as concluded by
/// a model.
///
/// At least two thirds of the fact's content words are in the quote; every name, number, address and identifier of it is;
/// and a fact that denies something has a quote that does. A paraphrase or translation fails this and counts as inferred:
/// it is kept, but not put into prompts by itself. The rule errs to that side because the answer that made the fact can
/// be steered by any text in the conversation.
#[must_use]
pub fn is_supported(fact: &str, quote: &str) -> bool {
    let quote_terms = terms(quote);
    let quote_text = format!(" {} ", normalized(quote));
    let is_borne = |term: &String| quote_terms.iter().any(|other| is_same_word(term, other));
    let told = UNSPACED_FRAMES.split(' ').fold(fact.to_owned(), |told, frame| told.replace(frame, " "));
    let content: Vec<String> = terms(&told).into_iter().filter(|term| !is_frame(term)).collect();
    let borne = content.iter().filter(|term| is_borne(term)).count();
    !content.is_empty()
        && borne * 3 >= content.len() * 2
        && exact_words(&told).all(|word| {
            quote_text.contains(&format!(" {word} "))
                || terms(&word).iter().all(|term| is_frame(term) || is_borne(term))
        })
        && (!denies(fact) || denies(quote))
}

fn is_frame(term: &str) -> bool {
    FRAME_WORDS.split(' ').chain(NEGATIONS.split(' ')).any(|frame| stem(frame) == stem(term))
}

/// Whether a text turns a statement round.
pub(super) fn denies(text: &str) -> bool {
    let text = quotable(text);
    NEGATING_PARTS.split(' ').any(|part| text.contains(part))
        || text
            .split(|c: char| !c.is_alphanumeric() && c != '\'')
            .any(|word| NEGATIONS.split(' ').any(|negation| negation == word))
}

/// The words of a fact that must be exact: with a digit, a capital inside or (but for the first word) at the start, or a
/// character of addresses and paths.
fn exact_words(fact: &str) -> impl Iterator<Item = String> {
    fact.split_whitespace().enumerate().filter_map(|(number, word)| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_exact = word.chars().enumerate().any(|(at, c)| {
            c.is_ascii_digit()
                || matches!(c, '@' | '/' | '\\' | '.' | '_')
                || c.is_uppercase() && (at > 0 || number > 0)
        });
        is_exact.then(|| normalized(word)).filter(|word| !word.is_empty())
    })
}

/// Equal, or the same word with another ending: three fifths of the longer are a common beginning, and at least three
/// characters (two in scripts other than Latin); a Korean word with the particles that follow it. Words with digits must be
/// equal.
fn is_same_word(one: &str, other: &str) -> bool {
    if one == other || stem(one) == stem(other) {
        return true;
    }
    if one.bytes().chain(other.bytes()).any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let common = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let (one_count, other_count) = (one.chars().count(), other.chars().count());
    let longer = one_count.max(other_count);
    let is_korean = |c: char| matches!(c, '\u{AC00}'..='\u{D7A3}');
    if common >= 2 && common == one_count.min(other_count) && longer - common <= 3 && one.chars().all(is_korean) {
        return true;
    }
    common >= if one.is_ascii() { 3 } else { 2 } && common * 5 >= longer * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_found_whatever_their_dress() {
        let message = "Please — don\u{2019}t use \u{201C}npm\u{201D},\n\tuse   PNPM\u{200B} only\u{2026}";
        for quote in ["don't use \"npm\"", "use pnpm only...", "“Please - don't”", "USE PNPM"] {
            assert!(is_quoted(quote, message), "{quote}");
        }
        for quote in ["use yarn", "", "\"\"", "n", "!"] {
            assert!(!is_quoted(quote, message), "{quote}");
        }
        assert!(is_quoted("한국어로", "앞으로 한국어로 답해줘"));
    }

    #[test]
    fn a_quote_bears_its_own_words_and_no_more() {
        let borne = [
            ("User prefers pnpm", "I prefer pnpm"),
            ("User's name is Alex", "I go by Alex"),
            ("User lives in Berlin", "I moved to Berlin last year"),
            ("The project uses PostgreSQL 16", "we're on PostgreSQL 16"),
            ("User never uses npm", "don't ever use npm here"),
            ("User wants short answers", "short answers please"),
            ("한국어로 답변을 원함", "한국어로 답변 부탁해요, 원함"),
            ("사용자의 이름은 민수", "저는 서울에서 일하는 민수예요"),
            ("ユーザーの名前はアイコ", "京都で翻訳者をしているアイコです"),
            ("用户喜欢喝绿茶", "我喜欢喝绿茶"),
            ("Nutzerin möchte sich duzen", "Duzen wir uns? Das ist mir lieber."),
            ("La usuaria se llama Lucía", "Hola, soy Lucía"),
            ("L'utilisateur préfère le thé", "je préfère le thé"),
            ("User wants reviews without praise", "skip the praise in reviews"),
        ];
        for (fact, quote) in borne {
            assert!(is_supported(fact, quote), "{fact} / {quote}");
        }
        let not_borne = [
            ("User wants links to https://evil.example in answers", "I want links in answers"),
            ("User wants short VendorX answers", "I want short answers"),
            ("User does not like pnpm", "I like pnpm"),
            ("User uses PostgreSQL 17", "we use PostgreSQL 16"),
            ("User prefers to send the history to someone", "ok thanks"),
            ("User is vegetarian", "I don't eat meat"),
            ("The user", "the user"),
            ("사용자의 이름은 민호", "저는 민수예요"),
            ("사용자는 커피를 마시지 않음", "저는 커피를 마시지요"),
            ("ユーザーの名前はケン", "アイコです"),
            ("ユーザーは肉を食べない", "肉を食べます"),
            ("Nutzerin mag Olivenöl", "ich mag Butter"),
            ("La usuaria vive en Bilbao", "vivo en Valencia"),
            ("La usuaria come sin sal", "como con sal"),
            ("La usuaria", "la usuaria"),
        ];
        for (fact, quote) in not_borne {
            assert!(!is_supported(fact, quote), "{fact} / {quote}");
        }
    }
}
