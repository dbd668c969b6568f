//! What the user says and yet is no lasting fact about the user: a passing state, a joke, an "if", another person.
//!
//! A model that takes such a sentence for a statement is not believed: what it makes of it counts as concluded, is kept and
//! can be approved, but is in no prompt by itself. By words in ten languages, looked for in the one sentence of the message
//! that bears the fact, so that the rest of a message does not count against it.

use super::fingerprint::normalized;
use super::reported::{Speaker, sets_scene, speaker_of};
use super::sensitive::{padded, tells_any};
use super::similarity::{stem, terms};

/// Words of a case that is only thought of. Conditionals are those that wish for nothing.
const THOUGHT: &str = "if i were|if i was|if i had|if i lived|if i could|if i won|if i ever|if we were|if we had|if it were|what if|\
suppose|supposing|imagine|pretend|let s say|let us say|assume i|assuming i|hypothetically|angenommen|nehmen wir an|stell dir vor|\
stellen wir uns vor|hypothetisch|wäre ich|hätte ich|wenn ich wäre|si yo|imagina|imaginemos|imagínate|supongamos|supón|pongamos que|\
digamos que|si j étais|si j avais|supposons|admettons|se eu fosse|imagine que|suponha|se fossi|immagina|supponiamo|если бы|представь|\
предположим|もし|仮に|としたら|とします|とすれば|だったら|만약|만일|가정해|가정하|다고 쳐|다고 치|라고 쳐|라고 치|如果我|假设|假如";

/// The same words where they are meant, and words of news.
const NOT_THOUGHT: &str = "can t imagine|cannot imagine|couldn t imagine|i pretend to|no me imagino|je n imagine pas";
const NEWS: &str =
    "now|finally|at last|jetzt|endlich|ahora|por fin|maintenant|enfin|agora|finalmente|ora|adesso|наконец|теперь";

/// Forms of the verb that speak of what is not, beside a first person.
const UNREAL: &str = "would|d|could|würde|wäre|hätte|könnte|müsste";
const UNREAL_BESIDE: &str = "i|we|ich|wir|wenn|falls";

/// What makes a conditional a wish that is meant.
const WISHED: &str = "rather|like|love|prefer*|appreciate|want|need|gern*|lieber|bevorzug*|freue|wünsch*|gustaría|preferiría|bitte|please";

/// Laughter, and words that take back what was said.
const JOKED: &str = "haha*|hehe*|lol|lmao|rofl|just kidding|jk|i swear|jaja*|jeje*|es broma|en broma|scherz|kleiner spaß|nur spaß|\
blague|je plaisante|mdr|brincadeira|kkkk*|scherzo|шучу|ахаха*|ㅋㅋ|농담|冗談|哈哈|开玩笑|😂|🤣";

/// Words of this very day.
const TODAY: &str = "today|tonight|this morning|this afternoon|this evening|just now|all morning|all day|this week|heute|hoy|esta mañana|\
esta tarde|esta noche|aujourd hui|ce matin|ce soir|hoje|esta manhã|oggi|stamattina|stasera|сегодня|오늘|아까|방금|今日|さっき|今朝|今天|刚才";

/// Words of this moment; those who say where they live and work now mean more than the moment.
const NOW: &str = "right now|at the moment|at this point|gerade|im moment|momentan|ahora mismo|en este momento|en ce moment|agora mesmo|\
neste momento|adesso|сейчас|지금|今は|今すごく|今とても|现在";
const LASTING: &str = "live|living|work|working|works|study*|learn*|use|using|wohn*|arbeit*|lern*|benutz*|nutze|viv*|trabaj*|aprend*|uso|\
habite|travaille|utilise|живу|работаю|住|働|勤め|勉強|習っ|使っ|살고|살아|일하|일해|다니|다녀|배우|배워|사용|쓰고|써요|在学|住在|工作|每天|一直";

/// Words that begin something.
const BEGUN: &str = "as of|since|from|starting|started|moved|switched|changed|decided|became|got a|bought|ab heute|seit heute|umgezogen|\
gewechselt|angefangen|desde|a partir|mudado|cambiado|empezado|depuis|à partir|comecei|с сегодня|오늘부터|지금부터|부터|옮겼|바꿨|시작했|\
今日から|今から|引っ越|変えまし|始めまし|从今天";

/// Beginnings of a sentence that judge a thing at hand.
const AT_HAND: &str = "this|that|diese|dieser|dieses|este|esta|esto|cette|questo|questa";

/// What stands before another person: "my sister", "un amigo".
const WHOSE: &str = "my|our|a|an|the|mein|meine|unser|unsere|ein|eine|der|die|mi|mis|nuestro|nuestra|un|una|mon|ma|notre|une|meu|minha|\
um|uma|mio|mia";

/// Other persons; a word that ends in `*` is a beginning.
pub(super) const PERSONS: &str = "sister*|brother*|mother|mom|mum|father|dad|wife|husband|partner*|girlfriend|boyfriend|son|sons|daughter*|kid|kids|\
child|children|parents|friend*|boss|manager|colleague*|coworker*|client*|customer*|neighbo*|roommate*|flatmate*|ex|apprentice*|\
intern|teacher|professor|supervisor|uncle|aunt|cousin*|grandm*|grandp*|grandf*|schwester*|bruder|brüder|mutter|vater|frau|mann|\
freund*|sohn|tochter|kinder|eltern|chef*|kolleg*|kunde*|kundin*|nachbar*|mitbewohner*|lehrling|azubi|lehrer*|onkel|tante|oma|opa|hermana*|\
hermano*|madre|padre|padres|mamá|papá|mujer|marido|esposa|esposo|pareja|novia|novio|hijo*|hija*|amiga*|amigo*|jefa|jefe|compañer*|\
colega*|vecin*|profesor*|tío|tía|prima|primo|abuel*|sœur|frère|mère|père|femme|mari|copine|copain|fils|fille|enfants|ami|amie|\
collègue*|voisin*|irmã|irmão|mãe|pai|esposa|chefe|sorella|fratello|moglie|marito|capo|брат*|сестр*|мать|мама|отец|папа|муж|жена|друг|друзья|подруга|коллег*|начальни*|сосед*|сын|дочь";

/// The same where a particle follows that makes them the sentence's subject.
const KOREAN_PERSONS: &str = "동생 형 누나 오빠 언니 엄마 아빠 어머니 아버지 부모님 아내 남편 여자친구 남자친구 친구 상사 사장님 부장님 팀장님 과장님 대표님 동료 선생님 교수님 아들 딸 아이 이웃 고객 할머니 할아버지";
const KOREAN_SUBJECTS: &str = "은 는 이 가 도 께서 께서는 이는 이가";
const JAPANESE_PERSONS: &str = "妹 弟 兄 姉 母 父 両親 妻 夫 彼女 彼氏 友達 友人 上司 部長 社長 課長 同僚 先輩 後輩 先生 教授 息子 娘 子供 隣人 お客さん 顧客 祖父 祖母 姐姐 妹妹 哥哥 弟弟 妈妈 爸爸 老板 同事 朋友";
const JAPANESE_SUBJECTS: &str = "は が も 只 是 在 喜";

/// The user, as the one who speaks.
pub(super) const FIRST_PERSON: &str = "i|we|ich|wir|yo|nosotros|nosotras|je|j|nous|eu|nós|io|noi|я|мы|私|僕|俺|うち|저는|저도|제가|저희|나는|내가|우리|我|我们";

/// Whether a sentence that bears a fact says nothing lasting about the user. `has_end`: it is known when the fact ends, so
/// that a passing state is one that was told as such; `is_opinion`: the fact is a preference.
pub(super) fn is_passing(fact: &str, quote: &str, message: &str, has_end: bool, is_opinion: bool) -> bool {
    let (sentence, before) = bearing_sentence(fact, quote, message);
    let said = Said::new(sentence);
    said.is_thought()
        || said.is_joke()
        || before.is_some_and(|before| Said::new(before).is_laughter())
        || !has_end && said.is_of_the_moment(is_opinion)
        || match speaker_of(sentence, fact) {
            Speaker::Unnamed => said.is_about_another(fact),
            speaker => speaker == Speaker::Another,
        }
        || sets_scene(up_to(message, sentence))
}

/// The message up to the end of one of its sentences.
fn up_to<'a>(message: &'a str, sentence: &str) -> &'a str {
    let end = message.find(sentence).map_or(message.len(), |at| at + sentence.len());
    message.get(..end).unwrap_or(message)
}

/// A sentence in normalised form, with a space at either end.
struct Said<'a> {
    raw: &'a str,
    padded: String,
}

impl<'a> Said<'a> {
    fn new(raw: &'a str) -> Self {
        Self { raw, padded: padded(raw) }
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.padded.split(' ').filter(|word| !word.is_empty())
    }

    fn has(&self, list: &str) -> bool {
        tells_any(&self.padded, list)
    }

    fn is_thought(&self) -> bool {
        if self.has(THOUGHT) && !self.has(NOT_THOUGHT) && !self.is_news() {
            return true;
        }
        let has_beside = || self.words().any(|word| is_among(word, UNREAL_BESIDE));
        let is_unreal = self.words().any(|word| is_among(word, UNREAL)) && has_beside() && !self.has(WISHED);
        // "si abriera": a Spanish subjunctive behind "si".
        let mut words = self.words().skip_while(|word| *word != "si").skip(1);
        is_unreal || words.next().is_some_and(|verb| verb.chars().count() > 4 && verb.ends_with("ra"))
    }

    /// "Imagine, I live in Graz now!"
    fn is_news(&self) -> bool {
        self.raw.ends_with('!') && self.has(NEWS)
    }

    fn is_joke(&self) -> bool {
        let end = self.raw.trim_end_matches(|c: char| !c.is_alphanumeric());
        self.has(JOKED) || end.ends_with('笑') || end.ends_with("ww")
    }

    /// Nothing but laughter.
    fn is_laughter(&self) -> bool {
        self.is_joke() && self.words().count() <= 2
    }

    fn is_of_the_moment(&self, is_opinion: bool) -> bool {
        let is_now = self.has(TODAY) || self.has(NOW) && !self.has(LASTING);
        let is_at_hand = is_opinion && self.words().next().is_some_and(|word| is_among(word, AT_HAND));
        (is_now || is_at_hand) && !self.has(BEGUN)
    }

    /// Its subject is another person, who is not in the fact.
    fn is_about_another(&self, fact: &str) -> bool {
        let told = Said::new(fact);
        let is_named =
            told.has(PERSONS) || names(&told.padded, KOREAN_PERSONS) || names(&told.padded, JAPANESE_PERSONS);
        !is_named && !self.has(FIRST_PERSON) && self.begins_with_another()
    }

    fn begins_with_another(&self) -> bool {
        let first: Vec<&str> = self.words().take(5).collect();
        let is_person = |word: &&str| tells_any(&format!(" {word} "), PERSONS);
        let whose = first.iter().take(3).position(|word| is_among(word, WHOSE));
        let is_spaced = whose.is_some_and(|at| first.iter().skip(at + 1).take(2).any(is_person));
        let is_korean = first.iter().take(3).any(|word| {
            KOREAN_PERSONS.split(' ').any(|person| {
                word.strip_prefix(person).is_some_and(|rest| KOREAN_SUBJECTS.split(' ').any(|end| end == rest))
            })
        });
        let is_japanese = first.first().is_some_and(|text| {
            JAPANESE_PERSONS.split(' ').any(|person| {
                text.strip_prefix(person)
                    .is_some_and(|rest| JAPANESE_SUBJECTS.split(' ').any(|end| rest.starts_with(end)))
            })
        });
        is_spaced || is_korean || is_japanese
    }
}

pub(super) fn is_among(word: &str, list: &str) -> bool {
    list.split('|').any(|other| other == word)
}

fn names(text: &str, persons: &str) -> bool {
    persons.split(' ').any(|person| text.contains(person))
}

/// Of the message's sentences that the quote takes from, the one with the most words of the fact, and the one before it.
/// The whole message where the quote is none of its sentences.
pub(super) fn bearing_sentence<'a>(fact: &str, quote: &str, message: &'a str) -> (&'a str, Option<&'a str>) {
    let quoted = normalized(quote);
    let told = terms(fact);
    let mut best: Option<(usize, &str, Option<&str>)> = None;
    let mut before = None;
    for sentence in sentences(message) {
        let plain = normalized(sentence);
        if !plain.is_empty() && (plain.contains(&quoted) || quoted.contains(&plain)) {
            let said = terms(sentence);
            let borne = told.iter().filter(|term| said.iter().any(|other| stem(other) == stem(term))).count();
            if best.is_none_or(|(most, ..)| borne > most) {
                best = Some((borne, sentence, before));
            }
        }
        before = Some(sentence);
    }
    best.map_or((message, None), |(_, sentence, before)| (sentence, before))
}

fn sentences(message: &str) -> impl Iterator<Item = &str> {
    let is_end = |text: &str, at: usize, end: char| {
        let behind = text.get(at + end.len_utf8()..).and_then(|rest| rest.chars().next());
        matches!(end, '\n' | '。' | '！' | '？') || behind.is_none_or(char::is_whitespace)
    };
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let ends = rest.char_indices().filter(|(_, c)| matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？'));
        let end =
            ends.into_iter().find(|(at, c)| is_end(rest, *at, *c)).map_or(rest.len(), |(at, c)| at + c.len_utf8());
        let (sentence, behind) = rest.split_at(end);
        rest = behind;
        Some(sentence.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// What was said and what was made of it, written before the rules: `tests/passing/said.txt`.
    const SAID: &str = include_str!("../../tests/passing/said.txt");

    fn cases() -> impl Iterator<Item = (&'static str, &'static str, &'static str, &'static str)> {
        SAID.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let mut parts = line.split('|');
            let mut next = || parts.next().unwrap();
            (next(), next(), next(), next())
        })
    }

    #[test]
    fn what_passes_is_told_from_what_lasts_in_five_languages() {
        let mut sums: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for (kind, language, said, fact) in cases() {
            let is_right = is_passing(fact, said, said, false, kind == "transient") == (kind != "lasting");
            let (right, all) = sums.entry(kind).or_default();
            (*right, *all) = (*right + usize::from(is_right), *all + 1);
            if !is_right {
                println!("{kind} {language}: {said}");
            }
        }
        println!("{sums:?}");
        assert_eq!(sums.len(), 5);
        assert!(sums.values().all(|(right, all)| right * 10 >= all * 9), "{sums:?}");
        assert_eq!(sums["lasting"].0, sums["lasting"].1, "{sums:?}");
    }

    #[test]
    fn only_the_sentence_that_bears_a_fact_counts() {
        let message = "I'm so tired today. I live in Berlin, by the way! My sister only eats pizza.";
        let is = |fact: &str, quote: &str| is_passing(fact, quote, message, false, false);
        assert!(!is("User lives in Berlin", "I live in Berlin"));
        assert!(!is("User lives in Berlin", message));
        assert!(is("User is tired", "I'm so tired"));
        assert!(is("User is tired", message));
        assert!(is("User only eats pizza", "only eats pizza"));
        assert!(!is("User's sister only eats pizza", message));
        // An end that was told makes a passing state one that is known to pass.
        assert!(!is_passing("User is tired", message, message, true, false));
        assert!(is_passing("User is a duck", "I'm a duck", "lol. I'm a duck", false, false));
        assert!(is_passing("User lived in Rome", "I lived in Rome", "What if I lived in Rome?", false, false));
    }
}
