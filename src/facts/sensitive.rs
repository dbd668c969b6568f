//! The special categories of personal data, which are never remembered by themselves without opt-in.
//!
//! A lexicon, in front of which the extracting model is asked to leave the same things out. It cannot find what is only
//! implied; it makes sure that what is said plainly does not get through.

use super::fingerprint::normalized;

/// The special categories (those of GDPR articles 9 and 10) with words and phrases that tell of them, normalised. A word
/// that ends in `*` is a beginning. Latin and Cyrillic words stand alone; those of other scripts are found anywhere, and
/// are chosen so that they are no part of common words of another meaning (a Korean outage, a Japanese effort).
const SENSITIVE: [(&str, &str); 8] = [
    (
        "health",
        "diagnosed with|was diagnosed|been diagnosed|my diagnosis|disease|illness|disorder|depress*|anxiety|adhd|autis*|\
bipolar|schizo*|diabet*|cancer|tumor|hiv|has aids|have aids|epilep*|asthma|allerg*|pregnan*|miscarriage|abortion|\
medication|antidepress*|insulin|take lithium|takes lithium|on lithium|chemo*|therapy|therapist|psychiatr*|surgery|\
i m disabled|am disabled|user is disabled|disability|wheelchair|addict*|alcoholic|overdose|suicid*|blood pressure|\
my doctor|krank*|erkrank*|diagnostiziert|meine diagnose|schwanger*|habe krebs|hat krebs|behindert*|behinderung*|maladie|\
enceinte|dépress*|handicapé*|enfermedad|embarazada|cáncer|depresión|discapacidad|malattia|incinta|진단을 받|진단받|진단 받|\
우울증|당뇨|임신|암에 걸|암 진단|장애인|발달장애|공황장애|정신과|질병|복용|診断され|と診断|うつ病|鬱|糖尿病|妊娠|癌|がん患者|がんに|障害者|\
発達障害|精神障害|服薬|持病|被诊断|抑郁症|怀孕|残疾人",
    ),
    (
        "religion",
        "muslim*|islam*|a christian|i m christian|user is christian|christianity|christian faith|catholic*|protestant|jewish|\
judaism|hindu*|buddhis*|sikh|atheis*|mormon|jehovah*|baptist|evangelical|religio*|my faith|my church|go to church|\
goes to church|mosque|synagogue|ramadan|muslimisch|katholisch|jüdisch|musulman*|catholique|juif|juive|católic*|judío|judía|\
기독교|천주교|불교|무슬림|이슬람|교회에|종교|キリスト教|仏教徒|イスラム|宗教|信仰|基督教|佛教|穆斯林|伊斯兰",
    ),
    (
        "sexuality",
        "gay|lesbian|bisexual|homosexual*|transgender|transsexual*|queer|nonbinary|non binary|asexual|sexual orientation|\
sex life|came out as|schwul|lesbisch|bisexuell|homosexuell|lesbienne|lesbiana|동성애|게이야|게이입|게이다|게이예|게이라|레즈비언|\
트랜스젠더|양성애|성적 지향|はゲイ|ゲイです|ゲイだ|レズビアン|同性愛|両性愛|トランスジェンダー|同性恋|双性恋|跨性别",
    ),
    (
        "politics",
        "voted for|votes for|vote for|i voted|republican|democrat|conservative party|labour party|communist|socialist|\
liberal party|political party|political views|left wing|right wing|my politics|gewählt habe|habe gewählt|wähle die|wählt die|\
cdu|spd|afd|ai voté|vote à gauche|vote à droite|voté por|votó por|voto por|투표했|보수 성향|진보 성향|지지 정당|투표함에|に投票し|\
支持政党|自民党|右翼|左翼|投票给|政治立场",
    ),
    (
        "ethnicity",
        "ethnic*|african american|i m black|i m white|i am black|i am white|latino|latina|hispanic|indigenous|aboriginal|\
native american|immigration status|undocumented immigrant|migrationshintergrund|인종|민족|혼혈|人種|民族|种族",
    ),
    (
        "union",
        "trade union|labor union|labour union|union member*|gewerkschaft*|syndicat|syndiqué*|sindicato|노조|노동조합|労働組合|工会",
    ),
    (
        "biometric",
        "fingerprint data|my fingerprint|iris scan|retina scan|dna test|my dna|genetic test*|genetic condition|genetic data|\
brca*|my genome|유전자|지문 정보|遺伝子検査|指紋|基因检测|指纹",
    ),
    (
        "criminal",
        "convicted|criminal record|arrested|prison|in jail|on parole|on probation|felony|felon|vorbestraft|verurteilt|\
im gefängnis|condamné*|casier judiciaire|en prisión|antecedentes penales|전과가 있|전과자|체포|교도소|前科|逮捕され|刑務所|服役|\
犯罪记录|坐牢",
    ),
];

/// The special category that a text plainly tells of, where its name is not among `allowed`: `health`, `religion`,
/// `sexuality`, `politics`, `ethnicity`, `union`, `biometric` or `criminal`. Listing the name in
/// [`crate::config::FactPolicy::categories`] is the opt-in, one by one.
#[must_use]
pub fn sensitive_category(text: &str, allowed: &[String]) -> Option<&'static str> {
    let padded = format!(" {} ", normalized(text));
    SENSITIVE
        .iter()
        .filter(|(name, _)| !allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name)))
        .find(|(_, words)| words.split('|').any(|word| tells(&padded, word)))
        .map(|(name, _)| *name)
}

fn tells(padded: &str, word: &str) -> bool {
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
            ("I'm gay", "sexuality"),
            ("I voted for them", "politics"),
            ("User is Muslim", "religion"),
            ("I am a union member", "union"),
            ("저는 우울증 진단을 받았어요", "health"),
            ("나는 게이야", "sexuality"),
            ("저는 그 당에 투표했어요", "politics"),
            ("うつ病と診断されました", "health"),
            ("私はゲイです", "sexuality"),
            ("あの党に投票しました", "politics"),
            ("Ich bin schwanger", "health"),
            ("he was convicted in 2010", "criminal"),
        ] {
            assert_eq!(sensitive_category(text, &[]), Some(category), "{text}");
            assert_eq!(sensitive_category(text, &[category.to_owned()]), None, "{text}");
        }
        for text in [
            "User prefers short answers",
            "We use a union type and a genetic algorithm",
            "The cache is disabled, diagnostics are on",
            "User's name is Christian",
            "한국어로 답해줘",
            "게이트웨이 장애 대응은 이전과 같다",
            "システム障害の診断、がんばる、ゲインを上げる",
            "Browser fingerprinting with lithium batteries",
        ] {
            assert_eq!(sensitive_category(text, &[]), None, "{text}");
        }
    }
}
