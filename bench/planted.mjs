// Things that are to be found exactly: sixteen classes, each made new for every message that holds one.

const HEX = "0123456789abcdef";
const HANGUL_FIRST = 0xac00;
const HANGUL_COUNT = 11_172;
const PARTICLES = ["에서", "으로", "까지", "부터", "에게", "처럼", "보다", "은", "을", "이"];
const KANJI = "山川田中村木林森石金銀銅鉄水火土日月星空雨雪風雲花草竹松梅桜鳥魚虫馬牛犬猫羊米麦豆茶酒塩糖油紙布糸針刀弓矢車船橋道門窓壁床柱屋根";
const HIRAGANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわん";
const HAN = "数据库连接池超时配置文件服务器端口日志错误重启内存缓存用户权限订单支付测试部署版本分支合并冲突备份恢复监控报警网络协议加密证书域名解析负载均衡消息队列";
const ACCENTED = { a: "á", e: "é", i: "í", o: "ö", u: "ü", c: "č", s: "š", n: "ñ", r: "ř", z: "ž" };

/** Each makes `{ text, query }`: how it stands in the message, and what is looked for. */
const MAKERS = {
  "camelCase": (make) => same(`${make.name()}${make.capital()}${make.capital()}`),
  "camelCase by its words": (make) => {
    const names = [make.name(), make.name(), make.name()];
    return { text: names.map((name, place) => (place === 0 ? name : capital(name))).join(""), query: names.join(" ") };
  },
  "PascalCase in lower case": (make) => {
    const text = `${make.capital()}${make.capital()}Error`;
    return { text, query: text.toLowerCase() };
  },
  "snake_case": (make) => same(`${make.name()}_${make.name()}_id`),
  "kebab-case": (make) => same(`x-${make.name()}-${make.name()}`),
  "path with line": (make) => same(`src/${make.name()}/${make.name()}.rs:${1 + make.below(900)}`),
  "port": (make) => same(`localhost:${10_000 + make.below(50_000)}`),
  "e-mail": (make) => same(`${make.name()}.${make.name()}@${make.name()}.example`),
  "URL": (make) => same(`https://${make.name()}.example.org/${make.name()}/${make.name()}?page=${make.below(90)}`),
  "version": (make) => same(`v${make.below(30)}.${make.below(90)}.${100 + make.below(9_000)}`),
  "error code": (make) => same(`E${10_000 + make.below(80_000)}`),
  "UUID": (make) => same([8, 4, 4, 4, 12].map((length) => make.letters(HEX, length)).join("-")),
  "accents": (make) => {
    const plain = `${make.name()} ${make.name()}`;
    return { text: [...plain].map((letter) => ACCENTED[letter] ?? letter).join(""), query: plain };
  },
  "Korean with a particle": (make) => {
    const noun = Array.from({ length: 4 }, () => String.fromCodePoint(HANGUL_FIRST + make.below(HANGUL_COUNT))).join("");
    return { text: `${noun}${make.of(PARTICLES)}`, query: noun };
  },
  "Chinese": (make) => {
    const term = make.letters(HAN, 4);
    return { text: `我们在${term}里发现了问题`, query: term };
  },
  "Japanese": (make) => {
    const term = make.letters(KANJI, 3) + make.letters(HIRAGANA, 1);
    return { text: `昨日は${term}について話しました`, query: term };
  },
};

/** The classes. */
export const PLANTED = Object.keys(MAKERS);

/** One more thing of a class, unlike all that were made. */
export function plantedThing(kind, random, words, used) {
  const make = {
    name: () => words.name(),
    capital: () => capital(words.name()),
    below: (limit) => random.below(limit),
    of: (items) => random.of(items),
    letters: (alphabet, length) => Array.from({ length }, () => random.of([...alphabet])).join(""),
  };
  for (;;) {
    const thing = MAKERS[kind](make);
    if (used.has(thing.query)) continue;
    used.add(thing.query);
    return thing;
  }
}

function same(text) {
  return { text, query: text };
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}
