/** Recognises a backup of this package by how it begins. */

/** How every backup begins, encrypted ones too. */
const MARK = '{"format":"throughline-backup';
const LONGEST_HEAD = 4096;

/** Whether a file is a backup: plain, gzip or encrypted. */
export async function isBackup(blob: Blob): Promise<boolean> {
  const start = new Uint8Array(await blob.slice(0, LONGEST_HEAD).arrayBuffer());
  if (start[0] !== 0x1f || start[1] !== 0x8b) return begins(start);
  const unpacking = new DecompressionStream("gzip") as unknown as TransformStream<Uint8Array, Uint8Array>;
  const reader = new Blob([start]).stream().pipeThrough(unpacking).getReader();
  const bytes: number[] = [];
  try {
    while (bytes.length < MARK.length) {
      const { done, value } = await reader.read();
      if (done) break;
      bytes.push(...value.subarray(0, MARK.length));
    }
  } catch {
    // It is cut here; what came before tells.
  }
  await reader.cancel().catch(() => undefined);
  return begins(Uint8Array.from(bytes));
}

function begins(bytes: Uint8Array): boolean {
  return new TextDecoder().decode(bytes.subarray(0, MARK.length)) === MARK;
}
