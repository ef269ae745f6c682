import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change, FieldChanges } from '../../src/identity/change.ts'
import type { PlanContext } from '../../src/identity/decide/decide.ts'
import { planDigest } from '../../src/identity/digest.ts'
import { utcMidnight } from '../../src/identity/employment.ts'
import type { FieldName, Observation, RosterEntry } from '../../src/identity/record.ts'
import { contextOf, history, type Night, night, planOf, rosterAfter } from '../helpers/model/histories.ts'
import { type Plan, plan } from '../helpers/model/plan.ts'
import { applyPlan, type Roster } from '../helpers/model/roster.ts'
import { isFull } from '../helpers/tier.ts'

const runs = { numRuns: isFull ? 500 : 150 }

/** What the platform's `separatedAt` must be for a person whom a snapshot names: a value, or any date at all. */
function statedSeparation(
  { leavingDate, statesDeparture, statesEmployed, isUncertain }: Observation,
  known: RosterEntry | undefined,
  { future, today }: PlanContext,
): string | null | 'some date' {
  if (typeof leavingDate === 'string' && leavingDate <= today) return utcMidnight(leavingDate)
  if (statesDeparture) return 'some date'
  const gone = isKnownLeaver(known, today)
  if (gone && (isUncertain || (gone.isStated && leavingDate === undefined && !statesEmployed))) return gone.date
  if (typeof leavingDate === 'string') return future === 'send' ? utcMidnight(leavingDate) : null
  // A row that says nothing of dates leaves one that was sent ahead of its day.
  return leavingDate === undefined && !gone ? (known?.desired?.separatedAt ?? null) : null
}

function isKnownLeaver(known: RosterEntry | undefined, today: string) {
  const { deferredTo = null, inferred = false, desired = null, confirmed = null } = known ?? {}
  if (deferredTo !== null && deferredTo <= today) return { date: utcMidnight(deferredTo), isStated: true }
  const { separatedAt = null } = desired ?? confirmed ?? {}
  return separatedAt !== null && separatedAt <= utcMidnight(today) ? { date: separatedAt, isStated: !inferred } : null
}

function onPlatform(roster: Roster, identityId: string) {
  return roster.get(identityId)?.confirmed ?? null
}

/** The night after a history, with the roster and the context that it meets. */
const nextNight = fc.record({ past: history, tonight: night }).map(({ past, tonight }) => {
  const roster = rosterAfter(past)
  return { past, tonight, roster, context: contextOf(tonight, past.length) }
})

type Event = { readonly rows: readonly Observation[]; readonly context: PlanContext }

const nothing = { email: null, jobTitle: null, isContractor: null }

/** A row that leaves nothing to what was known before: an inferred date would depend on it. */
function complete(row: Observation, { today }: PlanContext): Observation {
  const isLeaver = typeof row.leavingDate === 'string' && row.leavingDate <= today
  const employment = {
    statesDeparture: isLeaver,
    statesEmployed: !isLeaver,
    isUncertain: false,
    hasEmploymentCell: true,
  }
  return { ...row, ...employment, leavingDate: row.leavingDate ?? null, fields: { ...nothing, ...row.fields } }
}

function eventOf(rows: readonly Observation[], context: PlanContext): Event {
  return { rows, context: { ...context, mode: 'delta' } }
}

function processed(roster: Roster, { rows, context }: Event): Roster {
  return applyPlan(roster, plan(rows, roster, context))
}

/** The context of the same export once it was accepted. */
function accepted(context: PlanContext): PlanContext {
  return { ...context, acceptedAsOf: context.asOf }
}

function desiredStates(roster: Roster) {
  return new Map([...roster].map(([key, { confirmed: _, ...side }]) => [key, side]))
}

describe('no leaver is lost', () => {
  test('applying a plan to the roster gives what HR says', () => {
    fc.assert(
      fc.property(nextNight, ({ tonight, roster, context }) => {
        const rows = tonight.rows.filter(({ identityId }) => !tonight.untouched.has(identityId))

        const after = applyPlan(roster, planOf(tonight, roster, context))

        for (const row of rows) {
          const held = onPlatform(after, row.identityId)
          const separation = statedSeparation(row, roster.get(row.identityId), context)
          const kept = typeof row.leavingDate === 'string' && held?.separatedAt === utcMidnight(row.leavingDate)
          expect({ ...nothing, ...held }).toMatchObject(row.fields)
          if (separation === 'some date') expect(held?.separatedAt).toMatch(/^\d{4}-\d{2}-\d{2}T00:00:00\.000Z$/)
          // A date ahead that was accepted under `future: send` stays, also under `defer`.
          else if (!(separation === null && kept)) expect(held?.separatedAt).toBe(separation)
        }
      }),
      runs,
    )
  })

  test('a person who is missing from the snapshots leaves when the grace is used up', () => {
    fc.assert(
      fc.property(nextNight, ({ tonight, past, roster }) => {
        const empty: Night = {
          ...tonight,
          rows: [],
          untouched: new Set(),
          rules: { ...tonight.rules, absence: 'separate' },
        }

        const nights = Array.from({ length: 25 }, (_, i) => contextOf(empty, past.length + i))
        const after = nights.reduce((known, context) => applyPlan(known, planOf(empty, known, context)), roster)

        for (const { confirmed, deferredTo } of after.values()) {
          expect(confirmed?.separatedAt ?? null).not.toBeNull()
          expect(deferredTo).toBeNull()
        }
      }),
      runs,
    )
  })

  test('an undelivered change stays in every later plan until it is delivered', () => {
    fc.assert(
      fc.property(nextNight, ({ tonight, roster, context }) => {
        const first = planOf(tonight, roster, context)
        const due = first.changes.filter(({ identityId }) => !tonight.delivers.includes(identityId))

        const after = applyPlan(roster, first, ({ identityId }) => tonight.delivers.includes(identityId))
        const second = planOf(tonight, after, accepted(context))

        expect(second.changes).toEqual(due.map(carriedOn))
        expect(second.entries.size).toBe(0)
      }),
      runs,
    )
  })
})

describe('absence never deletes', () => {
  test('no snapshot retracts anybody, and nobody is dropped from the roster', () => {
    fc.assert(
      fc.property(nextNight, ({ tonight, roster, context }) => {
        const tonightsPlan = planOf(tonight, roster, context)
        const after = applyPlan(roster, tonightsPlan)

        expect(tonightsPlan.changes.filter(({ kind }) => kind === 'retract')).toEqual([])
        expect([...after.keys()]).toEqual(expect.arrayContaining([...roster.keys()]))
        for (const [key, { desired }] of roster) if (desired) expect(after.get(key)?.desired).not.toBeNull()
      }),
      runs,
    )
  })

  test('an ignored absence changes nothing about anybody', () => {
    fc.assert(
      fc.property(nextNight, ({ roster, context }) => {
        const nobodyNamed = plan([], roster, { ...context, absence: 'ignore' })
        const everybodyUntouched = plan([], roster, { ...context, mode: 'delta' })

        // But for the time of the export, which holds for none of them.
        const sidesOf = ({ entries }: Plan) =>
          [...everybodyUntouched.entries.keys()].map((key) => ({ ...entries.get(key), exportIsSilent: null }))
        expect({ ...nobodyNamed, entries: sidesOf(nobodyNamed) }).toEqual({
          ...everybodyUntouched,
          entries: sidesOf(everybodyUntouched),
        })
      }),
      runs,
    )
  })

  test('an inferred leaving date is set once', () => {
    fc.assert(
      fc.property(nextNight, ({ tonight, past, roster, context }) => {
        const gone = applyPlan(roster, planOf(tonight, roster, context))
        const later: Night = { ...tonight, rows: [], untouched: new Set() }

        const { changes } = planOf(later, gone, contextOf(later, past.length + 1))

        // A date ahead that was sent does not keep a person employed who is absent.
        const wasAhead = ({ fields }: { fields: FieldChanges }) =>
          (fields.separatedAt?.from ?? '') > utcMidnight(context.today)
        const moved = changes.flatMap((change) => (change.kind === 'correct' && !wasAhead(change) ? [change] : []))
        expect(moved).toEqual([])
        expect(changes.filter(({ kind }) => kind === 'return')).toEqual([])
      }),
      runs,
    )
  })
})

describe('saying the same thing twice sends nothing', () => {
  test('planning again after everything was delivered gives no changes', () => {
    fc.assert(
      fc.property(nextNight, ({ tonight, roster, context }) => {
        const after = applyPlan(roster, planOf(tonight, roster, context))

        const again = planOf(tonight, after, accepted(context))

        expect(again.changes).toEqual([])
        expect(again.entries.size).toBe(0)
      }),
      runs,
    )
  })

  test('the same export a day later sends only deferred dates and used-up grace', () => {
    fc.assert(
      fc.property(nextNight, ({ tonight, past, roster }) => {
        const steady: Night = { ...tonight, rules: { ...tonight.rules, graceRuns: 1, future: 'send' } }
        const today = contextOf(steady, past.length + 20)
        const after = applyPlan(roster, planOf(steady, roster, today))

        const { changes } = planOf(steady, after, contextOf(steady, past.length + 21))

        expect(changes).toEqual([])
      }),
      runs,
    )
  })
})

describe('newer facts win', () => {
  test('an older export processed late changes nothing that a newer one stated', () => {
    fc.assert(
      fc.property(nextNight, night, ({ tonight, past, roster, context }, older) => {
        const after = applyPlan(roster, planOf(tonight, roster, context))
        // A row of which the cell cannot be read that may say that the person has left says nothing of employment.
        const known = tonight.rows.filter(
          ({ identityId, isUncertain, statesDeparture, leavingDate }) =>
            !tonight.untouched.has(identityId) && (!isUncertain || statesDeparture || typeof leavingDate === 'string'),
        )

        const late = { ...contextOf(older, past.length), asOf: '2026-10-31T01:00:00.000Z' }
        const behind = planOf(older, after, late)
        const then = applyPlan(after, behind)

        for (const { identityId, fields } of known) {
          const statedFields = ['separatedAt', ...Object.keys(fields)] as FieldName[]
          const [before, now] = [after, then].map((people) => {
            const { desired, deferredTo } = people.get(identityId) ?? {}
            return { deferredTo, told: statedFields.map((field) => desired?.[field]) }
          })
          expect(now).toEqual(before)
          expect(behind.changes.find((change) => change.identityId === identityId)?.kind ?? 'update').toBe('update')
        }
      }),
      runs,
    )
  })

  test('of two events the newer one decides, whichever arrives first', () => {
    fc.assert(
      fc.property(nextNight, night, ({ past, roster }, { rows, rules }) => {
        const context = contextOf({ rules }, past.length + 1)
        const observations = rows.map((row) => complete(row, context))
        const newer = eventOf(observations, context)
        const contradicted = observations.map((row) => ({
          ...row,
          fields: { ...nothing, jobTitle: 'Intern' },
          statesDeparture: false,
        }))
        const older = eventOf(contradicted, { ...newer.context, asOf: contextOf({ rules }, past.length).asOf })

        const inOrder = [older, newer].reduce(processed, roster)
        const outOfOrder = [newer, older].reduce(processed, roster)

        expect(desiredStates(outOfOrder)).toEqual(desiredStates(inOrder))
      }),
      runs,
    )
  })
})

describe('equal input, equal plan', () => {
  test('the order of rows and of the roster does not matter, nor does the digest see it', () => {
    const shuffled = fc.tuple(nextNight, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })))
    fc.assert(
      fc.property(shuffled, ([{ tonight, roster, context }, chances]) => {
        const shuffle = <T>(items: Iterable<T>) =>
          [...items]
            .map((item) => ({ item, place: chances.next().value }))
            .sort((a, b) => a.place - b.place)
            .map(({ item }) => item)

        const straight = planOf(tonight, roster, context)
        const other = planOf({ ...tonight, rows: shuffle(tonight.rows) }, new Map(shuffle(roster)), context)

        expect(other).toEqual(straight)
        expect(planDigest(other.changes)).toBe(planDigest(straight.changes))
      }),
      runs,
    )
  })
})

/** What a later run plans of a change that was not delivered: what was desired before its first run is of no account any more. */
function carriedOn(change: Change): Change {
  if (change.kind === 'retract') return { ...change, carried: true }
  const fields = Object.entries(change.fields).map(([name, { desiredBefore: _, ...fieldChange }]) => [
    name,
    fieldChange,
  ])
  return { ...change, fields: Object.fromEntries(fields), carried: true }
}
