import type { RunnerTestCase } from 'vitest'

/** What a random or long test tried, how often, and the result. */
export type Trials = {
  /** Names the row of the table; the same in every run. */
  readonly subject: string
  /** How often, with its unit: `2000 kills`. */
  readonly times: string
  readonly result: string
}

declare module 'vitest' {
  interface TaskMeta {
    tried?: Trials[]
  }
}

/** Prints the trials on stderr and adds them to the report of the run, from which `test/nightly/results.ts` makes test/nightly/RESULTS.md. */
export function reportTrials({ meta }: Readonly<RunnerTestCase>, ...tried: readonly Trials[]): void {
  meta.tried = [...(meta.tried ?? []), ...tried]
  for (const { subject, times, result } of tried) process.stderr.write(`${subject}: ${times}: ${result}\n`)
}
