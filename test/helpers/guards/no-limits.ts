import { Guards, limitDefinitions } from '../../../src/identity/guards/limits.ts'

/** Limits that nothing exceeds; as text they are valid YAML too. */
export const noLimits = Guards.parse({
  ...Object.fromEntries(Object.keys(limitDefinitions).map((name) => [name, { count: 1_000_000, share: 1 }])),
  unusual: { enabled: false },
})
