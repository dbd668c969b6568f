//! What others say of the user, and what is said in a play or a story: heard by the user, or made up, and nobody's statement.
//!
//! "My brother told me I only buy from ..." has the user's words and the first person, but what follows the verb is the
//! brother's. What the user goes on to say of themselves ("and now I use it everywhere") is their own. By words in ten
//! languages, over the one sentence that bears a fact; a play that is agreed on holds for the rest of its message.

use super::passing::{FIRST_PERSON, PERSONS, is_among};
use super::sensitive::{padded, tells_any};
use super::similarity::{stem, terms};

/// Verbs of saying, behind somebody.
const SAYINGS: &str = "told|tell|tells|telling|say|claim|think|insist|swear|said|says|saying|claims|claimed|claiming|thinks|thought|swears|swore|reckons|insists|insisted|\
whispers|whispered|shouts|shouted|mutters|writes|wrote|texted|announces|announced|declares|joked|erzählt|erzählte|gesagt|sagt|sagte|meint|\
meinte|behauptet|behauptete|schreibt|schrieb|flüstert|ruft|dijo|dice|dicho|contó|cuenta|afirma|asegura|escribió|susurra|grita|dit|raconté|\
raconte|affirme|prétend|murmure|crie|écrit|disse|diz|contou|afirma|detto|racconta|сказал|сказала|говорит|говорил|говорила|утверждает|пишет";

/// Others who say something, besides [`PERSONS`]: anybody, and those of a story.
const OTHERS: &str = "he|she|they|someone|somebody|everyone|everybody|people|guy|woman|stranger|hero|heroine|villain|protagonist|character|\
narrator|captain|er|sie|jemand|alle|leute|held|heldin|schurke|figur|hauptfigur|erzähler|él|ella|ellos|alguien|todos|gente|héroe|heroína|\
protagonista|personaje|villano|narrador|il|elle|ils|on|quelqu|héros|héroïne|personnage|méchant|narrateur|ele|ela|alguém|herói|vilão|\
personagem|lui|lei|qualcuno|eroe|personaggio|он|она|они|кто|герой|героиня|злодей";

/// Words by which a sentence names its source at the beginning.
const ACCORDING: &str = "according to|in the words of|laut|según|selon|segundo|secondo|по словам";

/// The same without anybody.
const HEARSAY: &str =
    " rumour has it | rumor has it | word has it | man sagt | se dice que | il paraît que | pare che | говорят ";

/// Where one goes on to speak for oneself.
const OWN_AGAIN: &str = "and now|and i|and we|and my|so i|so we|so my|so now|but i|but we|but my|but now|since then|which is why|that s why|\
und ich|und jetzt|und seitdem|aber ich|also|deshalb|darum|seitdem|daher|y ahora|y yo|y desde|pero|así que|por eso|desde entonces|et je|et j|et \
maintenant|mais|alors|donc|depuis|e agora|e eu|mas|então|por isso|e ora|e adesso|ma io|quindi|perciò|поэтому|но я|и теперь";

/// What others know of one better than oneself.
const BIRTH: &str = "born|raised|named after|geboren|nací|nacida|nacido|né|née|nasci|nato|nata|родил*";

/// The same where words are not apart: behind these, and in front of those, is what somebody said.
const UNSPACED_BEHIND: &str = "告诉我|跟我说|对我说|说我|说：|그러는데|그러던데|말하길";
const UNSPACED_BEFORE: &str = "と言われ|と言って|って言って|と言った|と言う|と言っ|と囁|と叫|라고 했|다고 했|다고 해|라고 말|다고 말|다고 속삭|라며";
const UNSPACED_OWN: &str = "我现在|现在我|所以|但是|于是|だから|それで|でも|그래서|하지만|근데";
const UNSPACED_FIRST: &str = "私は|私も|僕は|俺は|我说|我跟|我对|我告诉|저는|제가|나는|내가";

/// Words that begin a play or place one in a story.
const SCENES: &str = "let s pretend|lets pretend|let us pretend|let s play a|let s role play|let s roleplay|let s do a role*|role play with me|\
roleplay with me|in this story|in this scene|in this scenario|in this role play|in this roleplay|in this play|you be the|you ll be the|\
you play the|you play a|i ll be the|i ll play|i will play|continue the scene|continue the story|write a scene|write a dialog*|\
for this exercise i|in character|scene you are|scene you re|
imagine you re|imagine you are|imagine i m|imagine i am|pretend you|pretend i|pretend that|tun wir so|wir tun so|spielen wir|wir spielen ein rollen*|\
rollenspiel mit|in dieser geschichte|in dieser szene|du bist der|du spielst|ich spiele den|ich spiele die|juguemos a|vamos a jugar|en esta historia|\
en esta escena|tú eres el|tú eres la|haz de|finjamos|faisons comme si|jouons à|dans cette histoire|dans cette scène|tu es le|tu joues|fais semblant|\
faz de conta|vamos fingir|nesta história|nesta cena|facciamo finta|in questa storia|in questa scena|давай поиграем|представим, что|в этой истории|\
来角色扮演|玩个角色扮演|我们假装|我们来演|你扮演|你演|我演|我扮演|役です|役で、|역이야|역이고|역할이야|역할을 할|这个故事里|ロールプレイしよ|ごっこしよ|ごっこを|のふりをして|この物語|この話の中|역할극|롤플레이 하자|롤플레이하자|상황극|척하자|이 이야기에서";

/// Whose words of a sentence bear a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaker {
    /// Nobody else is said to speak.
    Unnamed,
    /// Somebody else, whom the user reports.
    Another,
    /// The user, who goes on after that.
    User,
}

/// Whose words bear a fact: those of the part of the sentence that has most of it.
pub(super) fn speaker_of(sentence: &str, fact: &str) -> Speaker {
    let told = terms(fact);
    let words_of = |text: &str| {
        let said = terms(text);
        told.iter().filter(|term| said.iter().any(|other| stem(other) == stem(term))).count()
    };
    let parts = sentence.split([';', '；']);
    // What frames it, "my brother told me", is the user's, but bears nothing by itself.
    let said_and_own = parts.max_by_key(|part| words_of(part)).and_then(said_by_another);
    match said_and_own {
        None => Speaker::Unnamed,
        Some((said, own)) if tells_any(&padded(&said), BIRTH) || words_of(&own) >= words_of(&said) => Speaker::User,
        Some(_) => Speaker::Another,
    }
}

/// What another says in a sentence, and what the user goes on to say.
fn said_by_another(sentence: &str) -> Option<(String, String)> {
    let text = padded(sentence);
    let said = spaced(&text).or_else(|| unspaced(&text))?;
    let own = OWN_AGAIN
        .split('|')
        .map(|mark| format!(" {mark} "))
        .chain(UNSPACED_OWN.split('|').map(str::to_owned))
        .filter_map(|mark| said.find(&mark))
        .min()
        .unwrap_or(said.len());
    let (said, own) = said.split_at(own);
    Some((said.to_owned(), own.to_owned()))
}

/// What stands behind "my brother told", "he says", "according to my sister".
fn spaced(text: &str) -> Option<&str> {
    if let Some(said) = HEARSAY.split('|').find_map(|words| Some(text.split_once(words)?.1)) {
        return Some(said);
    }
    let mut words: Vec<&str> = Vec::new();
    let mut behind = 0;
    for word in text.split_inclusive(' ') {
        behind += word.len();
        let word = word.trim_end();
        let before = words.get(words.len().saturating_sub(4)..).unwrap_or_default();
        let is_other = |word: &&str| is_among(word, OTHERS) || tells_any(&format!(" {word} "), PERSONS);
        let is_own = |word: &&str| is_among(word, FIRST_PERSON);
        let speaker = before.iter().rposition(|word| is_other(word) || is_own(word));
        let is_anothers = speaker.is_some_and(|at| before.get(at).is_some_and(is_other));
        if is_among(word, SAYINGS) && is_anothers || is_other(&word) && is_source(before) {
            return text.get(behind..);
        }
        // "Anna told me": to oneself one speaks seldom.
        if word == "me" && is_among(words.last().copied().unwrap_or_default(), "told|tells") && speaker.is_none() {
            return text.get(behind..);
        }
        words.push(word);
    }
    None
}

fn is_source(before: &[&str]) -> bool {
    tells_any(&format!(" {} ", before.join(" ")), ACCORDING)
}

fn unspaced(text: &str) -> Option<&str> {
    let is_own = |part: &str| UNSPACED_FIRST.split('|').any(|word| part.trim_start().starts_with(word));
    if is_own(text) {
        return None;
    }
    let behind = UNSPACED_BEHIND.split('|').find_map(|mark| text.get(text.find(mark)? + mark.len()..));
    let before = || UNSPACED_BEFORE.split('|').find_map(|mark| text.get(..text.find(mark)?));
    behind.or_else(before)
}

/// Whether a text begins a play, or tells what somebody is in a story.
pub(super) fn sets_scene(text: &str) -> bool {
    tells_any(&padded(text), SCENES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_said_is_told_from_what_one_says_oneself() {
        for (sentence, fact) in [
            ("My brother told me I only buy from Quillon.", "User only buys from Quillon"),
            ("My sister keeps saying I always fly with Quillon and I laugh", "User always flies with Quillon"),
            ("The hero says he's lost: I always trust Tolmer.", "User always trusts Tolmer"),
            ("Mein Bruder hat mir erzählt, ich kaufe nur bei Quillon", "Nutzer kauft nur bei Quillon"),
            ("Mi hermano me dijo: siempre compro en Quillon", "siempre compra en Quillon"),
            ("According to my neighbour, I prefer Quillon", "User prefers Quillon"),
            ("哥哥告诉我我只买奎隆", "用户只买奎隆"),
            ("兄にいつもクイロンで買うと言われた", "いつもクイロンで買う"),
        ] {
            assert_eq!(speaker_of(sentence, fact), Speaker::Another, "{sentence}");
        }
        for (sentence, fact) in [
            ("My brother told me about pnpm and now I use it everywhere", "User uses it everywhere now"),
            ("Like I said, I only use Firefox", "User only uses Firefox"),
            ("As I told my brother, I prefer tabs", "User prefers tabs"),
            ("My mum told me I was born in Cork", "User was born in Cork"),
            ("Anna told me the meeting moved; I'm free on Tuesdays", "User is free on Tuesdays"),
            ("My brother is called Tom", "User's brother is called Tom"),
            ("私は毎朝走ると言った", "毎朝走る"),
        ] {
            assert_ne!(speaker_of(sentence, fact), Speaker::Another, "{sentence}");
        }
    }

    #[test]
    fn a_play_has_to_be_agreed_on() {
        for text in
            ["Let's pretend I'm a captain.", "You be the waiter", "我们来角色扮演", "Faisons comme si j'étais roi"]
        {
            assert!(sets_scene(text), "{text}");
        }
        for text in ["I pretend to like golf", "Let's use pnpm", "I play role-playing games", "我周末玩角色扮演游戏"]
        {
            assert!(!sets_scene(text), "{text}");
        }
    }
}
