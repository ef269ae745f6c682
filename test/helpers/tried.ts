import type { RunnerTestCase } from 'vitest'

/** What a test tried that chance or patience decides, how often, and what came of it. */
export type Tried = {
  /** Names the row of the table; the same in every run. */
  readonly what: string
  /** How often, with its unit: `2000 kills`. */
  readonly times: string
  readonly found: string
}

declare module 'vitest' {
  interface TaskMeta {
    tried?: Tried[]
  }
}

/** Says it on stderr, and leaves it in the report of the run, from which `test/nightly/results.ts` makes test/nightly/RESULTS.md. */
export function tell({ meta }: Readonly<RunnerTestCase>, ...tried: readonly Tried[]): void {
  meta.tried = [...(meta.tried ?? []), ...tried]
  for (const { what, times, found } of tried) process.stderr.write(`${what}: ${times}: ${found}\n`)
}
