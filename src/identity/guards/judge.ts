import { changeKinds, type Verdict } from '../change.ts'
import { pluralize, pluralizePeople } from '../pluralize.ts'
import { checkLimit, maxAllowed } from './check-limit.ts'
import type { GuardFacts, peopleLimits, Shrink, Usual } from './facts.ts'
import { firstPlan } from './first-plan.ts'
import { type Guards, type Limit, limitDefinitions, otherFieldsOf } from './limits.ts'

/** The verdicts of all guards on a plan, always in the same order. The plan passes if all are ok. */
export function judge(facts: GuardFacts, limits: Guards): Verdict[] {
  const verdicts = [
    zeroRows(facts),
    missingColumn(facts),
    rejectedRows(facts, limits.rejectedRows),
    unlistedValues(facts),
    unreadableKeys(facts),
    leavers(facts, limits),
    absentUnderHold(facts),
    joiners(facts, limits),
    ...firstPlan(facts, limits),
    people('returns', facts, limits),
    people('redates', facts, limits),
    people('contractorFlips', facts, limits),
    people('emailChanges', facts, limits),
    fields('fieldChanges', 'changed', facts, limits),
    fields('blanks', 'blanked', facts, limits),
    retractions(facts),
    pinned(facts),
    reusedKeys(facts),
    ...leftUnapproved(facts),
    ...outOfScope(facts),
    rekeyed(facts),
    ...shrunk(facts, limits.shrink),
    endMissing(facts),
  ]
  return facts.mode === 'snapshot' ? verdicts : verdicts.filter(({ name }) => !snapshotOnly.has(name))
}

/** The guards that make sense only for snapshots. */
const snapshotOnly: ReadonlySet<string> = new Set([
  'zeroRows',
  'unreadableKeys',
  'absentUnderHold',
  'shrinkRows',
  'shrinkBytes',
  'endMissing',
])

function zeroRows({ rows, scope }: GuardFacts): Verdict {
  const verdict = { name: 'zeroRows', actual: rows, limit: null }
  if (rows > 0) return { ...verdict, ok: true }
  const skippedRows = scope?.rows ?? 0
  return {
    ...verdict,
    ok: false,
    reason: skippedRows > 0 ? `none of ${pluralize(skippedRows, 'row')} is in scope` : 'the source holds no rows',
  }
}

function missingColumn({ missingColumns }: GuardFacts): Verdict {
  const verdict = { name: 'missingColumn', actual: missingColumns.length, limit: null }
  return missingColumns.length === 0
    ? { ...verdict, ok: true }
    : { ...verdict, ok: false, reason: missingColumns.join('; ') }
}

/** Faults of accepted exports are not judged again, because HR may never fix them. */
function rejectedRows({ rejected, incomplete, knownFaulty, rows }: GuardFacts, limit: Limit): Verdict {
  const all = rejected + incomplete
  const actual = all - knownFaulty
  const subject = limitDefinitions.rejectedRows.verdictText
  const verdict = checkLimit('rejectedRows', limit, { actual, base: rows, text: subject })
  if (verdict.ok || knownFaulty === 0) return verdict
  return {
    ...verdict,
    reason: `${all} of ${rows} ${subject}, of which ${actual} are new; the limit is ${verdict.limit}`,
  }
}

type PeopleLimit = (typeof peopleLimits)[number]

function people(name: PeopleLimit, facts: GuardFacts, limits: Guards, ofWhom = ''): Verdict {
  const { actual, within } = withRecent(facts[name], facts.recent[name], facts.recentBy)
  const { verdictText } = limitDefinitions[name]
  const verdict = checkLimit(name, limits[name], {
    actual,
    base: facts.headcount,
    text: `${verdictText}${within}${ofWhom}`,
  })
  const unusual = unusualOf(facts[name], { usual: facts.usual, most: facts.usual?.most[name] ?? 0, limits })
  if (!verdict.ok || unusual === null) return verdict
  return {
    ...verdict,
    actual: facts[name],
    limit: unusual.limit,
    ok: false,
    reason: `${facts[name]} ${verdictText}${ofWhom}; ${unusual.reason}`,
  }
}

type Baseline = { readonly usual: Usual | null; readonly most: number; readonly limits: Guards }

/** The limit and the reason if a number is far above those of all accepted runs; otherwise null. */
function unusualOf(
  now: number,
  { usual, most, limits: { unusual } }: Baseline,
): { limit: number; reason: string } | null {
  if (!unusual.enabled || usual === null || usual.runs < unusual.runs) return null
  const limit = Math.max(unusual.count, Math.floor(unusual.times * most))
  if (now <= limit) return null
  return { limit, reason: `in ${usual.runs} runs there were never more than ${most}` }
}

/** In the first plan, other guards judge how many joiners have left already. */
function leavers(facts: GuardFacts, limits: Guards): Verdict {
  const { leavers: actual, leftJoiners } = facts
  if (facts.isFirst) return { name: 'leavers', actual: actual - leftJoiners, limit: null, ok: true }
  return people('leavers', facts, limits, leftJoiners === 0 ? '' : `, ${leftJoiners} of them as they join`)
}

/** The first plan has no limit for joiners: everybody joins. */
function joiners(facts: GuardFacts, limits: Guards): Verdict {
  if (facts.headcount > 0) return people('joiners', facts, limits)
  return { name: 'joiners', actual: facts.joiners, limit: null, ok: true }
}

/** One verdict on all other fields. Its number is that of the field with the most people; its reason names every field over the limit. */
function fields(
  name: 'fieldChanges' | 'blanks',
  fact: 'changed' | 'blanked',
  { [fact]: counts, recent, recentBy, usual, headcount: base }: GuardFacts,
  limits: Guards,
): Verdict {
  const { verdictText } = limitDefinitions[name]
  const most = maxAllowed(limits[name], base)
  const judged = otherFieldsOf(counts)
    .map((field) => {
      const now = counts[field] ?? 0
      const { actual: sum, within } = withRecent(now, recent[fact][field] ?? 0, recentBy)
      // A person who changes twice within a day is counted twice. The sum is limited to the number of people.
      const actual = Math.max(now, Math.min(sum, base))
      const unusual = unusualOf(now, { usual, most: usual?.most[fact][field] ?? 0, limits })
      if (actual > most)
        return { field, actual, reason: `${actual} of ${base} ${verdictText} ${field}${within} (the limit is ${most})` }
      return { field, actual, reason: unusual && `${counts[field]} ${verdictText} ${field} (${unusual.reason})` }
    })
    .toSorted((a, b) => b.actual - a.actual)
  const failed = judged.filter(({ reason }) => reason !== null)
  const verdict = { name, actual: judged[0]?.actual ?? 0, limit: most }
  if (failed.length === 0) return { ...verdict, ok: true }
  const reasons = failed.map(({ reason }) => reason)
  return { ...verdict, ok: false, reason: reasons.join(', '), fields: failed.map(({ field }) => field) }
}

/** Adds the recent count, but not for a plan that adds nothing itself: it is not held for earlier plans. */
function withRecent(now: number, recent: number, by = 'by events'): { actual: number; within: string } {
  if (now === 0 || recent === 0) return { actual: now, within: '' }
  return { actual: now + recent, within: ` within a day ${by}` }
}

// A value that nobody has classified may or may not mean that a person has left.
function unlistedValues({ unlisted: { values, count, known } }: GuardFacts): Verdict {
  const verdict = { name: 'unlistedValues', actual: count, limit: 0 }
  if (count === 0) return { ...verdict, ok: true }
  const named = values.map(
    ({ field, value, rows, line }) => `${field} "${value}" in ${pluralize(rows, 'row')} (such as line ${line})`,
  )
  const more = [
    ...(count > values.length ? [`${count - values.length} more`] : []),
    ...(known > 0 ? [`and ${known} that ${known === 1 ? 'was' : 'were'} accepted before`] : []),
  ]
  const reason = `values without a meaning in the configuration: ${[...named, ...more].join(', ')}; say what each means with \`rollcall accept-status VALUE --as …\``
  return { ...verdict, ok: false, reason, unlisted: values.map(({ field, value }) => ({ field, value })) }
}

function unreadableKeys({ unreadableKeys: all, knownUnreadableKeys: known, absent }: GuardFacts): Verdict {
  const actual = all - known
  const verdict = { name: 'unreadableKeys', actual, limit: null }
  if (actual === 0 || absent === 0) return { ...verdict, ok: true }
  const those = known === 0 ? '' : `, of which ${actual} ${actual === 1 ? 'is' : 'are'} new,`
  const reason = `the key of ${pluralize(all, 'row')} cannot be read${those} while ${pluralize(absent, 'person is', 'people are')} absent, who may be in ${all === 1 ? 'that row' : 'those rows'}`
  return { ...verdict, ok: false, reason }
}

// Every deletion needs an approval.
function retractions({ retractions: actual }: GuardFacts): Verdict {
  const verdict = { name: 'retractions', actual, limit: 0 }
  if (actual === 0) return { ...verdict, ok: true }
  return {
    ...verdict,
    ok: false,
    reason: `${pluralizePeople(actual)} would be deleted, which always waits for an approval`,
  }
}

// People whom no export may separate by mistake, such as executives.
function pinned({ pinned: actual }: GuardFacts): Verdict {
  const verdict = { name: 'pinned', actual, limit: 0 }
  if (actual === 0) return { ...verdict, ok: true }
  const reason = `${actual} of the pinned people would be separated or deleted, which always waits for an approval`
  return { ...verdict, ok: false, reason }
}

// The record of the leaver would become that of another person, who would never be created.
function reusedKeys({ reusedKeys: actual }: GuardFacts): Verdict {
  const verdict = { name: 'reusedKeys', actual, limit: 0 }
  if (actual === 0) return { ...verdict, ok: true }
  const keys = actual === 1 ? '1 person who has left comes' : `${actual} people who have left come`
  const reason = `${keys} back with another name and another e-mail address, as if HR had given the key to somebody else`
  return { ...verdict, ok: false, reason }
}

/** Holds people without whom somebody approved a part of a held plan: no limit may let them pass. Returns no verdict if there are none. */
export function leftUnapproved({ leftUnapproved: left = {} }: Pick<GuardFacts, 'leftUnapproved'>): Verdict[] {
  const taints = changeKinds.filter((kind) => (left[kind] ?? 0) > 0)
  const actual = taints.reduce((sum, kind) => sum + (left[kind] ?? 0), 0)
  if (actual === 0) return []
  const who = actual === 1 ? '1 person was' : `${actual} people were`
  const reason = `${who} left out when a part of a held plan was approved, and nobody has approved the change since`
  return [{ name: 'leftUnapproved', actual, limit: 0, ok: false, reason, taints }]
}

// People may fall out of scope by a new department or an edited scope without leaving the company.
function outOfScope({ scope }: GuardFacts): Verdict[] {
  if (scope === undefined) return []
  const verdict = { name: 'outOfScope', actual: scope.outOfScopeLeavers.length, limit: null }
  if (!scope.holds || scope.outOfScopeLeavers.length === 0) return [{ ...verdict, ok: true }]
  const count = scope.outOfScopeLeavers.length
  const reason = `${count} employed ${count === 1 ? 'person is' : 'people are'} no longer in scope, and the source says "outOfScope: hold"`
  return [{ ...verdict, ok: false, reason, people: scope.outOfScopeLeavers.slice(0, peopleOutOfScope) }]
}

const peopleOutOfScope = 10

/** Holds pairs of keys that look like one person: the person would be created again under the new key, and separated under the old one. */
export function rekeyed({ keyChangeCandidates: pairs }: Pick<GuardFacts, 'keyChangeCandidates'>): Verdict {
  const verdict = { name: 'rekeyed', actual: pairs.length, limit: 0 }
  if (pairs.length === 0) return { ...verdict, ok: true }
  const shown = pairs.slice(0, maxPairsShown)
  const unclear = pairs.filter(({ clear }) => !clear).length
  const subject = pairs.length === 1 ? '1 person seems' : `${pairs.length} people seem`
  const doubt = unclear === 0 ? '' : `, of which ${unclear} could be several`
  const more = pairs.length - shown.length
  return {
    ...verdict,
    ok: false,
    reason: `${subject} to have got a new key${doubt}; \`rollcall alias\` lists the pairs; say there whether each is one person or two`,
    people: shown.flatMap(({ former, identityId }) => [former, identityId]),
    hints: [
      ...shown.map(({ former, identityId, by }) => `${former} → ${identityId}: ${inCommon[by]}`),
      ...(more > 0 ? [`${more} more`] : []),
    ],
  }
}

const maxPairsShown = 10
const inCommon = {
  email: 'the same e-mail address',
  name: 'the same name and start date',
  both: 'the same e-mail address, name and start date',
} as const

function absentUnderHold({ absent, absence }: GuardFacts): Verdict {
  const verdict = { name: 'absentUnderHold', actual: absent, limit: null }
  if (absent === 0 || absence !== 'hold') return { ...verdict, ok: true }
  return {
    ...verdict,
    ok: false,
    reason: `the source lacks ${pluralizePeople(absent)}, and the connection says "absence: hold"`,
  }
}

function shrunk({ size }: GuardFacts, { count, share }: Limit): Verdict[] {
  const rows = size?.rows ?? nothing
  const bytes = size?.bytes ?? nothing
  // The bytes of `count` average rows, so that a small export may lose a row.
  const bytesOfRows = rows.before === 0 ? 0 : Math.ceil((count * bytes.before) / rows.before)
  return [
    checkLimit(
      'shrinkRows',
      { count, share },
      { actual: lostCount(rows), base: rows.before, text: `rows ${limitDefinitions.shrink.verdictText}` },
    ),
    checkLimit(
      'shrinkBytes',
      { count: bytesOfRows, share },
      { actual: lostCount(bytes), base: bytes.before, text: `bytes of cells ${limitDefinitions.shrink.verdictText}` },
    ),
  ]
}

const nothing: Shrink = { before: 0, now: 0 }

function lostCount({ before, now }: Shrink): number {
  return Math.max(0, before - now)
}

function endMissing({ endMissing: missing, absence }: GuardFacts): Verdict {
  const verdict = { name: 'endMissing', actual: missing ? 1 : 0, limit: null }
  if (!missing || absence === 'ignore') return { ...verdict, ok: true }
  const reason =
    'the last person of the previous accepted export is missing: the end of this export may have been cut off'
  return { ...verdict, ok: false, reason }
}
