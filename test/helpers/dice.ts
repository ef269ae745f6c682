import { createHash } from 'node:crypto'

export type Dice = ReturnType<typeof createDice>

/** Chance that falls the same way for the same seed, everywhere and in every version. */
export function createDice(seed: string | number) {
  let thrown = 0

  /** From 0 up to, but not including, 1. */
  function next(): number {
    return createHash('sha256').update(`${seed}/${thrown++}`).digest().readUInt32BE() / 2 ** 32
  }

  return {
    chance: (share: number): boolean => next() < share,
    /** From `from` to `to`, both included. */
    integer: (from: number, to: number): number => from + Math.floor(next() * (to - from + 1)),
    pick: <T>(items: readonly [T, ...T[]]): T => items[Math.floor(next() * items.length)] ?? items[0],
  }
}
