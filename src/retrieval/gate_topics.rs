//! Words by which the gate tells what a question is about: those that say nothing of it, those of what anybody may know.
//! Written as in `gate_words.rs`, which holds the phrases that say what kind of request it is.

/// Words without a topic that are no stop words of the index.
#[rustfmt::skip] // by language
pub(super) const FUNCTION: &str = concat!(
    // English
    "many|much|use|get|give|",
    // German
    "hat|viele|viel|kann|kannst|wird|war|gilt|heisst|auf|fur|bei|nach|aus|man|alle|dann|schon|mehr|gibt|",
    // Spanish
    "hay|son|tiene|hace|puede|puedo|todo|muy|mas|sin|cuantos|cuantas|cuanta|cuanto|hasta|pero|",
    // French
    "sont|fait|peut|font|combien|quoi|tout|plus|sans|aussi|comment|est-ce|quest-ce|cest|sil|te|plait",
);

/// How one asks for what anybody may know, and what only such questions are about.
#[rustfmt::skip] // by language
pub(super) const KNOWLEDGE: &str = concat!(
    // English
    "what is a|what is an|what are the|who invented|who wrote|who discovered|who created|who painted|who composed|who founded|",
    "who built|who was the|who was|capital of|stands for|stand for|how do i say|how do you say|",
    "how does a|in the world|in the universe|on earth|the meaning of the word|which country|which planet|which century|",
    "which continent|which language|universe|planet|planets|sky|moon|photosynthesis|theorem|nobel prize|world war|emperor|",
    "mammal|mammals|human body|adult human|sea level|",
    // German
    "was ist ein|was ist eine|wer hat erfunden|wer erfand|wer schrieb|wer malte|wer entdeckte|hauptstadt|was bedeutet|wie funktioniert|",
    "ein mensch|auf der welt|der welt|planet|planeten|welches tier|jahrhundert|weltkrieg|",
    // Spanish
    "que es un|que es una|capital de|quien invento|quien escribio|quien pinto|quien descubrio|como se dice|que significa|cuerpo humano|",
    "del mundo|planeta|planetas|que pais|siglo|guerra mundial|",
    // French
    "quun|quune|quest-ce quun|quest-ce quune|capitale de|qui a invente|qui a ecrit|qui a peint|qui a decouvert|que signifie|",
    "comment dit-on|corps humain|du monde|planete|planetes|fleuve|quel pays|siecle|guerre mondiale|",
    // Korean, Japanese, Chinese, Thai
    "가 뭐야|란 뭐|수도는|사람의|세계에서|지구|행성|누가 발명|세기|とは何|首都|人間の|世界で|惑星|誰が発明|世紀|什么是|人体|世界上|太阳系|行星|",
    "谁发明|首都|世纪|คืออะไร|เมืองหลวง|มนุษย์|ในโลก|ดาวเคราะห์|ศตวรรษ",
);

/// Words that say what is asked of something, not of what, or next to nothing at all, and that stand in any conversation:
/// that an older message has one says little.
#[rustfmt::skip] // by language
pub(super) const LIGHT: &str = concat!(
    // English
    "able|add|allow|answer|area|ask|away|back|bad|became|become|began|begin|believe|best|better|big|bit|bring|brought|buy|",
    "call|came|case|cause|certain|change|check|choose|clear|close|color|colour|come|common|complete|consider|contain|cost|",
    "country|course|create|cut|day|days|decide|difference|different|do|doing|done|early|easy|else|end|enough|ever|example|",
    "extra|fact|fall|far|fast|feel|felt|few|figure|fill|final|find|first|fit|follow|force|form|found|free|front|full|gave|",
    "general|given|go|going|gone|good|got|great|half|hand|happen|hard|hear|heard|held|help|high|hold|hour|hours|idea|",
    "important|include|increase|issue|keep|kept|kilo|kind|knew|know|known|large|last|later|least|leave|left|less|let|level|",
    "like|line|list|listen|listening|little|live|long|look|lose|lost|lot|low|made|main|make|many|mark|matter|mean|meant|",
    "measure|meet|middle|mind|minute|minutes|moment|month|months|more|most|much|need|new|next|nice|notice|often|old|open|",
    "order|other|own|part|pass|people|period|person|pick|piece|place|point|possible|present|probably|problem|process|",
    "produce|provide|pull|push|put|question|quick|raise|ran|range|reach|read|ready|real|really|reason|receive|remain|",
    "remember|require|rest|result|right|rise|rule|run|same|save|saw|say|second|seem|seen|sense|sentence|serve|set|share|",
    "short|show|side|sit|situation|size|small|sort|sound|space|speak|special|spend|stand|start|state|stay|step|still|stop|",
    "strong|stuff|subject|sum|support|sure|take|taken|talk|tell|term|thing|things|think|thought|time|times|today|together|",
    "tomorrow|tonight|took|top|total|true|try|turn|type|understand|used|uses|using|usually|view|wait|want|way|wear|week|",
    "weeks|well|went|whole|win|wonder|word|work|world|worth|write|wrong|year|years|",
    // German
    "alt|andere|anderen|anderer|anfangen|beste|besten|besser|brauche|brauchen|erste|ersten|farbe|finde|finden|frage|ganz|gehen|geht|",
    "gemacht|gross|gute|guten|hilft|immer|jahr|jahre|kaufen|kosten|kostet|lang|lange|machen|macht|minuten|monat|neu|neue|neuen|noch|",
    "richtig|sagen|schlecht|setzen|stunden|tag|tage|tun|uhr|voll|weit|wichtig|wissen|woche|wochen|wort|zeit|",
    // Spanish
    "ano|anos|buena|buenas|bueno|cosa|cosas|costo|cuesta|decir|dia|dias|empezar|hacer|hora|horas|ir|llevar|mejor|mes|mismo|mucho|",
    "necesito|nuevo|nueva|otro|otra|pagar|parte|poner|primer|primera|primero|quiero|semana|sirve|tiempo|usar|uso|vez|veces|ver|",
    // French
    "aller|an|annee|ans|autre|autres|bien|bon|bonne|chose|choses|coute|dire|faire|fois|heure|heures|jour|jours|meilleur|meme|",
    "mettre|mois|moins|nouveau|nouvelle|porter|premier|premiere|prendre|semaine|temps|trouver|veux|voir|",
    // Korean, Japanese, Chinese, Thai
    "날|때|시간|오늘|내일|요즘|時間|今日|明日|今|人|日|什么|怎么|怎样|可以|今天|明天|时间|วัน|เวลา|วันนี้|พรุ่งนี้",
);
