//! The special categories of personal data, which are remembered only after the user opted in to them, one by one.
//!
//! A lexicon in seven languages, in front of which the extracting model is asked to leave the same things out. It cannot
//! find what is only implied; it makes sure that what is said plainly does not get through.

use super::fingerprint::normalized;
use std::borrow::Cow;

/// The special categories (those of GDPR articles 9 and 10) with words and phrases that tell of them, normalised. A word
/// that ends in `*` is a beginning. Latin and Cyrillic words stand alone; those of other scripts are found anywhere, and
/// are chosen so that they are no part of common words of another meaning (a Korean outage, a Japanese effort).
const SENSITIVE: [(&str, &str); 8] = [
    (
        "health",
        "diagnosed with|was diagnosed|been diagnosed|my diagnosis|disease|illness|disorder|depression|depressed|depressive|\
anxiety|panic attack*|adhd|autis*|bipolar|schizo*|diabet*|cancer|tumor|tumour|leukemia|hiv|has aids|have aids|epilep*|asthma*|\
allergy|allergies|allergic to *|pregnan*|miscarriage|abortion|infertil*|medication|antidepress*|insulin|take lithium|\
takes lithium|on lithium|chemo*|my therapy|in therapy|therapist|psychiatr*|psycholog*|surgery|i m disabled|am disabled|\
user is disabled|disability|wheelchair|addict|addiction|addicted to drugs|addicted to alcohol|alcoholic|overdose|suicid*|blood pressure|cholesterol|heart attack|heart disease|\
stroke survivor|migraine*|arthritis|dementia|alzheimer*|parkinson*|multiple sclerosis|crohn*|lupus|colitis|hepatitis|eating disorder|anorexi*|bulimi*|\
ptsd|my doctor|the doctor put me|prescribed me|rehab|dialysis|hospitalized|hospitalised|\
krank|krankheit*|erkrank*|diagnostiziert|meine diagnose|schwanger*|habe krebs|hat krebs|brustkrebs|lungenkrebs|bin behindert|\
behinderung*|schwerbehindert*|antidepressiva|depressionen|psychotherap*|therapeutin|mein therapeut|hausarzt|herzinfarkt|schlaganfall|\
blutdruck*|bluthochdruck|allergisch|allergie*|fehlgeburt|süchtig|alkoholiker*|angststörung|wurde operiert|bin operiert|\
maladie|enceinte|dépress*|handicapé*|cancéreu*|asthmatique|allergique|\
enfermedad*|embarazada|cáncer|depresión|antidepresiv*|discapacidad*|diagnosticaron|diagnosticado|diagnosticada|psiquiatr*|\
psicólog*|medicación|infarto|alérgic*|alergia*|hipertens*|asma|asmátic*|celíac*|migraña*|ansiedad|me operaron|me operé|en tratamiento por|tiroides|quimioterapia|aborto|adicto|adicta|malattia|incinta|gravidanza|\
진단을 받|진단받|진단 받|우울증|당뇨|천식|임신|암에 걸|암 진단|암 수술|암 투병|유방암|위암|폐암|백혈병|장애인|발달장애|공황장애|정신과|질병|질환|복용|고혈압|저혈압|알레르기|\
알러지|항암|수술을 받|심장병|뇌졸중|불임|낙태|유산했|중독자|약을 먹고|약을 먹어|\
診断され|と診断|うつ病|鬱病|糖尿病|妊娠|癌|がん患者|がんに|乳がん|胃がん|肺がん|障害者|発達障害|精神障害|パニック障害|服薬|持病|喘息|アレルギー|高血圧|低血圧|手術を受け|\
心療内科|精神科|通院|入院し|抗がん|不妊|流産|中絶|依存症|薬を飲んで|確診|被诊断|确诊|抑郁症|怀孕|残疾人|哮喘|癌症|高血压|过敏|сахарный диабет|беременна|депрессия|рак груди|астма",
    ),
    (
        "belief",
        "muslim*|islam*|a christian|i m christian|user is christian|christianity|christian faith|catholic*|protestant|jewish|\
judaism|hindu*|buddhis*|sikh*|atheis*|i m agnostic|an agnostic|mormon*|jehovah*|baptist|evangelical|my religion|religious|my faith|faith in god|\
i pray|we pray|believe in god|believing in god|believe in allah|born again|my church|go to church|goes to church|my parish|go to mass|goes to mass|attend mass|mosque|synagogue|ramadan|\
kosher|halal|baptized|baptised|lutheran|pentecostal|quaker|wicca*|pagan|\
muslimisch|muslim*|katholi*|evangelisch|jüdisch|koscher|in die kirche|aus der kirche|kirchenmitglied|konfession*|glaube an gott|\
mein glaube|gläubig*|buddhismus|zum islam konvertiert|zeuge jehovas|zeugin jehovas|bete zu|ich bete|wir beten|musulman*|musulmán*|catholique|juif|juive|ma foi|\
je crois en dieu|pratiquant*|católic*|cristian*|judío|judía|judíos|a misa|a la iglesia|ateo|atea|budis*|evangélic*|testigo de jehová|\
testigos de jehová|fe en dios|mi fe|creo en dios|creer en dios|religios*|\
기독교|천주교|불교|무슬림|이슬람|교회에|성당에 다|절에 다니|종교|무신론|개신교|원불교|여호와의 증인|신앙|세례|하나님을 믿|부처님|신자예|신자입|신도예|힌두교|통일교|\
キリスト教|仏教|カトリック|プロテスタント|イスラム|ムスリム|宗教|信仰|信者|教会に通|教会へ行|教会に行|無神論|創価学会|神道|ヒンドゥー教|洗礼|浄土真宗|浄土宗|日蓮宗|曹洞宗|真言宗|檀家|エホバの証人|ユダヤ教|\
基督教|天主教|佛教|佛教徒|穆斯林|伊斯兰|信仰|去教堂|无神论|мусульман*|православн*|католи*|атеист*|верю в бога",
    ),
    (
        "orientation",
        "gay|lesbian*|bisexual*|homosexual*|heterosexual*|transgender*|transsexual*|trans woman|trans man|trans person|queer|nonbinary|\
non binary|asexual|pansexual|aromantic|sexual orientation|gender identity|gender dysphoria|sex life|came out as|as bi|i m bi|am bi|my coming out|we are both men|are both men|are both women|i m straight|\
same sex partner|schwul*|lesbisch*|bisexuell*|homosexuell*|asexuell*|pansexuell*|nichtbinär*|trans frau|trans mann|transfrau|transmann|\
geoutet|mein coming out|also bi|bin bi|stehe auf frauen und männer|sexuelle orientierung|sexualleben|lesbienne|homosexuel*|orientation sexuelle|personne trans|lesbiana*|bisexual*|\
mujer trans|hombre trans|no binari*|asexual|del armario|orientación sexual|vida sexual|\
동성애|게이야|게이입|게이다|게이예|게이라|게이인|레즈비언|트랜스젠더|양성애|무성애|범성애|성적 지향|성정체성|성 정체성|논바이너리|커밍아웃|퀴어|동성 연인|\
はゲイ|ゲイです|ゲイだ|ゲイなの|レズビアン|同性愛|両性愛|バイセクシュアル|アセクシュアル|パンセクシュアル|トランスジェンダー|ノンバイナリー|クィア|カミングアウト|性的指向|性自認|\
性同一性|恋愛対象は|同性が好き|同性のパートナー|同性恋|双性恋|跨性别|性取向|出柜|лесбиянк*|бисексуал*|трансгендер*",
    ),
    (
        "politics",
        "voted for|i voted|always voted|voter|republican*|democrats|registered democrat|conservative party|\
labour party|labour member|communist*|socialist*|anarchist*|liberal party|green party|political party|party member|my political|\
political views|politically|my politics|far left|far right|left wing|right wing|leftist|campaigned for|canvassed for|\
i m conservative|i m a liberal|gewählt habe|habe gewählt|grünen gewählt|cdu|csu|spd|afd|fdp|die grünen|\
kommunist*|sozialist*|politisch|politische einstellung|politische meinung|wahlkampf*|parteimitglied|parteibuch|in die partei|\
ai voté|vote à gauche|vote à droite|je vote|adhérent au parti|de gauche|de droite|voté por|voté a|votó por|voto por|voto a|he votado|\
he votado a|votante|comunista*|militante|partido popular|psoe|de podemos|de izquierdas|de derechas|ideas políticas|ideología|\
ideología política|candidato socialista|candidata socialista|hice campaña|\
투표했|투표합|투표해|보수 성향|진보 성향|성향은 보수|성향은 진보|정치 성향|정치적|지지 정당|지지자예|지지자입|당원이|당원입|투표함에|국민의힘|민주당|정의당|사회주의자|\
공산주의자|보수주의|진보주의|후보를 찍|후보를 지지|당을 지지|우파예|좌파예|우파입|좌파입|\
に投票し|支持政党|支持して|自民党|共産党|民主党|公明党|維新の会|党員|右翼|左翼|右派|左派|保守派|リベラル派|社会主義者|共産主義者|政治的に|政治信条|候補者を応援|候補を応援|\
投票给|政治立场|党员|我支持民主|голосовал*|коммунист*|член партии",
    ),
    (
        "ethnicity",
        "my ethnic*|ethnicity|ethnic background|african american|i m black|i m white|i am black|i am white|as a black|half black|biracial|\
mixed race|latino|latina|hispanic|indigenous|aboriginal|native american|first nations|romani|roma family|kurdish|kurds|uyghur*|\
i m asian|asian american|half korean|half japanese|half chinese|half german|jewish descent|african descent|navajo*|cherokee*|maori|inuit*|i m half|am roma|are roma|\
immigration status|undocumented immigrant|refugee*|asylum seeker|migrationshintergrund|bin schwarz|afrodeutsch*|sinti|\
sinti und roma|kurde|kurdin|kurden|ethnisch*|jüdischer abstammung|abstammung|jüdischer herkunft|kurdischer herkunft|türkischer herkunft|arabischer herkunft|\
afrikanischer herkunft|als schwarzer|als schwarze|schwarzer deutscher|schwarze deutsche|halb koreaner*|halb japaner*|halb deutsch*|halb türk*|\
meine hautfarbe|geflüchtet*|origine ethnique|d origine|je suis noir*|métis*|afrodescendient*|gitano|gitana|gitanos|indígena*|mestiz*|\
mulat*|quechua*|mapuche*|de raza|soy negro|soy negra|soy mitad|origen étnico|étnic*|de ascendencia|familia es de origen|padres son de origen|soy de origen|\
인종|민족은|제 민족|소수민족|혼혈|조선족|고려인|다문화 가정|다문화가정|흑인|백인이|이주민|탈북민|위구르|난민 출신|\
人種|民族|在日|アイヌ|ハーフです|ハーフなの|ハーフとして|日系|黒人|白人です|クルド人|ウイグル|混血|移民|難民|部落出身|琉球人|种族|少数民族|混血|维吾尔|我是黑人",
    ),
    (
        "union",
        "trade union|labor union|labour union|teachers union|union member*|union dues|union rep|union representative|union organizer|\
union organiser|union steward|shop steward|my union|our union is|been in the union|i m in the union|joined the union|joined a union|organised a union|organized a union|a union at my|unionized|unionised|teamster*|afl cio|unite the union|\
gewerkschaft*|ig metall|ver di|verdi mitglied|dgb|betriebsrat|vertrauensmann|vertrauensfrau|syndicat|syndiqué*|cgt|cfdt|\
délégué syndical|sindicato*|sindical*|sindicalista*|comisiones obreras|ccoo|ugt|afiliado a|\
노조|노동조합|조합원|조합비|민주노총|한국노총|전교조|労働組合|労組|組合員|組合費|組合の委員|組合の役員|うちの組合|組合活動|組合に入|ユニオンに加入|ユニオンに入|日教組|連合の専従|自治労|工会|профсоюз*",
    ),
    (
        "biometric",
        "fingerprint data|my fingerprint*|iris scan|scan of my iris|my iris|retina scan|face scan|my face id|faceprint|\
voiceprint|voice print|biometric*|dna test|my dna|dna results|genetic test*|genetic condition|genetic data|genetic predisposition|\
genetic disorder|genetic mutation|brca*|my genome|genome sequenced|23andme|mein fingerabdruck|meinen fingerabdruck|meine fingerabdrücke|\
gentest*|dna test*|erbgut|meine gene|meine dna|meiner dna|mein gesicht|genetische veranlagung|genetische erkrankung|genetischer defekt|meiner iris|meine iris|gesichtsscan|gesichtsdaten|biometrisch*|\
mon empreinte|empreintes digitales|test adn|test génétique|huella dactilar|huellas dactilares|prueba de adn|mi adn|mi genoma|predisposición genética|prueba genética|test genético|enfermedad genética|\
mi iris|biométric*|reconocimiento facial|\
유전자 검사|유전자검사|유전자 변이|유전자 정보|유전체|유전병|지문 정보|제 지문|내 지문|홍채|dna 검사|dna 분석|dna 결과|안면 정보|안면 인식|안면인식|얼굴 인식|생체 정보|생체정보|생체 인증|정맥 인식|\
遺伝子検査|遺伝子変異|遺伝性|ゲノム|指紋|虹彩|dna検査|dna鑑定|顔認証|生体認証|生体情報|声紋|静脈認証|基因检测|指纹|人脸识别|虹膜",
    ),
    (
        "criminal",
        "convicted|conviction for|criminal record|criminal charge*|arrested|in prison|to prison|prison sentence|in jail|county jail|months in jail|years in jail|on parole|on probation|\
felony|felon|pleaded guilty|plead guilty|found guilty|served time|a dui|restraining order|juvenile detention|\
vorbestraft|verurteilt|im gefängnis|ins gefängnis|in haft|untersuchungshaft|festgenommen|verhaftet|auf bewährung|zur bewährung|bewährungsstrafe|\
strafverfahren|vorstrafe*|führungszeugnis|angeklagt|straftat|condamné*|casier judiciaire|garde à vue|en prison|\
condenado por|condenada por|me condenaron|fui condenad*|antecedentes penales|en prisión|en la cárcel|a la cárcel|me detuvieron|me arrestaron|\
libertad condicional|declaré culpable|delito*|\
전과가 있|전과자|전과 기록|체포|교도소|구치소|집행유예|유죄|형을 살|수감|구속됐|구속되|처벌받|처벌을 받|벌금형|실형|보호관찰|기소|\
前科が|前科者|前科持|逮捕|刑務所|服役|拘置所|執行猶予|有罪|検挙|保護観察|起訴|書類送検|罰金刑|犯罪歴|少年院|犯罪记录|坐牢|被捕|判刑|судим*|арестован*|в тюрьме",
    ),
];

/// The special category that a text plainly tells of, where its name is not among `allowed`: one of
/// [`sensitive_categories`].
#[must_use]
pub fn sensitive_category(text: &str, allowed: &[String]) -> Option<&'static str> {
    let padded = format!(" {} ", normalized(text));
    SENSITIVE
        .iter()
        .filter(|(name, _)| !is_among(name, allowed))
        .find(|(_, words)| words.split('|').any(|word| tells(&padded, word)))
        .map(|(name, _)| *name)
}

/// Whether a text, or the category that it was put in, is of this special category.
#[must_use]
pub fn is_of_category(texts: &[&str], category: &str, name: &str) -> bool {
    let others: Vec<String> = sensitive_categories().filter(|other| *other != name).map(str::to_owned).collect();
    category.eq_ignore_ascii_case(name) || texts.iter().any(|text| sensitive_category(text, &others).is_some())
}

/// The names of the special categories: `health`, `belief`, `orientation`, `politics`, `ethnicity`, `union`, `biometric`,
/// `criminal`.
pub fn sensitive_categories() -> impl Iterator<Item = &'static str> {
    SENSITIVE.iter().map(|(name, _)| *name)
}

/// The text without the sentences that tell of a special category that is not among `allowed`.
#[must_use]
pub fn without_sensitive<'a>(text: &'a str, allowed: &[String]) -> Cow<'a, str> {
    if sensitive_category(text, allowed).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for sentence in text.split_inclusive(['.', '!', '?', '\n', '。', '！', '？', ';']) {
        match sensitive_category(sentence, allowed) {
            None => out.push_str(sentence),
            Some(_) => out.push_str(if sentence.ends_with('\n') { "[...]\n" } else { "[...] " }),
        }
    }
    // What only several sentences together tell is left out whole.
    if sensitive_category(&out, allowed).is_some() { Cow::Borrowed("") } else { Cow::Owned(out) }
}

fn is_among(name: &str, allowed: &[String]) -> bool {
    allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
}

/// Whether a normalised text between spaces tells of a word or phrase of a list (see [`SENSITIVE`]).
pub(super) fn tells(padded: &str, word: &str) -> bool {
    let stands_alone = word.chars().all(|c| u32::from(c) < 0x0600);
    match word.strip_suffix('*') {
        Some(beginning) => padded.contains(&format!(" {beginning}")),
        None if stands_alone => padded.contains(&format!(" {word} ")),
        None => padded.contains(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_categories_need_opt_in() {
        for (text, category) in [
            ("I was diagnosed with asthma", "health"),
            ("I'm gay", "orientation"),
            ("I voted for them", "politics"),
            ("User is Muslim", "belief"),
            ("I am a union member", "union"),
            ("うつ病と診断されました", "health"),
        ] {
            assert_eq!(sensitive_category(text, &[]), Some(category), "{text}");
            assert_eq!(sensitive_category(text, &[category.to_owned()]), None, "{text}");
            assert!(is_of_category(&[text], "preference", category));
            assert!(!is_of_category(&["User likes tea", text], "identity", "criminal"));
        }
        assert!(is_of_category(&[], "Health", "health"));
    }

    #[test]
    fn only_the_sentences_that_tell_go() {
        let text = "I like tea. I was diagnosed with asthma! Call me Alex.\nI'm gay\nI use pnpm";
        assert_eq!(without_sensitive(text, &[]), "I like tea.[...]  Call me Alex.\n[...]\nI use pnpm");
        let allowed = ["health".to_owned(), "orientation".to_owned()];
        assert!(matches!(without_sensitive(text, &allowed), Cow::Borrowed(_)));
        assert_eq!(without_sensitive("My blood\npressure is fine", &[]), "");
    }
}
