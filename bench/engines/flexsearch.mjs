import FlexSearch from "flexsearch";
import English from "flexsearch/lang/en";

export const settings = "its English encoder (stop words, stemmer), suggest: true (results need not hold every word)";

function options() {
  return { encoder: new FlexSearch.Encoder(FlexSearch.Charset.Default, English) };
}

export function open() {
  return engine(new FlexSearch.Index(options()));
}

function engine(index) {
  return {
    add: (id, text) => index.add(id, text),
    search: (text, limit) => index.search(text, { limit, suggest: true }),
    save: () => {
      const parts = [];
      index.export((key, data) => parts.push([key, data]));
      return JSON.stringify(parts);
    },
    load: (saved) => {
      const restored = new FlexSearch.Index(options());
      for (const [key, data] of JSON.parse(saved)) restored.import(key, data);
      return engine(restored);
    },
  };
}
