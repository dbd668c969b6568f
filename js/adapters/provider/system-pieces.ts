import type { SendableContext } from "./chat-answer.js";

/** A piece of the system text. */
export interface SystemPiece {
  text: string;
  /** A breakpoint is at its end. */
  isEnd: boolean;
}

/** The system text, parted at its breakpoints. No piece is blank: providers refuse those. */
export function systemPieces(system: string, breakpoints: NonNullable<SendableContext["cacheBreakpoints"]>): SystemPiece[] {
  const ends = breakpoints.filter(({ messageIndex }) => messageIndex === undefined).map(({ systemLength }) => systemLength ?? system.length);
  const pieces: SystemPiece[] = [];
  let from = 0;
  for (const end of [...new Set([...ends, system.length])].sort((a, b) => a - b)) {
    const text = system.slice(from, end);
    if (text.trim() === "") continue;
    pieces.push({ text, isEnd: ends.includes(end) });
    from = end;
  }
  return pieces;
}
