//! Function words of languages that are not cut into words by spaces, or that glue them to words: what an n-gram of a
//! question must not be made of.
//!
//! "ピアノは誰に運んでもらうべきでしたか" asks about a piano and about carrying; its grams "でし", "した" and "もら" are in
//! half of all messages, and a small store's document frequencies do not tell. So a question's function words are found
//! by these lists, and grams are made of what is left.

use super::word_list::WordList;

/// Particles and verb endings of Korean, at most four syllables, sorted.
const HANGUL_ENDINGS: WordList = WordList(
    "가 거든 거야 게 고 과 군요 기로 까 까지 께서 나 나서 나요 네 네요 느냐고 는 는데 니 다 다가 다고 다는 다며 다면 대로 더라 더라고 던 던가 던가요 도 도록 됐다 됐더라 됐어 됐지 되는 된 \
    된다 된다고 됩니다 든지 들 들은 들을 들이 들한테 라 라고 라는 라도 라면 라서 랑 려고 려면 로 를 마다 만 며 면 면서 밖에 보다 부터 뿐 서 세요 습니까 습니다 씩 아 아서 아야 아요 았더라 \
    았던 았어 았지 야 어 어서 어야 어요 었더라 었던 었어 었지 에 에게 에는 에서 에요 여 였더라 였어 였지 예요 와 요 으라고 으로 으면 은 은데 을 을까 의 이 이나 이다 이라고 이라는 이랑 이면 \
    이야 이었지 이에요 인가 인가요 인데 인지 입니까 입니다 자고 자마자 죠 지 지만 처럼 하게 하고 하기 하기로 하는 하는데 하니까 하다 하라고 하려고 하려면 하면 하세요 하자고 하지 한 한다 한다고 \
    한데 한테 할 할까 할지 합니까 합니다 해 해서 해야 해요 했는데 했다 했더라 했던 했습니다 했어 했어요 했었지 했지",
);

/// Korean words without a topic, after their endings are taken off, sorted.
const HANGUL_WORDS: WordList = WordList(
    "거 거야 거였 건 걸 것 게 관련 관해 그 그거 그게 그때 그래 그런 그럼 그리 나 내 너 네 누 누가 누구 다시 대한 대해 더 데 동안 돼 됐 되 된 될 때 때문 또 말 몇 무슨 무엇 뭐 뭐더 뭐라 \
    뭐였 뭔 뭘 및 수 아까 알려 어느 어디 어디였 어땠 어떤 어떻 어떻게 언제 얼마 얼마나 없 왜 우리 이거 이게 인 있 있었 저 저거 저번 좀 줄래 줘 하 한 할 해 했 혹시",
);

/// Japanese and Chinese, sorted.
const HAN_AND_KANA: WordList = WordList(
    "あと あの ある あれ いい いう いくつ いくら いた いつ いて いました います いる か かった から が ください くらい くれ くれました けど けれど こと この これ された される しか した したい \
    したら して しない しました します じゃ すべき する すれ せん そう その それ たい ため だ だけ だった だと だろう っけ って て てい ていた ている ては で でした でしたか でしたっけ でしょう \
    でしょうか です ですか では でも と という といけ とき ところ として とは どう どうして どうすれば どこ どちら どの どのくらい どれ どれくらい どんな な ない なかった なぜ など なに なら なる \
    なん なんで に において について については には によると の ので のに は ば ばいい べき ほう ほど ました ましたか ます ますか ません また まだ まで も もう もの もらう や よう ように より \
    られ れば を んで んでした んでしたか んでしたっけ んです 一下 一个 为什么 为何 么 也 了 什么 什么时候 什么样 他 他们 以前 们 但是 何 何か 何が 何で 何を 何个 你 你们 关于 几 几个 可以 吗 \
    吧 呀 告诉 呢 哪 哪个 哪些 哪儿 哪里 啊 嘛 因为 在哪 在哪里 多久 多少 她 如何 如果 它 就是 应该 当时 很 怎么 怎么办 怎么样 怎样 我 我们 所以 把 时候 是 是不是 是什么 有什么 有没有 来着 \
    没有 的 的是 的话 能不能 被 言いました 言った 言って 言っていました 誰 说过 请 谁 还是 还有 还要 这 这个 那 那个 那些 需要",
);

/// Thai in NFKC, which takes SARA AM apart, sorted.
const THAI: WordList = WordList(
    "กับ กี่ ก็ ของ ครับ ควร คือ คุณ จะ จาก ฉัน ช่วย ซึ่ง ด้วย ตอนนี้ ตอนไหน ต้อง ถึง ถ้า ที่ ที่ไหน \
    ท\u{E4D}\u{E32}อย่างไร ท\u{E4D}\u{E32}ไม นั้น นี้ บอกว่า บ้าง มีอะไร ยัง ยังไง วันอะไร วันไหน ว่าอย่างไร ว่าอะไร \
    หน่อย หรือ หรือเปล่า อยาก อยู่ อย่างไร อะไร อีก เขา เคย เท่าไร เท่าไหร่ เธอ เป็น เพราะ เพื่อ เมื่อ เมื่อไร \
    เมื่อไหร่ เรา แบบ แบบไหน และ แล้ว โดย ใคร ใน ให้ ได้ ไม่ ไว้ ไหน ไหม",
);

/// Thai particles, sorted: only at the end of a run, because they begin content words too.
const THAI_LAST: WordList = WordList("คะ ค่ะ จ้ะ นะ มั้ย ล่ะ สิ");

/// Bytes of a Hangul syllable, and syllables of the longest ending.
const SYLLABLE: usize = 3;
const LONGEST_ENDING: usize = 4;
/// Most endings that are taken off one word ("에서" and "는").
const MOST_ENDINGS: usize = 2;

/// A Hangul word without the particles and verb endings at its end; never empty.
pub(super) fn hangul_stem(word: &str) -> &str {
    let mut stem = word;
    for _ in 0..MOST_ENDINGS {
        let longest = (1..=LONGEST_ENDING).rev().filter_map(|count| stem.len().checked_sub(count * SYLLABLE));
        let ending = longest
            .filter(|start| *start > 0 && stem.is_char_boundary(*start))
            .find(|start| HANGUL_ENDINGS.contains(&stem[*start..]));
        match ending {
            Some(start) => stem = &stem[..start],
            None => break,
        }
        // Of two syllables one is seldom an ending: "회의" is a meeting.
        if stem.len() <= 2 * SYLLABLE {
            break;
        }
    }
    stem
}

/// Whether a Hangul word, or what is left of it without endings, has no topic.
pub(super) fn is_hangul_function_word(word: &str, stem: &str) -> bool {
    HANGUL_WORDS.contains(stem) || HANGUL_WORDS.contains(word)
}

fn is_hiragana(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{309F}')
}

/// Signs of Thai that stand on or after the letter before them: a word does not begin with one.
fn is_thai_sign(character: char) -> bool {
    matches!(character, '\u{E31}' | '\u{E34}'..='\u{E3A}' | '\u{E47}'..='\u{E4E}')
}

/// Bytes of the longest word of the sorted list that `text` begins with and that may end there.
fn longest_word(list: WordList, text: &str, may_end: impl Fn(&str, &str) -> bool) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let first = &text[..first.len_utf8()];
    let same = list.from(first).split(' ').take_while(|word| word.starts_with(first));
    same.filter(|word| text.starts_with(word) && may_end(word, &text[word.len()..])).map(str::len).max().unwrap_or(0)
}

/// Finds the function words of a run of Han and Kana, or of Thai: `covered` gets one entry for each character of the run,
/// true where it is part of one.
pub(super) fn cover(run: &str, covered: &mut Vec<bool>) {
    covered.clear();
    let mut function_until = 0;
    for (start, _) in run.char_indices() {
        if start >= function_until {
            function_until = start + function_word(&run[start..]);
        }
        covered.push(start < function_until);
    }
}

fn function_word(text: &str) -> usize {
    if text.starts_with(|first| matches!(first, '\u{E00}'..='\u{E7F}')) {
        let is_last = THAI_LAST.contains(text);
        return if is_last { text.len() } else { longest_word(THAI, text, |_, rest| !rest.starts_with(is_thai_sign)) };
    }
    longest_word(HAN_AND_KANA, text, |word, rest| {
        // One kana is a particle only where the word before is over and another begins: "のみもの" is a drink.
        !(word.len() == SYLLABLE && word.starts_with(is_hiragana) && rest.starts_with(is_hiragana))
            || longest_word(HAN_AND_KANA, rest, |next, _| next.len() > SYLLABLE) > 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_list::tests::is_in_order;

    #[test]
    fn the_lists_are_sorted() {
        for list in [HANGUL_ENDINGS, HANGUL_WORDS, HAN_AND_KANA, THAI, THAI_LAST] {
            assert!(is_in_order(list));
        }
        assert!(HANGUL_ENDINGS.0.split(' ').all(|ending| ending.len() <= LONGEST_ENDING * SYLLABLE));
    }

    #[test]
    fn endings_are_taken_off() {
        for (word, stem) in [
            ("데이터베이스에서는", "데이터베이스"),
            ("포트를", "포트"),
            ("포트는", "포트"),
            ("추천했더라", "추천"),
            ("회의", "회"),
            ("가", "가"),
        ] {
            assert_eq!(hangul_stem(word), stem);
        }
    }

    fn left(run: &str) -> String {
        let mut covered = Vec::new();
        cover(run, &mut covered);
        run.chars().zip(covered).map(|(character, covered)| if covered { '_' } else { character }).collect()
    }

    #[test]
    fn function_words_are_covered() {
        assert_eq!(left("ピアノは誰に運んでもらうべきでしたか"), "ピアノ___運___________");
        assert_eq!(left("疼的是哪个膝盖"), "疼____膝盖");
        assert_eq!(left("แมวเป็นอะไรนะ"), "แมว__________");
    }
}
