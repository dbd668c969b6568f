//! Words that the gate looks for, as the analyzer folds them, separated by bars. What is written in Latin letters is a
//! whole word or phrase; pieces of other scripts are looked for anywhere.

/// The question points at something said before, or turns back to it.
#[rustfmt::skip] // by language
pub(super) const PAST: &str = concat!(
    // English
    "you remember|remember when|remember what|remind me|recall|earlier|was the other|was its|previously|last time|",
    "the other day|back then|you said|you told|you mentioned|you suggested|you recommended|you gave|",
    "you wrote|you explained|you proposed|did you say|did you tell|did you suggest|did you recommend|",
    "did i say|did i tell|did i mention|did i ask|i said|i told|i mentioned|i asked|i ever|did we|",
    "we decided|we discussed|we talked|we agreed|we chose|we picked|we used|we said|we ever|had we|",
    "have we|was our|were our|last week|last month|yesterday|ago|originally|so far|back to|going back|",
    "return to|as before|as usual|",
    // German
    "erinnerst|erinnere|weisst du noch|vorhin|fruher|letztes mal|letzte woche|damals|neulich|gestern|",
    "haben wir|hatten wir|hatte ich|hast du gesagt|habe ich gesagt|besprochen|erwahnt|vorher|zuruck zu|",
    "zuruck zum|zuruck zur|wie immer|wie hiess|",
    // Spanish
    "recuerdas|recuerda|acuerdas|la ultima vez|anteriormente|dijiste|dijimos|te dije|mencionaste|",
    "hablamos|decidimos|elegimos|quedamos|ayer|la semana pasada|volviendo a|volvamos a|como siempre|cual era|",
    // French
    "rappelle|souviens|tout a heure|la derniere fois|precedemment|auparavant|as-tu dit|avais dit|",
    "avons-nous|nous avons|avions|avait-on|on avait|hier|la semaine derniere|ai dit|revenir a|revenons a|",
    "comme dhabitude|etait lequel|",
    // Korean
    "아까|전에|지난|기억|말했|얘기했|이야기했|정했|하기로|예전|저번|어제|알려줬|추천했|라고 했|돌아가서|얘기인데|더라|였지|했지|",
    // Japanese
    "さっき|覚えて|以前|この前|前に言|前に話|前に聞|言った|言って|言いました|先日|昨日|前回|決めた|決めました|話した|教えてくれ|っけ|でしたか|話に戻|ことになりました|",
    // Chinese
    "之前|上次|记得|記得|刚才|剛才|说过|說過|提到|昨天|上周|讨论过|決定了|决定的|来着|回到|",
    // Thai
    "ก่อนหน้านี้|เมื่อกี้|คราวก่อน|ครั้งก่อน|จําได้|เคยบอก|เคยคุย|ที่บอก|ตกลงกัน|คุยกันไว้|กลับมาเรื่อง|",
    "เมื่อวาน",
);

/// With a detail asked for: it was told before.
#[rustfmt::skip] // by language
pub(super) const AGAIN: &str = concat!(
    // English
    "again|",
    // German
    "nochmal|noch mal|",
    // Spanish
    "otra vez|de nuevo|",
    // French
    "deja",
);

/// The question asks for a detail that must be exact.
#[rustfmt::skip] // by language
pub(super) const DETAIL: &str = concat!(
    // English
    "exact|exactly|precise|precisely|verbatim|word for word|quote|when|how many|how much|how long|",
    "how often|how old|which|what date|what day|what time|what year|who|whose|where|number|port|password|",
    "address|url|link|path|filename|version|command|email|phone|price|amount|date|name|named|called|",
    "value|id|code|",
    // German
    "genau|wann|wie viele|wie viel|wieviel|welche|welcher|welches|welchen|welchem|wer|wo|nummer|adresse|",
    "pfad|passwort|preis|datum|hiess|heisst|",
    // Spanish
    "exactamente|exacto|cuando|cuantos|cuantas|cuanta|cuanto|cual|cuales|quien|donde|numero|puerto|",
    "direccion|contrasena|precio|fecha|nombre|llama|",
    // French
    "exactement|quand|combien|quel|quelle|quels|quelles|lequel|qui|numero|adresse|chemin|prix|nom|",
    "sappelle|appelle|",
    // Korean
    "정확|언제|몇|얼마|어느|어디|누구|누가|번호|이름|주소|비밀번호|포트|버전|경로|",
    // Japanese
    "正確|いつ|何番|何人|何時|何日|いくら|いくつ|どこ|誰|どの|番号|名前|住所|バージョン|",
    // Chinese
    "确切|具体|什么时候|何时|几|多少|哪|谁|號碼|号码|名字|地址|密码|端口|版本|路径|",
    // Thai
    "เมื่อไหร่|เมื่อไร|เท่าไหร่|เท่าไร|กี่|วันไหน|ที่ไหน|ใคร|ชื่ออะไร|รหัส|พอร์ต|ตัวเลข",
);

/// Words that, alone, need no memory: greetings, thanks, agreement, "go on".
#[rustfmt::skip] // by language
pub(super) const SMALL_TALK: &str = concat!(
    // English
    "thanks|thank|thx|ty|ok|okay|great|good|cool|nice|perfect|awesome|wow|sure|yes|yeah|yep|no|nope|hi|",
    "hello|hey|bye|goodbye|morning|evening|night|lol|haha|alright|fine|understood|welcome|sorry|please|",
    "continue|go|going|proceed|done|wonderful|excellent|lovely|amazing|right|exactly|agreed|much|lot|day|",
    "cheers|works|keep|again|super|helpful|helps|clears|clear|sense|makes|sounds|try|tell|",
    "got|will|",
    // German
    "danke|bitte|toll|prima|hallo|tschuss|ja|nein|gut|genau|klar|schon|guten|morgen|tag|abend|weiter|",
    "dankeschon|vielen|dank|passt|mach|hilft|sehr|probiere|das|ich|",
    // Spanish
    "gracias|muchas|vale|hola|adios|si|bien|genial|perfecto|claro|buenos|dias|buenas|noches|tardes|sigue|",
    "sirve|intentare|",
    // French
    "merci|beaucoup|bonjour|bonsoir|salut|clair|oui|non|parfait|daccord|accord|revoir|vais|essayer",
);

/// The same for Korean, Japanese, Chinese and Thai: taken out of the text wherever they stand, longest first.
#[rustfmt::skip] // by language
pub(super) const SMALL_TALK_PIECES: &str = concat!(
    // Korean
    "안녕하세요|감사합니다|고마워요|고맙습니다|알겠습니다|좋습니다|도움이 됐어요|고마워|감사해요|알겠어요|알겠어|안녕|좋아요|좋아|그래요|그래|그렇게|해 볼게|해볼게|네|응|아니요|",
    "계속해줘|계속해 줘|계속|ᄏ|ᄒ|정말|너무|잘|",
    // Japanese
    "ありがとうございます|ありがとう|こんにちは|こんばんは|おはようございます|おはよう|さようなら|お願いします|わかりました|分かりました|助かりました|やってみます|了解です|了解|続けて|はい|",
    "いいえ|いいね|すごい|どうも|です|ね|",
    // Chinese
    "谢谢你|非常感谢|很有帮助|谢谢|謝謝|你好|您好|再见|再見|好的|我试试|好|嗯|是的|是|对|對|不|很棒|太|棒|了|明白|知道|继续|繼續|早上|晚安|哈|",
    // Thai
    "ขอบคุณมาก|ขอบคุณ|สวัสดีตอนเช้า|สวัสดี|โอเค|จะลองดู|มีประโยชน์มาก|ได้เลย|ต่อเลย|ครับ|ค่ะ|คะ|นะ",
);

/// What an answer begins with that agrees, thanks or reacts: whatever follows is told, not asked.
#[rustfmt::skip] // by language
pub(super) const REACTIONS: &str = concat!(
    // English
    "thanks|thank|thx|ok|okay|yes|yeah|yep|haha|lol|alright|great|cool|nice|wow|oh|ah|aha|hm|hmm|true|right|sure|fine|",
    "perfect|brilliant|understood|agreed|thats fine|good to know|will do|fair enough|me too|got it|makes sense|",
    // German
    "danke|ja|okay|gut|super|klar|ach|ah|oh|aha|genau|stimmt|verstehe|verstanden|alles klar|einverstanden|",
    // Spanish
    "gracias|vale|claro|ah|oh|entiendo|entendido|genial|perfecto|estupendo|de acuerdo|muy bien|",
    // French
    "merci|oui|daccord|ah|oh|parfait|super|genial|compris|ca marche|entendu|tres bien|",
    // Korean
    "고마|감사|응|네|아하|오케이|알겠|알았|그렇구나|그래|좋아|맞아|",
    // Japanese
    "ありがと|はい|うん|なるほど|了解|わかりました|分かりました|わかった|分かった|そうですね|そうか|いいですね|",
    // Chinese
    "谢谢|多谢|好的|好吧|嗯|懂了|明白|知道了|原来如此|没问题|收到|",
    // Thai
    "ขอบคุณ|ขอบใจ|โอเค|เข้าใจ|ได้เลย|ได้ค่ะ|ได้ครับ|ตกลง|อ๋อ",
);

/// Words that point at something without naming it.
#[rustfmt::skip] // by language
pub(super) const POINTING: &str = concat!(
    // English
    "it|its|that|this|those|these|they|them|he|she|him|her|there|one|ones|",
    // German
    "das|dies|diese|dieser|sie|ihn|dort|daraus|davon|",
    // Spanish
    "eso|esto|ese|esa|ello|alli|",
    // French
    "ca|cela|celui|celle|ceci|lui|",
    // Korean
    "그거|그게|그것|이거|저거|그때|그건|",
    // Japanese
    "それ|あれ|これ|その|あの|",
    // Chinese
    "那个|那個|这个|這個|它|",
    // Thai
    "อันนั้น|อันนี้|มัน",
);

/// The last answer is to be put another way, or gone on with.
#[rustfmt::skip] // by language
pub(super) const EDIT: &str = concat!(
    // English
    "shorter|longer|simpler|simplify|rewrite|reword|rephrase|translate|bullet|bullets|as a table|",
    "in a table|checklist|turn that|turn this|turn it|put that|put the|put it|make it|make that|",
    "write that|out of this|list the steps|say it|say that|explain that|explain it|show that|",
    "one sentence|more detail|elaborate|your answer|last answer|friendlier|",
    "more formal|like im five|as a code|didnt understand|dont understand|dont get|",
    "keep going|tell me more|that example|in plain|plain english|as a list|as a tweet|as an email|as a poem|",
    "as json|as yaml|in latex|in markdown|as bullets|one line|one word|two sentences|three sentences|a few words|",
    "briefly|in short|sum it up|summarize|less formal|more casual|more polite|more serious|another example|",
    "the example|step by step|number the|sort them|group them|try again|once more|",
    // German
    "kurzer|langer|einfacher|ubersetz|ubersetze|formulier|formuliere|fass|fasse|mach daraus|schreib das|schreib es|als liste|",
    "als tabelle|stichpunkte|ausfuhrlicher|freundlicher|mach weiter|nicht verstanden|in einem satz|in zwei satzen|",
    "fur kinder|als beispiel|noch ein beispiel|lockerer|formlicher|knapper|",
    // Spanish
    "mas corto|mas breve|mas largo|mas simple|reescribe|reescribelo|traduce|traducelo|resume|resumelo|",
    "ponlo|hazlo|dilo|mas detalles|mas amable|no entendi|sigue|continua|en una frase|una sola frase|en pocas palabras|",
    "explicamelo|otro ejemplo|como una lista|en una tabla|paso a paso|mas formal|mas informal|",
    // French
    "plus court|plus long|plus simple|reformule|reecris|traduis|resume|fais-en|en tableau|plus aimable|",
    "detaille|plus de details|pas compris|continue|en une phrase|en deux phrases|en un mot|dis-le|sous forme|",
    "un autre exemple|etape par etape|plus formel|plus familier|",
    // Korean
    "요약해|줄여|더 쉽게|번역해|표로|목록으로|다시 써|바꿔 줘|더 자세히|이어서|짧게|한 문장|한 줄로|단계별|예를 들어|다시 설명|",
    // Japanese
    "短くして|要約|訳して|翻訳して|箇条書き|表にまとめ|表にして|書き直して|言い換えて|もっと詳しく|もっと短|続けて|一文で|一言で|簡単に言う|例を挙げて|もう一度説明|番号を付け|",
    // Chinese
    "短一点|翻译|总结一下|列成|做成表|改写|重写|换个说法|详细一点|通俗|一句话|口语|简单点|再解释|举个例子|分步|概括|正式一点|",
    // Thai
    "สั้นกว่านี้|แปลเป็น|สรุปให้|ทําเป็นข้อ|ทําเป็นตาราง|เขียนใหม่|ง่ายกว่านี้|ขยายความ|ประโยคเดียว|สั้นลง|ยกตัวอย่าง|อธิบายใหม่|เป็นรายการ|ทีละขั้น",
);

/// It goes on from what was just said.
#[rustfmt::skip] // by language
pub(super) const SUPPOSING: &str = concat!(
    // English
    "what if|suppose|",
    // German
    "was wenn|was ist wenn|was passiert wenn|",
    // Spanish
    "y si|que pasa si|",
    // French
    "et si|que se passe-t-il si|",
    // Korean, Japanese, Chinese, Thai
    "면 어떻게|もし|如果|要是|ถ้า",
);

/// The question before was meant otherwise.
#[rustfmt::skip] // by language
pub(super) const CORRECTION: &str = concat!(
    // English
    "i meant|i mean|",
    // German
    "ich meinte|ich meine|",
    // Spanish
    "me referia|queria decir|quise decir|",
    // French
    "je voulais dire|je parlais|",
    // Korean
    "말고|",
    // Japanese
    "ではなく|じゃなくて|",
    // Chinese
    "我说的是|我是说|",
    // Thai
    "หมายถึง",
);

/// With a text given along: what is to be done with it.
#[rustfmt::skip] // by language
pub(super) const TASK: &str = concat!(
    // English
    "translate|summarize|summarise|correct|fix|convert|extract|explain|rewrite|proofread|improve|shorten|",
    "review|",
    // German
    "ubersetze|ubersetz|verbessere|korrigiere|fasse|erklare|",
    // Spanish
    "traduce|corrige|resume|explica|mejora|",
    // French
    "traduis|corrige|resume|explique|ameliore|",
    // Korean
    "번역|요약|고쳐|설명|",
    // Japanese
    "訳して|要約|直して|説明|",
    // Chinese
    "翻译|总结|修改|解释|",
    // Thai
    "แปล|สรุป|แก้|อธิบาย",
);

/// The user's own things and people.
#[rustfmt::skip] // by language
pub(super) const PERSONAL: &str = concat!(
    // English
    "my|mine|our|ours|am i|was i|do i have|what do i|where do i|have i|had i|will i have|when do i|how much do i|",
    "how often do i|i owe|i bought|",
    // German
    "mein|meine|meinen|meiner|meinem|unser|unsere|unseren|unserem|unserer|",
    // Spanish
    "mi|mis|nuestro|nuestra|nuestros|nuestras|",
    // French
    "mon|ma|mes|notre|nos|nous|",
    // Korean
    "우리|내가|나는|저희|제가|엄마|아빠|상사|남편|아내|동생|",
    // Japanese
    "私|僕|俺|母|父|弟|妹|部長|上司|",
    // Chinese
    "我们|我的|我家|我对|妈妈|爸爸|奶奶|爷爷|老板|",
    // Thai
    "ของฉัน|ของผม|ของเรา|เรา|แม่|พ่อ|หัวหน้า|คุณยาย",
);

/// What is best for the user depends on what they have told.
#[rustfmt::skip] // by language
pub(super) const ADVICE: &str = concat!(
    // English
    "suggest|recommend|should i|could i|shopping list|recipe for|plan|",
    // German
    "schlag|empfiehl|empfehl|soll ich|",
    // Spanish
    "sugiereme|sugiere|recomienda|recomiendame|recomiendanos|",
    // French
    "propose|propose-moi|recommande|recommande-nous|recommande-moi|conseille|",
    // Korean
    "추천|골라|",
    // Japanese
    "おすすめ|お勧め|何がいい|",
    // Chinese
    "推荐|建议|",
    // Thai
    "แนะนํา",
);

/// Something is to be written, in the user's way and with what they have told.
#[rustfmt::skip] // by language
pub(super) const COMPOSE: &str = concat!(
    // English
    "write|draft|reply|compose|format|implement|query for|message|",
    // German
    "schreib|schreibe|entwirf|verfasse|",
    // Spanish
    "escribe|escribeme|escribele|redacta|",
    // French
    "ecris|ecris-moi|redige|",
    // Korean
    "짜 줘|써 줘|작성해|",
    // Japanese
    "書いて|",
    // Chinese
    "写一个|写条|写封|帮我写|邮件|",
    // Thai
    "เขียนฟังก์ชัน|เขียนข้อความ|เขียนอีเมล|เขียนโค้ด",
);

/// Things that are made up from nothing.
#[rustfmt::skip] // by language
pub(super) const CREATIVE: &str = concat!(
    // English
    "poem|haiku|limerick|joke|story|riddle|song|synonyms|make up a|make up an|come up with|invent a|invent an|think of a|",
    "name three|name five|name ten|pun|fairy tale|",
    // German
    "gedicht|witz|geschichte|erfinde|denk dir|ratsel|marchen|",
    // Spanish
    "poema|chiste|cuento|inventa|inventate|adivinanza|",
    // French
    "poeme|blague|invente|imagine un|imagine une|devinette|conte|",
    // Korean
    "시를|농담|동화|수수께끼|지어 줘|",
    // Japanese
    "俳句|詩を|冗談|物語を|なぞなぞ|",
    // Chinese
    "诗|笑话|谜语|编一个|编个|童话|",
    // Thai
    "กลอน|นิทาน",
);

/// With numbers: a calculation or a conversion.
#[rustfmt::skip] // by language
pub(super) const ARITHMETIC: &str = concat!(
    // English
    "percent|times|plus|minus|divided by|square root|sqrt|feet|inches|miles|celsius|fahrenheit|in km|in kilometres|in kilometers|in mph|in metres|in meters|in cm|",
    "in kg|in kilos|in pounds|in ounces|in grams|in litres|in liters|in gallons|in seconds|in hex|in binary|",
    // German
    "prozent|mal|",
    // Spanish
    "por ciento|por|",
    // French
    "pour cent|fois|",
    // Korean
    "나누기|곱하기|더하기|퍼센트|",
    // Japanese
    "かける|割る|",
    // Chinese
    "乘以|除以|加上|",
    // Thai
    "คูณ|หาร|เปอร์เซ็นต์",
);

/// Asks for a text of a kind. With nothing definite beside it (see [`DEFINITE`]), for one that knows nothing of the user.
pub(super) const COMPOSE_ANY: &str = "write a|write an|draft a|draft an|compose a|schreib einen|schreib eine|schreib ein|escribe un|escribe una|ecris un|ecris une";
/// Points at somebody or something known.
pub(super) const DEFINITE: &str = "me|the|this|that|these|mir|den|die|das|diese|el|la|los|las|le|les";

/// The user with others, for whom something is asked.
pub(super) const US: &str = "we|us|wir|uns|nos|nous|hacemos|podemos|tenemos|vamos|estamos";

#[cfg(test)]
mod tests {
    use super::super::gate_topics::{FUNCTION, KNOWLEDGE, LIGHT};
    use super::*;
    use crate::lexical::{Analyzer, fold_into};

    #[test]
    fn tables_are_folded_and_hold_nothing_empty() {
        let tables = [
            PAST,
            AGAIN,
            DETAIL,
            SMALL_TALK,
            SMALL_TALK_PIECES,
            POINTING,
            EDIT,
            CORRECTION,
            TASK,
            PERSONAL,
            US,
            ADVICE,
            COMPOSE,
            COMPOSE_ANY,
            DEFINITE,
            CREATIVE,
            ARITHMETIC,
            FUNCTION,
            KNOWLEDGE,
            LIGHT,
            REACTIONS,
            SUPPOSING,
        ];
        for phrase in tables.iter().flat_map(|table| table.split('|')) {
            let mut folded = String::new();
            fold_into(&Analyzer::default().normalized(phrase), &mut folded);
            assert_eq!(phrase, folded);
            assert!(!phrase.is_empty());
        }
    }
}
