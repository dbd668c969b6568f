//! Words that carry no topic. They are left out of a question (unless nothing else is in it), not out of the index's
//! reach: a question of stop words only is answered by them.

use super::word_list::WordList;

/// Folded and sorted (binary search). English, with the commonest function words of German, French and Spanish where
/// those are no English content words; other languages rely on the document frequency alone.
const STOP_WORDS: WordList = WordList(
    "a aber about above after again al all also am an and any anything are arent as at au auch auf aux avec be \
    because been before being below between both but by can cannot cant ce ces cette como con could couldnt cual \
    cuales cuando dans das dass de del dem den der des dich did didnt dir do does doesnt doing donde dont down du \
    during each ein eine einem einen einer either el ella elle elles ellos else en er es esa ese eso est esta este \
    esto et etait euch ever few for from fue further gonna got habe haben had hadnt has hasnt have havent having he \
    hed hello her here heres hers herself hes hey hi him himself his how hows i ich if ihr il ils im in into is isnt \
    ist it itd itll its itself ive je just la le les let lets lo los lot ma me mi mich might mir mis mit mon more \
    most much must my myself ne nicht no noch nor not nous now nur oder of off oh ok okay on once one only or other \
    ou our ours ourselves out over own para pas please por porque pour pourquoi quand que quel quelle quelles quels \
    qui quien really same se sein shall she should shouldnt sie sind so some something su such sur sus ta tes than \
    that thatll thats the their theirs them themselves then there theres these they theyd theyll theyre theyve thing \
    things this those though through to too tu un una unas und under une unos uns until up upon us very von vous \
    wann wanna warum was wasnt we welche welcher welches well wenn wer were werent weve what whats when whens where \
    wheres whether which while who whom whos whose why wie will wir with within wo wont would wouldnt wow y yeah yes \
    yet yo you youd youll your youre yours yourself yourselves youve zu",
);

/// Whether the folded, unstemmed word is a stop word.
#[must_use]
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_list::tests::is_in_order;

    #[test]
    fn the_list_is_sorted() {
        assert!(is_in_order(STOP_WORDS));
        assert!(is_stop_word("the") && is_stop_word("youre") && !is_stop_word("port"));
    }
}
