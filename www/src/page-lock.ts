/** Each open tab of this page holds a lock, so that one that moves the chats elsewhere knows whether it is the only one. */

const NAME = "throughline-demo.page";

/** Gives this tab's share back, and answers once it is. */
let release: (() => Promise<unknown>) | null = null;

/** Holds this tab's share; waits while another tab moves the chats. */
export async function holdPage(): Promise<void> {
  if (release !== null || !("locks" in navigator)) return;
  await new Promise<void>((granted) => {
    let end = (): void => undefined;
    const held = navigator.locks.request(NAME, { mode: "shared" }, () => {
      const ended = new Promise<void>((resolve) => (end = resolve));
      release = () => {
        end();
        return held;
      };
      granted();
      return ended;
    });
  });
}

/** Does something while no other tab is open; throws where one is. Tabs that are opened meanwhile wait. */
export async function whenAlone(action: () => Promise<void>): Promise<void> {
  if (!("locks" in navigator)) return action();
  await release?.();
  release = null;
  try {
    const isAlone = await navigator.locks.request(NAME, { ifAvailable: true }, async (lock) => {
      if (lock !== null) await action();
      return lock !== null;
    });
    if (!isAlone) throw new Error("This page is open in another tab. Close it there, then try again.");
  } finally {
    await holdPage();
  }
}
