import { z } from 'zod'
import { changeKinds, type PlanCounts, type Verdict } from './change.ts'
import type { Decision, Seen } from './decide.ts'
import type { Reject, UnlistedValue } from './record.ts'

const limit = (what: string, { count, share }: { count: number; share: number }) =>
  z
    .strictObject({
      count: z.int().min(0).default(count).describe('This many always pass.'),
      share: z
        .number()
        .min(0)
        .max(1)
        .default(share)
        .describe('A share between 0 and 1. It applies if it allows more than count.'),
    })
    .prefault({})
    .describe(`${what} The plan is held when both the count and the share are exceeded.`)

/** How far a plan may go before a person has to approve it. */
export const Guards = z.strictObject({
  leavers: limit('People who would be separated, measured against those employed.', { count: 5, share: 0.05 }),
  rejectedRows: limit(
    'Rows that are rejected or hold a cell that cannot be read, and that no accepted export had, measured against all rows.',
    { count: 5, share: 0.02 },
  ),
  emailChanges: limit('People whose e-mail address changes, measured against those employed.', {
    count: 10,
    share: 0.1,
  }),
  shrink: limit(
    'Rows, or bytes, that a snapshot has fewer than the last accepted one. For bytes, count stands for the average size of that many rows.',
    {
      count: 5,
      share: 0.2,
    },
  ),
})
export type Guards = z.infer<typeof Guards>
export type Limit = Guards[keyof Guards]

/** What the guards look at. Counts of changes hold what is new in this plan; what a former run accepted is not judged again. */
export type GuardFacts = {
  readonly mode: 'snapshot' | 'delta'
  readonly rows: number
  /** Against the last accepted snapshot; null where there is none to compare with. */
  readonly size: { readonly rows: Shrink; readonly bytes: Shrink } | null
  /** The snapshot lacks the last person of the accepted one before it who is still employed: its end may have been cut off. */
  readonly endMissing: boolean
  /** People employed according to the roster before this run. */
  readonly headcount: number
  readonly leavers: number
  /** Leavers of the last day that no person approved: many small plans are no way around the limit of a large one. */
  readonly recentLeavers: number
  readonly emailChanges: number
  /** E-mail changes of the last day that no person approved. */
  readonly recentEmailChanges: number
  readonly retractions: number
  readonly rejected: number
  /** Rows that count but for a cell that could not be read. */
  readonly incomplete: number
  /** Of the rejected and the incomplete rows, those that an accepted export held already. */
  readonly knownFaulty: number
  /** The first of the values that a closed list lacks and no accepted plan held, how many there are, and how many others are known. */
  readonly unlisted: { readonly values: readonly UnlistedCount[]; readonly count: number; readonly known: number }
  /** Rejected rows whose key could not be read: no one knows which people they were about. */
  readonly unreadableKeys: number
  /** Those of them that an accepted export held already. Such a row stood beside the people who are absent now: it is about none of them. */
  readonly knownUnreadableKeys: number
  /** Employed people that the snapshot lacks. */
  readonly absent: number
  /** One sentence for each mapped column that the source lacks. */
  readonly missingColumns: readonly string[]
  readonly absence: 'separate' | 'hold' | 'ignore'
}

/** A value that a closed list lacks, with the number of rows that hold it and the line of one of them. */
export type UnlistedCount = UnlistedValue & { rows: number; readonly line: number }

/** What is wrong with the accepted exports of a connection already, so that it is not judged again. */
export type KnownFaults = {
  /** Rejects by fingerprint, each with the number of rows that had it. */
  readonly rejects: ReadonlyMap<string, number>
  /** Values of closed lists that were accepted without being classed, by their names. */
  readonly values: ReadonlySet<string>
}

export const noKnownFaults: KnownFaults = { rejects: new Map(), values: new Set() }

/** Names a value of a closed list, however it is written. */
export function valueName({ field, value }: UnlistedValue): string {
  return `${field} ${value.toLowerCase()}`
}

export type Shrink = { readonly before: number; readonly now: number }

/** Every guard's verdict on a plan, always all of them and in the same order. The plan passes where each is ok. */
export function judge(facts: GuardFacts, limits: Guards): Verdict[] {
  const verdicts = [
    zeroRows(facts),
    missingColumn(facts),
    rejectedRows(facts, limits.rejectedRows),
    unlistedValues(facts),
    unreadableKeys(facts),
    limited('leavers', limits.leavers, leavers(facts)),
    absentUnderHold(facts),
    limited('emailChanges', limits.emailChanges, emailChanges(facts)),
    retractions(facts),
    ...shrunk(facts, limits.shrink),
    endMissing(facts),
  ]
  return facts.mode === 'snapshot' ? verdicts : verdicts.filter(({ name }) => !snapshotOnly.has(name))
}

/** What only the silence of a snapshot can say. */
const snapshotOnly: ReadonlySet<string> = new Set([
  'zeroRows',
  'unreadableKeys',
  'absentUnderHold',
  'shrinkRows',
  'shrinkBytes',
  'endMissing',
])

/** What one decision added to a tally, so that it can be taken out again; 0 for nothing. A number, since there is one for each person. */
export type Tallied = number

/** Counts a plan while its decisions stream by. */
export type Tally = {
  add(decision: Decision, seen: Seen): Tallied
  /** Takes a decision out again whose row turned out not to count. */
  remove(tallied: Tallied): void
  reject(reject: Reject): void
  /** Counts a row by the cells of it that could not be read. */
  incomplete(cells: readonly Reject[]): void
  retract(): void
  counts(): PlanCounts
  facts(
    about: Omit<
      GuardFacts,
      | ('leavers' | 'emailChanges' | 'retractions' | 'rejected' | 'incomplete' | 'knownFaulty' | 'unlisted' | 'absent')
      | ('unreadableKeys' | 'knownUnreadableKeys')
    >,
  ): GuardFacts
}

/** Counts a plan. What is known to be wrong counts as new where more rows have it than before. */
export function tally(known: KnownFaults = noKnownFaults): Tally {
  const counts = {
    join: 0,
    update: 0,
    leave: 0,
    return: 0,
    correct: 0,
    retract: 0,
    unchanged: 0,
    rejected: 0,
    incomplete: 0,
  }
  const unlisted = new Map<string, UnlistedCount>()
  const unlistedKnown = new Set<string>()
  const met = new Map<string, number>()
  const news = { leavers: 0, emailChanges: 0, retractions: 0, absent: 0 }
  const faults = { knownFaulty: 0, unreadableKeys: 0, knownUnreadableKeys: 0 }

  function count(tallied: Tallied, step: 1 | -1): void {
    for (const kind of countedKinds) if (tallied & bits[kind]) counts[kind] += step
    for (const fact of countedNews) if (tallied & bits[fact]) news[fact] += step
  }

  /** Whether an accepted export held this fault, as often as it was met until now. */
  function isKnown({ fingerprint, unlisted: value }: Reject): boolean {
    const before = known.rejects.get(fingerprint) ?? 0
    if (before > 0) {
      const times = (met.get(fingerprint) ?? 0) + 1
      met.set(fingerprint, times)
      if (times <= before) return true
    }
    return value !== undefined && known.values.has(valueName(value))
  }

  function noteUnlisted({ unlisted: found, line }: Reject): void {
    if (found === undefined) return
    const name = valueName(found)
    const counted = unlisted.get(name)
    if (known.values.has(name)) unlistedKnown.add(name)
    else if (counted) counted.rows += 1
    else if (unlisted.size < unlistedCounted) unlisted.set(name, { ...found, rows: 1, line })
  }

  return {
    add({ change, absent, news: { leaves, emailChanged, retracts } }, seen) {
      let tallied: Tallied = 0
      if (change !== null) tallied |= bits[change.kind]
      else if (typeof seen !== 'string') tallied |= bits.unchanged
      if (leaves) tallied |= bits.leavers
      if (emailChanged) tallied |= bits.emailChanges
      if (absent) tallied |= bits.absent
      if (retracts) tallied |= bits.retractions
      count(tallied, 1)
      return tallied
    },
    remove: (tallied) => count(tallied, -1),
    reject(reject) {
      counts.rejected++
      const knownOne = isKnown(reject) ? 1 : 0
      faults.knownFaulty += knownOne
      if (reject.identityId === null) {
        faults.unreadableKeys++
        faults.knownUnreadableKeys += knownOne
      }
      noteUnlisted(reject)
    },
    incomplete(cells) {
      counts.incomplete++
      // Each of them is met, so that none is passed over.
      if (cells.filter(isKnown).length === cells.length) faults.knownFaulty++
      for (const cell of cells) noteUnlisted(cell)
    },
    retract() {
      counts.retract++
      news.retractions++
    },
    counts: () => ({ ...counts }),
    facts: (about) => ({
      ...about,
      ...news,
      ...faults,
      rejected: counts.rejected,
      incomplete: counts.incomplete,
      unlisted: {
        values: [...unlisted.values()].slice(0, unlistedShown),
        count: unlisted.size,
        known: unlistedKnown.size,
      },
    }),
  }
}

/** So many values that no list holds are named; a column that was mapped by mistake may hold a different one in each row. */
const unlistedShown = 10
const unlistedCounted = 1000

const countedKinds = [...changeKinds, 'unchanged'] as const
const countedNews = ['leavers', 'emailChanges', 'absent', 'retractions'] as const
const bits = {
  join: 1,
  update: 2,
  leave: 4,
  return: 8,
  correct: 16,
  retract: 32,
  unchanged: 64,
  leavers: 128,
  emailChanges: 256,
  absent: 512,
  retractions: 1024,
} as const

/** The guards that count people, so that those who trip one can be told from the others. */
export const guardsOfPeople: ReadonlySet<string> = new Set(countedNews)

/** Whether a decision added something that one of these guards counts. */
export function isCountedBy(tallied: Tallied, guards: ReadonlySet<string>): boolean {
  return countedNews.some((fact) => guards.has(fact) && (tallied & bits[fact]) !== 0)
}

function limited(
  name: string,
  { count, share }: Limit,
  { actual, base, of }: { actual: number; base: number; of: string },
): Verdict {
  const most = Math.max(count, Math.floor(share * base))
  if (actual <= most) return { name, actual, limit: most, ok: true }
  return { name, actual, limit: most, ok: false, reason: `${actual} of ${base} ${of}; the limit is ${most}` }
}

function zeroRows({ rows }: GuardFacts): Verdict {
  const verdict = { name: 'zeroRows', actual: rows, limit: null }
  return rows > 0 ? { ...verdict, ok: true } : { ...verdict, ok: false, reason: 'the source holds no rows' }
}

function missingColumn({ missingColumns }: GuardFacts): Verdict {
  const verdict = { name: 'missingColumn', actual: missingColumns.length, limit: null }
  return missingColumns.length === 0
    ? { ...verdict, ok: true }
    : { ...verdict, ok: false, reason: missingColumns.join('; ') }
}

/** What an accepted export held already was judged with it. HR may never mend it. */
function rejectedRows({ rejected, incomplete, knownFaulty, rows }: GuardFacts, limit: Limit): Verdict {
  const all = rejected + incomplete
  const actual = all - knownFaulty
  const what = 'rows are rejected or hold a cell that cannot be read'
  const verdict = limited('rejectedRows', limit, { actual, base: rows, of: what })
  if (verdict.ok || knownFaulty === 0) return verdict
  return {
    ...verdict,
    reason: `${all} of ${rows} ${what}, of which ${actual} are new; the limit is ${verdict.limit}`,
  }
}

function leavers({ leavers: now, recentLeavers: recent, headcount: base }: GuardFacts) {
  return withRecent({ now, recent, base, of: 'people would be separated' })
}

function emailChanges({ emailChanges: now, recentEmailChanges: recent, headcount: base }: GuardFacts) {
  return withRecent({ now, recent, base, of: 'people would get another e-mail address' })
}

/** A plan that adds nothing is not held for what others did before it. */
function withRecent({ now, recent, base, of }: { now: number; recent: number; base: number; of: string }) {
  if (now === 0 || recent === 0) return { actual: now, base, of }
  return { actual: now + recent, base, of: `${of} within a day by events` }
}

// A word that no one has classed may mean that a person has left, or that they have not.
function unlistedValues({ unlisted: { values, count, known } }: GuardFacts): Verdict {
  const verdict = { name: 'unlistedValues', actual: count, limit: 0 }
  if (count === 0) return { ...verdict, ok: true }
  const named = values.map(
    ({ field, value, rows, line }) =>
      `${field} "${value}" in ${rows} ${rows === 1 ? 'row' : 'rows'} (such as line ${line})`,
  )
  const more = [
    ...(count > values.length ? [`${count - values.length} more`] : []),
    ...(known > 0 ? [`and ${known} that ${known === 1 ? 'was' : 'were'} accepted before`] : []),
  ]
  const reason = `values that no list of the configuration holds: ${[...named, ...more].join(', ')}; \`rollcall accept-status VALUE --as …\` says what one means`
  return { ...verdict, ok: false, reason }
}

function unreadableKeys({ unreadableKeys: all, knownUnreadableKeys: known, absent }: GuardFacts): Verdict {
  const actual = all - known
  const verdict = { name: 'unreadableKeys', actual, limit: null }
  if (actual === 0 || absent === 0) return { ...verdict, ok: true }
  const those = known === 0 ? '' : `, of which ${actual} are new,`
  const reason = `the key of ${all} rows cannot be read${those} while ${absent} people are absent, who may be in those rows`
  return { ...verdict, ok: false, reason }
}

// Deleting takes a person's word, however few it would be.
function retractions({ retractions: actual }: GuardFacts): Verdict {
  const verdict = { name: 'retractions', actual, limit: 0 }
  if (actual === 0) return { ...verdict, ok: true }
  return { ...verdict, ok: false, reason: `${actual} would be deleted, which always waits for an approval` }
}

function absentUnderHold({ absent, absence }: GuardFacts): Verdict {
  const verdict = { name: 'absentUnderHold', actual: absent, limit: null }
  if (absent === 0 || absence !== 'hold') return { ...verdict, ok: true }
  return { ...verdict, ok: false, reason: `the source lacks ${absent} people, and the connection says "absence: hold"` }
}

function shrunk({ size }: GuardFacts, { count, share }: Limit): Verdict[] {
  const { rows, bytes } = size ?? { rows: nothing, bytes: nothing }
  // So many bytes as `count` rows had on average: a small export may lose a row.
  const bytesOfRows = rows.before === 0 ? 0 : Math.ceil((count * bytes.before) / rows.before)
  return [
    limited(
      'shrinkRows',
      { count, share },
      { actual: lost(rows), base: rows.before, of: 'rows of the last accepted export are gone' },
    ),
    limited(
      'shrinkBytes',
      { count: bytesOfRows, share },
      { actual: lost(bytes), base: bytes.before, of: 'bytes of the last accepted export are gone' },
    ),
  ]
}

const nothing: Shrink = { before: 0, now: 0 }

function lost({ before, now }: Shrink): number {
  return Math.max(0, before - now)
}

function endMissing({ endMissing: missing, absence }: GuardFacts): Verdict {
  const verdict = { name: 'endMissing', actual: missing ? 1 : 0, limit: null }
  if (!missing || absence === 'ignore') return { ...verdict, ok: true }
  const reason = 'the source lacks the person whom the last accepted export named last: its end may have been cut off'
  return { ...verdict, ok: false, reason }
}
