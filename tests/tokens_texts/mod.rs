//! Texts to test the counters with: self-made, from a seed.
#![allow(dead_code, reason = "every test binary uses its own part of it")]

/// xorshift64*: the same texts on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// 0 to `end - 1`; 0 where `end` is 0.
    pub fn below(&mut self, end: u32) -> u32 {
        (self.next() % u64::from(end.max(1))) as u32
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}

/// What the patterns and the ports of them are known to stumble over.
const SNIPPETS: &[&str] = &[
    "\u{feff}",
    "\u{85}",
    "\u{17f}",
    "'\u{17f}",
    " I'\u{17f}",
    "'s",
    "'S",
    "'ll",
    "'LL",
    "'Ve",
    "'re",
    "'d",
    "'x",
    "'",
    "’s",
    "\r\n",
    "\n\r",
    "\r",
    "\n",
    "\n\n",
    "\t",
    " ",
    "  ",
    "   ",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    "\u{200b}",
    "\u{200d}",
    "\u{301}A",
    "\u{301}AB",
    "e\u{301}",
    "\u{301}",
    "\u{20e3}",
    "\u{93f}",
    "👨‍👩‍👧‍👦",
    "🏳️‍🌈",
    "👍🏽",
    "🇰🇷",
    "❤️",
    "<|endoftext|>",
    "<|im_start|>",
    "<|endofprompt|>",
    "<|fim_prefix|>",
    "[INST]",
    "</s>",
    "__proto__",
    "constructor",
    "propertyIsEnumerable",
    "toString",
    "hasOwnProperty",
    "valueOf",
    "HTTPServer",
    "camelCase",
    "XMLHttpRequest",
    "ABC",
    "a",
    "Z",
    "ǅ",
    "ǅa",
    "ªb",
    "ʰX",
    "中",
    "中文",
    "中ABC",
    "中ABCd",
    "ABC中",
    "日本語",
    "カタカナー",
    "ひらがな",
    "한국어",
    "안녕하세요",
    "Привет",
    "ПРИВЕТ",
    "мир",
    "Ünïcödé",
    "straße",
    "العربية",
    "עברית",
    "हिन्दी",
    "ภาษาไทย",
    "İstanbul",
    "ﬁ",
    "½",
    "Ⅷ",
    "²",
    "٣٤٥",
    "1",
    "12",
    "123",
    "1234",
    "3.14159",
    "1,000,000",
    "//",
    "///",
    "/\n/",
    "!\n/\n",
    "...",
    "---",
    "====",
    "{\"a\":1}",
    "=> {",
    "}\n",
    ");\n\n",
    "https://example.org/a?b=c&d=%20",
    "user@example.org",
    "\u{0}",
    "\u{7f}",
    "\u{fffd}",
    "\u{10ffff}",
    "\u{e000}",
    "𝒜𝓑",
    "𐐀𐐨",
    "🀄",
    "\\n",
    "`",
    "```rust\n",
];

/// A mix of pitfalls, letters and random characters.
pub fn adversarial(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(24) {
        match random.below(10) {
            0..=6 => text.push_str(random.pick(SNIPPETS)),
            7 => text.push(char::from(b' ' + random.below(95) as u8)),
            8 => text.push(random_character(random)),
            _ => {
                let snippet = random.pick(SNIPPETS);
                (0..random.below(40)).for_each(|_| text.push_str(snippet));
            }
        }
    }
    text
}

fn random_character(random: &mut Random) -> char {
    let end = random.pick(&[0x80, 0x250, 0x600, 0x3000, 0x1_0000, 0x2_0000, 0x11_0000]);
    char::from_u32(random.below(end)).unwrap_or('\u{fffd}')
}

/// Letters of many scripts in one piece: what decides whether merging may begin with whole characters.
pub fn scripts_next_to_each_other(random: &mut Random) -> String {
    const SCRIPTS: &[(u32, u32)] = &[
        (0x20, 0x21),
        (0x61, 0x7b),
        (0xc0, 0x250),
        (0x370, 0x400),
        (0x400, 0x460),
        (0x531, 0x590),
        (0x5d0, 0x5eb),
        (0x620, 0x660),
        (0x900, 0x980),
        (0x980, 0xa00),
        (0xb80, 0xc00),
        (0xe00, 0xe60),
        (0x10d0, 0x1100),
        (0x1780, 0x1800),
        (0x1e00, 0x1f00),
        (0x2010, 0x2030),
        (0x3000, 0x3040),
        (0x3040, 0x3100),
        (0x4e00, 0x5000),
        (0x4e00, 0xa000),
        (0xac00, 0xd7a4),
        (0xff00, 0xff60),
    ];
    let scripts = [random.pick(SCRIPTS), random.pick(SCRIPTS), random.pick(SCRIPTS)];
    let letters = (0..=random.below(60)).map(|_| {
        let (start, end) = random.pick(&scripts);
        char::from_u32(start + random.below(end - start)).unwrap_or(' ')
    });
    letters.collect()
}

/// Up to 40 characters from all of Unicode.
pub fn random_code_points(random: &mut Random) -> String {
    (0..=random.below(40)).map(|_| random_character(random)).collect()
}

/// Sentences of chats, by language: `(name, sentences)`.
pub const SENTENCES: &[(&str, &[&str])] = &[
    (
        "English",
        &[
            "We'll keep the raw messages, because nobody knows today which of them will matter next month.",
            "Could you check whether port 8443 is still open on staging? It wasn't when I tried this morning.",
            "I decided against the second queue: it's simpler to retry from the journal, and we can't lose anything.",
            "The deadline moved to 14 March 2025, so there's room for one more round of reviews.",
        ],
    ),
    (
        "German",
        &[
            "Wir behalten die ursprünglichen Nachrichten, weil heute niemand weiß, welche davon später wichtig werden.",
            "Die Größenänderung der Übersicht müsste noch überprüft werden, bevor wir veröffentlichen.",
        ],
    ),
    (
        "French",
        &[
            "Nous gardons les messages d'origine, car personne ne sait aujourd'hui lesquels compteront plus tard.",
            "Où en est-on avec la vérification de l'accès réseau ? Ça n'a pas marché hier.",
        ],
    ),
    (
        "Russian",
        &[
            "Мы сохраняем исходные сообщения, потому что сегодня никто не знает, какие из них понадобятся позже.",
            "Проверь, пожалуйста, открыт ли порт 8443 на тестовом сервере.",
        ],
    ),
    (
        "Korean",
        &[
            "원본 메시지는 그대로 보관합니다. 나중에 어떤 것이 중요해질지 아무도 모르기 때문입니다.",
            "스테이징 서버의 8443 포트가 아직 열려 있는지 확인해 주시겠어요?",
        ],
    ),
    (
        "Japanese",
        &[
            "元のメッセージはそのまま保存します。後でどれが重要になるか、今は誰にも分からないからです。",
            "ステージング環境のポート8443がまだ開いているか確認してもらえますか?",
        ],
    ),
    (
        "Chinese",
        &[
            "我们保留原始消息,因为今天没有人知道哪些内容以后会变得重要。",
            "请检查一下测试服务器上的8443端口是否仍然开放,今天早上我试的时候连不上。",
        ],
    ),
    (
        "Arabic and Hindi",
        &[
            "نحتفظ بالرسائل الأصلية لأن لا أحد يعرف اليوم أيها سيكون مهما لاحقا.",
            "हम मूल संदेश रखते हैं, क्योंकि आज कोई नहीं जानता कि बाद में कौन सा महत्वपूर्ण होगा।",
        ],
    ),
    (
        "code",
        &[
            "```rust\nfn main() {\n    let port: u16 = 8443;\n    println!(\"{port}\");\n}\n```\n",
            "```ts\nexport const retry = async <T>(run: () => Promise<T>, times = 3): Promise<T> => {\n  for (;;) {\n    try { return await run(); } catch (e) { if (--times <= 0) throw e; }\n  }\n};\n```\n",
        ],
    ),
    (
        "data",
        &[
            "{\"id\": 48213, \"createdAt\": 1731412345678, \"scores\": [0.8731, 0.1204, 0.0065], \"ok\": true}\n",
            "2025-03-14T09:26:53.589Z ERROR ERR_HTTP2_STREAM src/index.ts:42 retries=3 bytes=1048576\n",
        ],
    ),
    ("emoji", &["👍🏽 sounds good 🎉🎉", "👨‍👩‍👧‍👦 ❤️ 🏳️‍🌈 🇰🇷"]),
];

/// A chat message: a few sentences of one or more languages, with line breaks and lists.
pub fn chat_message(random: &mut Random) -> String {
    let mut text = String::new();
    let mut sentences = random.pick(SENTENCES).1;
    for _ in 0..=random.below(8) {
        if random.below(3) == 0 {
            sentences = random.pick(SENTENCES).1;
        }
        let sentence = random.pick(sentences);
        let characters: Vec<char> = sentence.chars().collect();
        let start = random.below(characters.len() as u32 / 2) as usize;
        let whole = random.below(2) == 0;
        text.extend(&characters[if whole { 0 } else { start }..]);
        text.push_str(random.pick(&[" ", "\n", "\n\n", "\n- ", "\r\n", " — ", "  \n1. ", "\u{3000}"]));
    }
    text
}
