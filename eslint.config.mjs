import eslint from "@eslint/js";
import typescript from "typescript-eslint";

const nodeGlobals = Object.fromEntries(
  ["console", "process", "URL", "Buffer", "fetch", "Response", "setTimeout", "clearTimeout", "WebAssembly", "AbortController",
    "queueMicrotask", "TextEncoder", "TextDecoder", "performance", "globalThis", "structuredClone", "Blob",
    "AbortSignal", "setImmediate", "setInterval", "clearInterval", "document", "crypto", "Worker", "File", "ReadableStream"].map((name) => [name, "readonly"]),
);

export default typescript.config(
  { ignores: ["dist/", "node_modules/", "target/", ".tools/", "www/dist/", "www/service-worker.js", "docs/dist/"] },
  eslint.configs.recommended,
  {
    files: ["js/**/*.ts", "www/**/*.ts"],
    extends: [...typescript.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: ["./tsconfig.json", "./tsconfig.www.json"], tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines": ["error", { max: 400 }],
      "max-lines-per-function": ["error", { max: 60 }],
      eqeqeq: "error",
      // Callers without types can give anything: what the types rule out is checked all the same.
      "@typescript-eslint/no-unnecessary-condition": "off",
      // Code points are what a tokenizer walks.
      "@typescript-eslint/no-misused-spread": "off",
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true, ignoreVoidOperator: true }],
      "@typescript-eslint/prefer-promise-reject-errors": ["error", { allowThrowingUnknown: true, allowThrowingAny: false }],
      // Numbers are shown to people in messages.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    // What the browsers under test load.
    files: ["tests/engines/*.js"],
    languageOptions: { globals: { ...nodeGlobals, addEventListener: "readonly", indexedDB: "readonly", location: "readonly", window: "readonly" } },
    rules: { eqeqeq: "error", "max-lines": ["error", { max: 400 }] },
  },
  {
    // What the documentation's pages load.
    files: ["docs/site/*.js"],
    languageOptions: { globals: { ...nodeGlobals, navigator: "readonly", HTMLElement: "readonly" } },
    rules: { eqeqeq: "error", "max-lines": ["error", { max: 400 }] },
  },
  {
    // Tiny apps, each in the ways of its framework.
    files: ["tests/packaging/**/*.{js,cjs}"],
    languageOptions: { globals: { ...nodeGlobals, chrome: "readonly", require: "readonly" }, parserOptions: { ecmaFeatures: { jsx: true } } },
    rules: { eqeqeq: "error", "max-lines": ["error", { max: 400 }] },
  },
  {
    files: ["**/*.mjs"],
    languageOptions: { globals: nodeGlobals },
    rules: {
      eqeqeq: "error",
      "max-lines": ["error", { max: 400 }],
      "no-restricted-syntax": ["error", {
        selector: "CallExpression[callee.property.name='waitForFunction'] > ArrowFunctionExpression[async=true]",
        message: "waitForFunction takes a promise for true; use eventually() of tests/e2e/browser.mjs.",
      }],
    },
  },
);
