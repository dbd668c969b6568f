//! Words that the gate looks for, folded as the analyzer folds. Latin-script pieces are whole words or phrases between
//! spaces; pieces of Korean, Japanese and Chinese are looked for anywhere.

/// The question points at something said before.
#[rustfmt::skip] // words in lines, not one to a line
pub(super) const PAST: &[&str] = &[
    // English
    "remember", "remind", "recall", "earlier", "previously", "before that", "last time", "the other day", "back then",
    "once more", "you said", "you told", "you mentioned", "you suggested", "you recommended", "you gave", "you wrote",
    "you explained", "you proposed", "did you say", "did you tell", "did you suggest", "did you recommend",
    "did i say", "did i tell", "did i mention", "did i ask", "i said", "i told", "i mentioned", "i asked", "did we",
    "we decided", "we discussed", "we talked", "we agreed", "we chose", "we picked", "we used", "we said", "had we",
    "have we", "was our", "were our", "last week", "last month", "yesterday", "ago", "original", "originally",
    "so far",
    // German
    "erinnerst", "erinnere", "vorhin", "fruher", "letztes mal", "letzte woche", "damals", "neulich", "gestern",
    "haben wir", "hatten wir", "hast du gesagt", "habe ich gesagt", "besprochen", "erwahnt", "vorher",
    // Spanish
    "recuerdas", "recuerda", "acuerdas", "antes", "la ultima vez", "anteriormente", "dijiste", "dijimos", "te dije",
    "mencionaste", "hablamos", "decidimos", "ayer", "la semana pasada",
    // French
    "rappelle", "souviens", "tout a heure", "la derniere fois", "precedemment", "auparavant", "as-tu dit",
    "avais dit", "avons-nous", "nous avons", "avions", "hier", "la semaine derniere", "ai dit",
];

/// The same for Korean, Japanese and Chinese.
#[rustfmt::skip] // words in lines, not one to a line
pub(super) const PAST_PIECES: &[&str] = &[
    "아까", "전에", "지난", "기억", "말했", "얘기했", "이야기했", "정했", "하기로", "예전", "저번", "어제", "알려줬",
    "추천했", "前に", "さっき", "覚えて", "以前", "言って", "言った", "先日", "昨日", "前回", "決めた", "話した",
    "教えてくれ", "之前", "上次", "记得", "記得", "刚才", "剛才", "说过", "說過", "提到", "昨天", "上周", "讨论过",
    "決定了", "决定的",
];

/// The question asks for a detail that must be exact.
#[rustfmt::skip] // words in lines, not one to a line
pub(super) const DETAIL: &[&str] = &[
    // English
    "exact", "exactly", "precise", "precisely", "verbatim", "word for word", "quote", "when", "how many", "how much",
    "how long", "how often", "how old", "which", "what date", "what day", "what time", "what year", "who", "whose",
    "where", "number", "port", "password", "address", "url", "link", "path", "filename", "version", "command",
    "email", "phone", "price", "amount", "date", "name", "named", "called", "value", "id", "code",
    // German
    "genau", "wann", "wie viele", "wie viel", "wieviel", "welche", "welcher", "welches", "welchen", "wer", "nummer",
    "adresse", "pfad", "passwort", "preis", "datum", "hiess", "heisst",
    // Spanish
    "exactamente", "exacto", "cuando", "cuantos", "cuantas", "cuanto", "cual", "cuales", "quien", "donde", "numero",
    "puerto", "direccion", "contrasena", "precio", "fecha", "nombre",
    // French
    "exactement", "quand", "combien", "quel", "quelle", "quels", "quelles", "qui", "numero", "adresse", "chemin",
    "prix", "nom",
];

/// The same for Korean, Japanese and Chinese.
#[rustfmt::skip] // words in lines, not one to a line
pub(super) const DETAIL_PIECES: &[&str] = &[
    "정확", "언제", "몇", "얼마", "어느", "어디", "누구", "누가", "번호", "이름", "주소", "비밀번호", "포트", "버전",
    "경로", "正確", "いつ", "何番", "何人", "何時", "いくら", "いくつ", "どこ", "誰", "どの", "番号", "名前", "住所",
    "バージョン", "确切", "具体", "什么时候", "何时", "几", "多少", "哪", "谁", "號碼", "号码", "名字", "地址",
    "密码", "端口", "版本", "路径",
];

/// Words that, alone, need no memory: greetings, thanks, agreement.
#[rustfmt::skip] // words in lines, not one to a line
pub(super) const SMALL_TALK: &[&str] = &[
    // English
    "thanks", "thank", "thx", "ty", "ok", "okay", "great", "good", "cool", "nice", "perfect", "awesome", "wow",
    "sure", "yes", "yeah", "yep", "no", "nope", "hi", "hello", "hey", "bye", "goodbye", "morning", "evening", "night",
    "lol", "haha", "alright", "fine", "understood", "welcome", "sorry", "please", "continue", "go", "going",
    "proceed", "done", "wonderful", "excellent", "lovely", "amazing", "right", "exactly", "agreed", "much", "lot",
    "day", "cheers", "works",
    // German
    "danke", "bitte", "super", "toll", "prima", "hallo", "tschuss", "ja", "nein", "gut", "genau", "klar", "schon",
    "guten", "morgen", "tag", "abend", "weiter", "dankeschon", "vielen", "dank", "passt",
    // Spanish
    "gracias", "muchas", "vale", "hola", "adios", "si", "bien", "genial", "perfecto", "claro", "buenos", "dias",
    "buenas", "noches", "tardes", "sigue",
    // French
    "merci", "beaucoup", "bonjour", "bonsoir", "salut", "oui", "non", "parfait", "daccord", "accord",
    "bien", "continue", "genial", "revoir",
];

/// The same for Korean, Japanese and Chinese: taken out of the text wherever they stand, longest first.
#[rustfmt::skip] // words in lines, not one to a line
pub(super) const SMALL_TALK_PIECES: &[&str] = &[
    "안녕하세요", "감사합니다", "고마워요", "고맙습니다", "알겠습니다", "좋습니다", "고마워", "감사해요", "알겠어요",
    "알겠어", "안녕", "좋아요", "좋아", "그래요", "그래", "네", "응", "아니요", "계속해줘", "계속", "ㅋ", "ㅎ",
    "정말", "너무", "잘", "ありがとうございます", "ありがとう", "こんにちは", "こんばんは", "おはようございます",
    "おはよう", "さようなら", "お願いします", "わかりました", "分かりました", "了解です", "了解", "はい", "いいえ",
    "いいね", "すごい", "どうも", "です", "ね", "谢谢你", "谢谢", "謝謝", "你好", "您好", "再见", "再見", "好的",
    "好", "嗯", "是的", "是", "对", "對", "不", "很棒", "太", "棒", "了", "明白", "知道", "继续", "繼續", "早上",
    "晚安", "哈",
];

/// Words that point at something without naming it.
#[rustfmt::skip] // words in lines, not one to a line
pub(super) const POINTING: &[&str] = &[
    "it", "its", "that", "this", "those", "these", "they", "them", "he", "she", "him", "her", "there", "one", "ones",
    "das", "dies", "diese", "dieser", "sie", "es", "er", "ihn", "dort", "eso", "esto", "ese", "esa", "ello", "alli",
    "ca", "cela", "celui", "celle", "ceci", "lui",
];

/// The same for Korean, Japanese and Chinese.
#[rustfmt::skip] // words in lines, not one to a line
pub(super) const POINTING_PIECES: &[&str] = &[
    "그거", "그게", "그것", "이거", "저거", "그때", "それ", "あれ", "これ", "その", "あの", "那个", "那個", "这个",
    "這個", "它",
];
