import fc from 'fast-check'
import type { Change } from '../../../src/identity/change.ts'
import type { PlanContext } from '../../../src/identity/decide/decide.ts'
import type { Observation } from '../../../src/identity/record.ts'
import { type Plan, plan } from './plan.ts'
import { applyPlan, type Roster } from './roster.ts'

/** What a source says in one night, and which of the changes that follow reach the platform before the next one. */
export type Night = {
  readonly rows: readonly Observation[]
  readonly untouched: ReadonlySet<string>
  readonly delivers: readonly string[]
  readonly rules: Pick<PlanContext, 'absence' | 'graceRuns' | 'future'>
}

export const keys = ['ana', 'bo', 'cy', 'di', '\uFB00', '\u{1F600}']
const firstDay = Temporal.PlainDate.from('2026-11-01')

const fields = fc.record(
  {
    email: fc.constantFrom('one@example.com', 'two@example.com', null),
    jobTitle: fc.constantFrom('Engineer', 'Director', null),
    isContractor: fc.constantFrom(true, false, null),
  },
  { requiredKeys: [] },
)

export const row = (hasEmploymentCell: fc.Arbitrary<boolean>): fc.Arbitrary<Observation> =>
  fc
    .record({
      identityId: fc.constantFrom(...keys),
      fields,
      leavingDate: fc.option(fc.integer({ min: -5, max: 15 }).map(day), { freq: 2 }),
      employment: fc.constantFrom('left', 'employed', 'unsure', 'silent'),
      hasEmploymentCell,
      line: fc.integer({ min: 2, max: 99 }),
    })
    .map(({ line, employment, ...observation }) => ({
      ...observation,
      leavingDate: observation.hasEmploymentCell ? observation.leavingDate : undefined,
      statesDeparture: observation.hasEmploymentCell && employment === 'left',
      statesEmployed: observation.hasEmploymentCell && employment === 'employed',
      isUncertain: observation.hasEmploymentCell && employment === 'unsure',
      origin: { file: 'people.csv', line },
    }))

/** One night of a source that always states employment, or never does. */
export const night: fc.Arbitrary<Night> = fc.boolean().chain((states) =>
  fc.record({
    rows: fc.uniqueArray(row(fc.constant(states)), {
      selector: ({ identityId }) => identityId,
      maxLength: keys.length,
    }),
    untouched: fc.subarray(keys, { maxLength: 2 }).map((skipped) => new Set(skipped)),
    delivers: fc.subarray(keys),
    rules: fc.record({
      absence: fc.constantFrom('separate' as const, 'hold' as const, 'ignore' as const),
      graceRuns: fc.integer({ min: 1, max: 3 }),
      future: fc.constantFrom('send' as const, 'defer' as const),
    }),
  }),
)

/** Some nights in a row, after which the roster holds whatever such a history can leave behind. */
export const history: fc.Arbitrary<readonly Night[]> = fc.array(night, { maxLength: 6 })

/** The calendar date of the night with this number. */
export function day(number: number): string {
  return firstDay.add({ days: number }).toString()
}

/** The context of the night with this number. */
export function contextOf({ rules }: Pick<Night, 'rules'>, number: number): PlanContext {
  const today = day(number)
  return {
    ...rules,
    mode: 'snapshot',
    asOf: `${today}T01:00:00.000Z`,
    now: `${today}T03:00:00.000Z`,
    timeZone: 'UTC',
    exportDate: today,
    today,
  }
}

export function planOf(tonight: Night, roster: Roster, context: PlanContext): Plan {
  return plan(tonight.rows, roster, context, tonight.untouched)
}

/** The roster after these nights, each delivered only as far as it says. */
export function rosterAfter(nights: readonly Night[]): Roster {
  return nights.reduce<Roster>((roster, tonight, number) => {
    const delivered = ({ identityId }: Change) => tonight.delivers.includes(identityId)
    return applyPlan(roster, planOf(tonight, roster, contextOf(tonight, number)), delivered)
  }, new Map())
}
