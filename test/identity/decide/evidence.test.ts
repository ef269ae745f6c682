import { describe, expect, test } from 'vitest'
import { decide, type PlanContext } from '../../../src/identity/decide/decide.ts'
import { createDecider } from '../../../src/identity/decide/decider.ts'
import { eventRows, exportRows } from '../../../src/identity/decide/row-models.ts'
import { noPeople } from '../../../src/identity/guards/facts.ts'
import { judge } from '../../../src/identity/guards/judge.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'
import { isReject, type MappableRow } from '../../../src/identity/mapping/rows.ts'
import type { RosterEntry } from '../../../src/identity/record.ts'
import {
  absent,
  cellsOf,
  type DateName,
  dates,
  type Feed,
  feeds,
  isListed,
  type Outcome,
  type Past,
  pasts,
  present,
  rejectedRow,
  type StatusName,
  statuses,
} from '../../helpers/evidence/outcomes.ts'
import { entry, nightly, record } from '../../helpers/records.ts'

const march = '2026-03-31T00:00:00.000Z'
const known: Readonly<Record<Past, RosterEntry | undefined>> = {
  'joined before': entry('ana'),
  new: undefined,
  'separated before': entry('ana', { desired: record('ana', { separatedAt: march }) }),
  'separated by absence before': entry('ana', { desired: record('ana', { separatedAt: march }), inferred: true }),
  'deferred before': entry('ana', { deferredTo: '2026-12-31' }),
  retracted: entry('ana', {
    confirmed: null,
    retracted: { reason: 'sent in error', at: '2026-11-01T09:00:00.000Z' },
  }),
}

const fields = { identityId: 'id', email: 'mail', separatedAt: 'end' }
const mapping = Mapping.parse({
  fields,
  status: { column: 'state', leftWhen: ['Terminated'], employedWhen: ['Active'] },
})
const withAction = Mapping.parse({ ...mapping, action: { column: 'about', change: ['change'] } })
const headers = ['id', 'mail', 'end', 'state', 'about']

function rowOf(date: DateName, status: StatusName): MappableRow {
  const fault = { column: headers.indexOf('state'), reason: 'the cell is not in the declared encoding' }
  return {
    values: ['ana', 'ana@example.com', dates[date], statuses[status], 'change'],
    origin: { file: 'people.csv', line: 2 },
    ...(status === 'unreadable' && { fault }),
  }
}

function contextOf(feed: Feed, rules: Partial<PlanContext> = {}): PlanContext {
  return nightly({ mode: feed === 'snapshot' ? 'snapshot' : 'delta', ...rules })
}

/** What the decider makes of one row of a person. */
function decided(feed: Feed, past: Past, row: MappableRow, rules: unknown = feed === 'event' ? withAction : mapping) {
  const compiled = compileMapping(Mapping.parse(rules), headers)
  if (!compiled.ok) throw new Error(compiled.missing.join())
  const before = known[past]
  const context = contextOf(feed)
  const decider = createDecider({
    context,

    rows: feed === 'event' ? eventRows : exportRows,
    rejectsKept: 10,
  })
  const mapped = compiled.map(row)
  if (isReject(mapped)) decider.book.reject(mapped)
  else decider.book.add(mapped)
  const entries = new Map(before ? [['ana', before]] : [])
  const named = decider.decideObserved(decider.book.lastPage().observed, entries)
  const unseen =
    decider.book.unobserved([...entries.keys()]).length > 0 ? decider.decideUnobserved(entries.values()) : []
  const [person] = [...named, ...unseen]
  const facts = decider.facts({
    ...context,
    rows: 1,
    size: null,
    endMissing: false,
    headcount: 1,
    recent: noPeople,
    usual: null,
    missingColumns: [],
    keyChangeCandidates: [],
  })
  return {
    outcome: outcomeOf(past, person ?? null, row.values[2] ?? ''),
    rejects: decider.rejects(),
    verdicts: judge(facts, Guards.parse({})),
  }
}

/** Names what is desired of a person from now on. */
function outcomeOf(
  past: Past,
  person: { entry: Partial<RosterEntry> | null; change: unknown } | null,
  date: string,
): Outcome {
  const before = known[past]
  if (before?.retracted) return person?.change ? 'employed' : 'withheld'
  const { desired = null, inferred = false, deferredTo = null } = person?.entry ?? before ?? {}
  if (desired === null) return 'unknown'
  if (deferredTo !== null) return deferredTo === before?.deferredTo && deferredTo !== date ? 'waits before' : 'waits'
  if (desired.separatedAt === null || desired.separatedAt === undefined) return 'employed'
  if (desired.separatedAt === march) return 'before'
  if (inferred) return desired.separatedAt.startsWith('2026-11-20') ? 'inferred' : 'unknown'
  return desired.separatedAt === `${date}T00:00:00.000Z` ? 'date' : 'unknown'
}

const rows = present.flatMap((table) =>
  table.feeds.flatMap((feed) =>
    table.pasts.flatMap((past) =>
      cellsOf(table).flatMap(([date, cells]) =>
        cells.map(([status, outcome]) => ({ feed, past, date, status, outcome })),
      ),
    ),
  ),
)

describe('evidence of leaving', () => {
  test('covers every combination once', () => {
    const listed = new Set(rows.map(({ feed, past, date, status }) => [feed, past, date, status].join()))

    const all = feeds.length * Object.keys(pasts).length * Object.keys(dates).length * Object.keys(statuses).length
    expect(listed.size).toBe(all)
    expect(rows.length).toBe(all)
  })

  test.each(rows)('in a $feed, $past: $date and the status $status', ({ feed, past, date, status, outcome }) => {
    const { outcome: actual, rejects, verdicts } = decided(feed, past, rowOf(date, status))

    expect(actual).toBe(outcome)
    expect(rejects.length > 0).toBe(isListed(date, status))
    for (const reject of rejects) expect(reject).toMatchObject({ identityId: 'ana', cellOnly: true, mayLeave: true })
    const unlisted = verdicts.find(({ name }) => name === 'unlistedValues')
    expect(unlisted?.ok).toBe(status !== 'unlisted')
    if (status === 'unlisted') expect(unlisted?.reason).toContain('status "Sabbatical" in 1 row (such as line 2)')
  })

  test.each(rows)(
    'in a row of a $feed that is rejected, $past: $date and the status $status',
    ({ feed, past, date, status }) => {
      const row = rowOf(date, status)
      const values = row.values.with(headers.indexOf('mail'), 'DISABLED')
      const rules = { ...(feed === 'event' ? withAction : mapping), onBadCell: 'rejectRow' }

      const { outcome, rejects } = decided(feed, past, { ...row, values }, rules)

      expect(outcome).toBe(rejectedRow[past])
      expect(rejects).toMatchObject([{ identityId: 'ana', cellOnly: false }])
    },
  )

  const silent = (Object.keys(pasts) as Past[]).flatMap((past) =>
    feeds.flatMap((feed) => [0, 1].map((absences) => ({ past, feed, absences }))),
  )
  test.each(silent)('absent from a $feed, $past, after $absences absences', ({ past, feed, absences }) => {
    const before = known[past] && { ...known[past], absences, employmentAsOf: '2026-11-19T01:00:00.000Z' }

    const decision = decide(before, 'absent', contextOf(feed, { graceRuns: 2 }))

    const when = feed !== 'snapshot' ? 'elsewhere' : absences === 0 ? 'once' : 'beyond grace'
    expect(outcomeOf(past, decision, '')).toBe(absent[past][when])
  })
})
