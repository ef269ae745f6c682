import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Decision, decide, type PersonInput, type PlanContext } from '../../../src/identity/decide/decide.ts'
import { isUnchanging } from '../../../src/identity/decide/unchanging.ts'
import type { Observation, RosterEntry } from '../../../src/identity/record.ts'

const dayMs = 86_400_000
const firstDay = Date.parse('2026-11-20T00:00:00.000Z')

const dayOf = (offset: number) => new Date(firstDay + offset * dayMs).toISOString().slice(0, 10)
const day = fc.integer({ min: -6, max: 6 })

const observation = fc
  .record({
    title: fc.constantFrom('Engineer', 'Pilot', null, undefined),
    start: fc.option(day, { nil: undefined }),
    leaving: fc.oneof(day, fc.constantFrom(null, undefined)),
    status: fc.constantFrom('left', 'employed', 'none'),
    unsure: fc.integer({ max: 9, min: 0 }).map((number) => number === 0),
    ownTime: fc.integer({ max: 9, min: 0 }).map((number) => number === 0),
  })
  .map(
    ({ title, start, leaving, status, unsure, ownTime }): Observation => ({
      identityId: 'E1',
      fields: {
        ...(title !== undefined && { jobTitle: title }),
        ...(start !== undefined && { startedAt: `${dayOf(start)}T00:00:00.000Z` }),
      },
      leavingDate: typeof leaving === 'number' ? dayOf(leaving) : leaving,
      statesDeparture: status === 'left',
      statesEmployed: status === 'employed',
      isUncertain: unsure && status !== 'left',
      hasEmploymentCell: true,
      origin: { file: 'people.csv', line: 2 },
      ...(ownTime && { asOf: new Date(firstDay - dayMs).toISOString() }),
    }),
  )

const input: fc.Arbitrary<PersonInput> = fc.oneof(
  { weight: 6, arbitrary: observation },
  { weight: 1, arbitrary: fc.constantFrom('absent' as const, 'untouched' as const) },
)

const rules = fc.record({
  graceRuns: fc.constantFrom(1, 1, 2),
  absence: fc.constantFrom('separate' as const, 'hold' as const),
  future: fc.constantFrom('defer' as const, 'send' as const),
})

/** What was learned on a day. Events come between exports, with times of their own. */
const lesson = fc.record({
  seen: input,
  day: fc.integer({ min: 0, max: 3 }),
  hoursBefore: fc.constantFrom(0, 0, 30),
  isEvent: fc.integer({ max: 4, min: 0 }).map((number) => number === 0),
})

test('the same row of an unchanging person never changes anything, on any later day', () => {
  let unchangingCount = 0
  fc.assert(
    fc.property(
      rules,
      fc.array(lesson, { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      (ruled, lessons, laterDays, isHeldBack) => {
        let entry: RosterEntry | undefined
        let today = 0
        for (const each of lessons) {
          today += each.day
          const context = contextOn(today, { ...ruled, ...each })
          if (entry === undefined && typeof each.seen === 'string') continue
          const known: RosterEntry | undefined = entry && isHeldBack ? { ...entry, heldBackUntil: dayOf(3) } : entry
          const decision = decide(known, each.seen, context)
          const isDone =
            !each.isEvent && isUnchanging({ identityId: 'E1', entry: known, decision, input: each.seen }, context)
          entry = after(known, decision)
          if (!isDone || entry === undefined) continue

          unchangingCount += 1
          for (const later of laterDays) {
            const again = contextOn(today + later, { ...ruled, hoursBefore: 0, isEvent: false })
            // A row that cannot be used speaks of a person, so that it is no silence.
            const next = decide(entry, typeof each.seen === 'string' ? 'absent' : each.seen, again)
            expect(newsIn(entry, next)).toEqual({ change: null, news: [], moved: {} })
          }
        }
      },
    ),
    { numRuns: 3000 },
  )
  expect(unchangingCount).toBeGreaterThan(1000)
})

function contextOn(
  today: number,
  {
    hoursBefore,
    isEvent,
    ...ruled
  }: Pick<PlanContext, 'graceRuns' | 'absence' | 'future'> & { hoursBefore: number; isEvent: boolean },
): PlanContext {
  const asOf = new Date(firstDay + today * dayMs - hoursBefore * 3_600_000).toISOString()
  return {
    ...ruled,
    mode: isEvent ? 'delta' : 'snapshot',
    asOf,
    now: new Date(firstDay + today * dayMs + 3_600_000).toISOString(),
    timeZone: 'UTC',
    exportDate: asOf.slice(0, 10),
    today: dayOf(today),
    mapped: new Set(['jobTitle', 'startedAt', 'separatedAt']),
  }
}

/** The person once a plan with this decision was accepted and delivered. */
function after(entry: RosterEntry | undefined, { entry: side }: Decision): RosterEntry | undefined {
  const next = side ?? entry
  if (next === undefined) return undefined
  const known = { identityId: 'E1', heldBackUntil: null, statedDeparture: null, retracted: null, ...entry, ...next }
  return { ...known, confirmed: known.desired }
}

/** All that would be stored, sent or judged. The times of facts alone are kept once for the whole export. */
function newsIn(entry: RosterEntry, { change, entry: side, news }: Decision) {
  const kept = [
    'desired',
    'inferred',
    'deferredTo',
    'clearedDate',
    'deferredZone',
    'heldDeparture',
    'absences',
  ] as const
  const moved = kept.filter((name) => side !== null && side[name] !== entry[name])
  return { change, news: news.kinds, moved: Object.fromEntries(moved.map((name) => [name, side?.[name]])) }
}
