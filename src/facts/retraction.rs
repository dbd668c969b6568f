//! Whether somebody takes something back: what it is about is then looked for more widely, since "forget what I said about my
//! job" shares no word with the job.

use super::sensitive::{padded, tells_any};

/// Words that take back or end something, in normalised form; a word that ends in `*` is a beginning.
const WORDS: &str = "no longer|any more|anymore|forget|used to|stopped|quit|gave up|given up|never mind|cancel*|take back|instead of|\
changed my mind|scrap that|scratch that|is over|nicht mehr|vergiss|vergessen sie|aufgehört|aufgegeben|streich*|doch nicht|\
abgesagt|statt|stattdessen|ya no|olvida*|olvídalo|dejé de|he dejado|dejo de|en lugar de|en vez de|cancela*|ne plus|n est plus|n ai plus|\
oublie*|arrêté de|annul*|já não|não mais|esqueça|esquece|parei de|non più|dimentica|смени*|больше не|забудь|перестал*|отмен*|더 이상|그만|잊어|취소|\
안 해도|이제 안|하지 않게|바뀌었|やめ|辞め|忘れて|取り消|なくなりました|不要になり|もう必要|不再|忘了|取消|算了";

/// Whether a fact, or the words that it was made from, takes something back.
pub(super) fn is_retraction(fact: &str, quote: &str) -> bool {
    [fact, quote].iter().any(|text| tells_any(&padded(text), WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_is_told_from_what_is_said() {
        for text in [
            "Forget what I said about my job",
            "I no longer use Vim",
            "Vergiss die Sache mit dem Hund",
            "Ich rauche nicht mehr",
            "Ya no vivo en Lima",
            "이제 클라이밍은 그만뒀어요",
            "文を分けるのはやめました",
            "больше не пью кофе",
        ] {
            assert!(is_retraction("User said something", text), "{text}");
            assert!(is_retraction(text, "yes"), "{text}");
        }
        for text in ["I live in Berlin", "Ich mag Tee", "Vivo en Lima", "저는 서울에 살아요", "紅茶が好きです"]
        {
            assert!(!is_retraction(text, text), "{text}");
        }
    }
}
