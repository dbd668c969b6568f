// The browsers that the storage is tested in, started without a driver: each loads one page, which asks the test's own
// server what to do. Each runs in a process group of its own, so that it can be killed as a whole, as a crash would.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const CHROMIUM_SWITCHES = [
  "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
  // The test's own page opens further tabs.
  "--disable-popup-blocking",
];

/** Firefox without first-run pages, telemetry and safe mode after the kills. */
const FIREFOX_PREFERENCES = {
  "browser.shell.checkDefaultBrowser": false, "browser.startup.page": 0, "browser.aboutwelcome.enabled": false,
  "datareporting.policy.dataSubmissionEnabled": false, "toolkit.startup.max_resumed_crashes": -1,
  "browser.sessionstore.resume_from_crash": false, "app.update.enabled": false, "toolkit.telemetry.enabled": false,
  "dom.min_background_timeout_value": 4, "dom.disable_open_during_load": false,
  // Its thumbnails are taken by loading the page again, in storage of their own: that page would take jobs too.
  "browser.pagethumbnails.capturing_disabled": true,
};

/** A bus that starts no service: the desktop's portals would put a file system of their own into the profile. */
const BUS = `<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>
`;
const busIn = (profile) => join(profile, "bus.conf");

const CHROMIUM = {
  places: () => [process.env.CHROME_PATH, "/usr/bin/chromium", "/usr/bin/google-chrome"],
  package: "chromium",
  command: (program, profile, url, switches) => {
    // Chromium's sandbox cannot be used by root.
    const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
    return [program, [...CHROMIUM_SWITCHES, ...switches, ...sandbox, `--user-data-dir=${profile}`, url]];
  },
  privately: ["--incognito"],
  // Ended together with it, its service would not write what localStorage was given.
  endsItsProcesses: true,
  holdsStore: (path) => path.includes("/IndexedDB/"),
};

/** By name: where the program is, the Debian package that has it, how it is started, also privately, which files hold IndexedDB. */
export const BROWSERS = {
  "chromium-leveldb": { ...CHROMIUM, switches: ["--disable-features=IdbSqliteBackingStore"] },
  "chromium-sqlite": { ...CHROMIUM, switches: ["--enable-features=IdbSqliteBackingStore"] },
  firefox: {
    places: () => [process.env.FIREFOX_PATH, "/usr/bin/firefox-esr", "/usr/bin/firefox"],
    package: "firefox-esr",
    switches: [],
    prepare: (profile) => {
      const lines = Object.entries(FIREFOX_PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
      writeFileSync(join(profile, "user.js"), `${lines.join("\n")}\n`);
    },
    command: (program, profile, url, switches) => [program, ["--headless", "--no-remote", "--profile", profile, ...switches, url]],
    privately: ["--private-window"],
    // Firefox does not start as root in another user's home, and its sandbox not at all.
    environment: (profile) => ({ HOME: profile, MOZ_DISABLE_CONTENT_SANDBOX: "1", MOZ_CRASHREPORTER_DISABLE: "1" }),
    holdsStore: (path) => path.includes("/idb/"),
  },
  webkit: {
    places: () => [
      process.env.MINIBROWSER_PATH, "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser", "/usr/libexec/webkit2gtk-4.1/MiniBrowser",
      "/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    ],
    package: "webkit2gtk-driver xvfb dbus",
    switches: ["--javascript-can-open-windows-automatically=true"],
    prepare: (profile) => writeFileSync(busIn(profile), BUS),
    command: (program, profile, url, switches) => ["xvfb-run", ["--auto-servernum", "dbus-run-session", `--config-file=${busIn(profile)}`, "--", program, ...switches, url]],
    privately: ["--private"],
    environment: (profile) => ({
      HOME: profile, XDG_DATA_HOME: join(profile, "data"), XDG_CACHE_HOME: join(profile, "cache"), XDG_CONFIG_HOME: join(profile, "config"),
      // Its sandbox wants privileges that a container does not give.
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1", LIBGL_ALWAYS_SOFTWARE: "1", WEBKIT_DISABLE_COMPOSITING_MODE: "1",
    }),
    holdsStore: (path) => path.includes("/indexeddb/") || path.includes("IndexedDB"),
  },
};

/** The program of a browser, where it is installed. */
export function programOf(name) {
  return BROWSERS[name].places().find((place) => place !== undefined && existsSync(place));
}

/**
 * Starts a browser on a profile, loading `url`, in a private window with `isPrivate`. With `tracer` (a command and its arguments)
 * it runs under that, and the tracer ends by itself once the browser has: what it has noted is whole.
 *
 * @returns {{ kill: () => Promise<void>, close: () => Promise<void>, output: () => string }}
 * `kill` ends all of its processes at once, as a crash does; `close` asks them to end.
 */
export function start(name, profile, url, { tracer = [], isPrivate = false } = {}) {
  const browser = BROWSERS[name];
  mkdirSync(profile, { recursive: true });
  browser.prepare?.(profile);
  const [program, args] = browser.command(programOf(name), profile, url, [...browser.switches, ...(isPrivate ? browser.privately : [])]);
  const [command, ...rest] = tracer.length === 0 ? [program, ...args] : [...tracer, "setsid", program, ...args];
  const child = spawn(command, rest, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...browser.environment?.(profile) },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => { output = (output + chunk).slice(-4_000); });
  const ended = new Promise((resolve) => { child.on("exit", resolve).on("error", resolve); });
  const group = tracer.length === 0 ? () => child.pid : () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ")[0]);
  const signal = (kind, isForAll = true) => {
    try {
      process.kill(isForAll ? -group() : group(), kind);
    } catch (error) {
      // Gone already.
      if (error.code !== "ESRCH" && error.code !== "ENOENT") throw error;
    }
  };
  const kill = async () => {
    signal("SIGKILL");
    await ended;
  };
  const close = async () => {
    signal("SIGTERM", !browser.endsItsProcesses);
    const late = setTimeout(() => signal("SIGKILL"), 10_000);
    await ended;
    clearTimeout(late);
    // What it started may need a moment longer.
    signal("SIGKILL");
  };
  return { kill, close, output: () => output };
}
