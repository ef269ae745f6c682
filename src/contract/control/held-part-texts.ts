import type { Run } from './run-shapes.ts'

type HeldPartRun = NonNullable<Run['heldPartRun']>

/** What became of the run of the people whom a guard stopped, after "the people of it were held and": null while it is held. */
export function heldPartOutcome({ state, decidedBy }: Pick<HeldPartRun, 'state' | 'decidedBy'>): string | null {
  const by = decidedBy === null ? '' : ` by ${decidedBy}`
  switch (state) {
    case 'held':
      return null
    case 'rejected':
    case 'cancelled':
      return `${state}${by}`
    case 'superseded':
      return 'replaced'
    case 'failed':
      return 'failed'
    default:
      return `approved${by}`
  }
}
