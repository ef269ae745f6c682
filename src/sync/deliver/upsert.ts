import { pluralizePeople } from '../../identity/pluralize.ts'
import type { ShapeFault } from '../../identity/shape/shape.ts'
import {
  type AnswerClass,
  blockedBy,
  classifyAnswer,
  decisiveStop,
  type RefusedAnswer,
  type Stop,
} from '../rate-limit/classify-answers.ts'
import { requireRecords } from '../target/endpoint.ts'
import { isSameDate, lookUpPeople, matchesExceptDate } from '../target/look-up.ts'
import {
  type Attempt,
  type PersonResult,
  parseRecord,
  type RecordText,
  type Results,
  recordFailedAlone,
  sendChange,
  shouldContinue,
} from './attempt.ts'
import { lookUpStoredDates } from './stored-dates.ts'

/** How many refused batches may be sent again in halves in one attempt. */
const maxSplits = 100
const splitPauseMs = 1000

/** A person whose outcome the answer leaves open. `unchanged`: nothing differed, and only the leaving date is uncertain. */
type OpenOutcome = { readonly person: RecordText; readonly unchanged: boolean }

type UpsertContext = {
  readonly attempt: Attempt
  readonly results: Map<string, PersonResult>
  readonly openOutcomes: OpenOutcome[]
  splits: number
  failed: number
}

/**
 * Sends records through the batch upsert. A batch that is refused as a whole, or on which the platform fails again, is halved until each
 * person who causes it is alone: at most two requests for each level of halving and each such person.
 */
export async function upsert(attempt: Attempt, people: readonly RecordText[]): Promise<Results> {
  const results = new Map<string, PersonResult>()
  const openOutcomes: OpenOutcome[] = []
  const fits = (person: RecordText): boolean => {
    const refused = refusedBySchema(attempt, person)
    if (refused !== null) results.set(person.identityId, refused)
    return refused === null
  }
  const fitting = attempt.records === null ? people : people.filter(fits)
  const into = { attempt, results, openOutcomes, splits: 0, failed: 0 }
  const stop = fitting.length === 0 ? null : await upsertInto(into, fitting)
  const lookUpStop = await lookUpOpen(attempt, openOutcomes, results)
  return { results, stop: decisiveStop(stop, lookUpStop) }
}

/** Why a record cannot be upserted; null if it can. An upsert replaces everything that the platform has of a record. */
function refusedBySchema(attempt: Attempt, person: RecordText): RefusedAnswer | null {
  const fault = requireRecords(attempt).shape.faultOf(parseRecord(person), false)
  return fault && shapeRefusal(fault)
}

/** A record that the platform would refuse by its schema is not sent. */
export function shapeRefusal({ reason }: ShapeFault): RefusedAnswer {
  return { kind: 'refused', code: 'record_misshapen', status: 0, message: reason }
}

async function upsertInto(into: UpsertContext, people: readonly RecordText[]): Promise<Stop | null> {
  const { attempt } = into
  let failure: Stop | null = null
  const groups = [people]
  for (let group = groups.shift(); group; group = groups.shift()) {
    const classified = attempt.records === null ? await postPeople(attempt, group) : await postRecords(attempt, group)
    switch (classified.kind) {
      case 'done':
        matchItems(into, group, classified.body)
        break
      case 'missing': {
        const message = `the platform has no custom connection ${attempt.connectionId}: ${classified.message}`
        return blockedBy('connection_missing', classified.status, message)
      }
      case 'refused':
        if (group.length === 1) refuse(into, group, classified)
        else if (into.splits >= maxSplits) return splittingPaused(classified)
        // Each half is finished before the next one: if a pause comes, some people are already done.
        else groups.unshift(...split(into, group, 2))
        break
      default:
        failure = decisiveStop(failure, classified)
        if (group.length === 1) for (const { identityId } of group) recordFailedAlone(attempt, identityId, classified)
        if (!shouldContinue(attempt, classified)) return failure
        // Last, because several failures in a row open the circuit.
        if (group.length > 1 && into.splits < maxSplits)
          groups.push(...split(into, group, group === people ? firstParts(attempt) : 2))
    }
  }
  return failure ?? (into.failed === 0 ? null : itemsFailed(into.failed))
}

function refuse({ results }: UpsertContext, people: readonly RecordText[], refused: RefusedAnswer): void {
  for (const { identityId } of people) results.set(identityId, { ...refused, code: 'person_refused' })
}

/** Into how many parts a failed batch is split. More with each failure, so that some part contains nobody who fails. */
function firstParts({ claim }: Attempt): number {
  return 2 ** Math.min(claim.failures, 5)
}

function split(into: UpsertContext, people: readonly RecordText[], parts: number): (readonly RecordText[])[] {
  const size = Math.ceil(people.length / parts)
  const groups = Array.from({ length: Math.ceil(people.length / size) }, (_, part) =>
    people.slice(part * size, (part + 1) * size),
  )
  into.splits += groups.length
  return groups
}

async function postPeople(attempt: Attempt, people: readonly RecordText[]): Promise<AnswerClass<readonly Item[]>> {
  const { connectionId } = attempt
  const input = {
    params: { connectionId },
    // Only for code that inspects the input; the request sends `bodyJson`.
    get body() {
      return people.map(parseRecord)
    },
  }
  const bodyJson = bodyOf(attempt, people)
  const answer = await sendChange(attempt, people.length, (client, options) =>
    client.upsertHrisUserIdentities(input, { ...options, bodyJson }),
  )
  return classifyAnswer(answer)
}

/** The records as a JSON array. A whole batch is joined from the stored pieces instead of from a thousand texts. */
function bodyOf({ read }: Attempt, people: readonly RecordText[]): Buffer {
  const isWhole = read?.changes.length === people.length && read.changes.every((change, i) => change === people[i])
  const pieces = isWhole ? read.records : people.map(({ json }) => json)
  const parts = pieces.flatMap((piece, i) => [Buffer.from(i === 0 ? '[' : ','), Buffer.from(piece)])
  return Buffer.concat([...parts, Buffer.from(']')])
}

async function postRecords(attempt: Attempt, people: readonly RecordText[]): Promise<AnswerClass<readonly Item[]>> {
  const { params, shape } = requireRecords(attempt)
  const data = people.map((person) => shape.attributesOf(parseRecord(person)))
  const answer = await sendChange(attempt, people.length, (client, options) =>
    client.upsertCustomDataRecords({ params, body: { data } }, options),
  )
  const classified = classifyAnswer(answer)
  if (classified.kind !== 'done') return classified
  const items = classified.body.map(({ id, ...outcome }) => ({
    ...outcome,
    ...(id !== undefined && { data: { identityId: id, separatedAt: null } }),
  }))
  return { ...classified, body: items }
}

type Item = {
  readonly statusCode: number
  readonly data?: { readonly identityId: string; readonly separatedAt: string | null } | null | undefined
  readonly error?: { readonly message: string } | null | undefined
}

/** Matches the items of an answer to the people by their position. */
function matchItems(into: UpsertContext, people: readonly RecordText[], items: readonly Item[]): void {
  const { results, openOutcomes } = into
  // A list of another length, or with another person at any position, cannot be matched to the request: everybody is looked up.
  const isMatched = items.every(({ data }, position) => !data || data.identityId === people[position]?.identityId)
  if (items.length !== people.length || !isMatched) {
    openOutcomes.push(...people.map((person) => ({ person, unchanged: false })))
    return
  }
  items.forEach(({ statusCode: status, data, error }, position) => {
    const person = people[position]
    if (!person) return
    const { identityId } = person
    if (status >= 500) {
      into.failed++
      recordFailedAlone(into.attempt, identityId, itemsFailed(1))
    } else if (status >= 400) {
      const message = error?.message ?? 'the platform gave no reason'
      results.set(identityId, { kind: 'refused', code: 'item_refused', status, message })
    } else if (data) results.set(identityId, { kind: 'taken', status, stored: data.separatedAt })
    // No data means that nothing changed, also if a stored leaving date blocked the sent one.
    else if (person.separatedAt) openOutcomes.push({ person, unchanged: true })
    else results.set(identityId, { kind: 'taken', status, stored: null })
  })
}

function itemsFailed(people: number): Stop {
  const message = `the platform failed on ${people} of the people in a batch`
  return { kind: 'retry', code: 'item_failed', status: 'item_failed', message }
}

function splittingPaused({ status }: RefusedAnswer): Stop {
  const message = `the platform refuses whole batches (${status}); ${maxSplits} halves were tried, the rest is still due`
  return { kind: 'wait', code: 'splitting_paused', status, delayMs: splitPauseMs, message }
}

/** Looks up the people whose outcome is open. A person who is not there as sent is sent again by the next attempt. */
async function lookUpOpen(
  attempt: Attempt,
  openOutcomes: readonly OpenOutcome[],
  results: Map<string, PersonResult>,
): Promise<Stop | null> {
  const isOpen = ({ person }: OpenOutcome): boolean => !results.has(person.identityId)
  const known = openOutcomes.filter(({ unchanged }) => unchanged && !attempt.hasCleared)
  const stop =
    (await lookUpDates(attempt, known, results)) ?? (await lookUpWhole(attempt, openOutcomes.filter(isOpen), results))
  if (stop) return stop
  const open = openOutcomes.filter(isOpen).length
  if (open === 0) return null
  const message = `the platform's answer left open what became of ${pluralizePeople(open)}`
  return { kind: 'retry', code: 'results_unmatched', status: 'unknown', message }
}

/**
 * Looks up the leaving dates of people of whom nothing else is open. The dates may be older than a request whose answer was lost: people who
 * seem to have another date than the sent one are then looked up again.
 */
async function lookUpDates(
  attempt: Attempt,
  known: readonly OpenOutcome[],
  results: Map<string, PersonResult>,
): Promise<Stop | null> {
  if (known.length === 0) return null
  const { dates, stop } = await lookUpStoredDates(
    attempt,
    known.map(({ person }) => person.identityId),
  )
  const mayBeOld = attempt.claim.uncertain || attempt.uncertain
  for (const { person } of known) {
    const stored = dates.get(person.identityId)
    if (stored !== undefined && (!mayBeOld || isSameDate(stored, person.separatedAt)))
      results.set(person.identityId, { kind: 'taken', status: 200, stored })
  }
  return stop
}

async function lookUpWhole(
  attempt: Attempt,
  openOutcomes: readonly OpenOutcome[],
  results: Map<string, PersonResult>,
): Promise<Stop | null> {
  if (openOutcomes.length === 0) return null
  const { people, stop } = await lookUpPeople(
    attempt,
    openOutcomes.map(({ person }) => person.identityId),
  )
  for (const { person, unchanged } of openOutcomes) {
    const identity = people.get(person.identityId)
    if (identity && (unchanged || matchesExceptDate(identity, parseRecord(person))))
      results.set(person.identityId, { kind: 'taken', status: 200, stored: identity.separatedAt })
  }
  return stop
}
