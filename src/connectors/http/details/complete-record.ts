import { Failure } from '../../../errors.ts'
import type { MissingDetail } from '../../../identity/mapping/missing-details.ts'
import { unreadable } from '../../file/failures.ts'
import { type FlatRecord, flattenRecord, isObject, type JsonObject, type JsonValue } from '../../json/cells.ts'
import type { SpooledRecord } from '../lists/list-rows.ts'
import type { HttpSource } from '../settings/settings.ts'
import type { DetailSource } from './detail-source.ts'
import { takeDetail } from './take.ts'

/** How the detail of a record was obtained. `absent`: it has none. */
type DetailOutcome = 'found' | 'absent' | Failure

/** A record of the list with its details. */
export type CompleteRecord = {
  readonly value: JsonValue
  readonly flat: FlatRecord
  readonly missing: readonly MissingDetail[]
  /** By the names of the details. A record that cannot be used has none. */
  readonly outcomes: ReadonlyMap<string, DetailOutcome>
}

type DetailPolicy = {
  readonly missingDetails: HttpSource['missingDetails']
  /** Whether the reading cannot go on, so that a failure says nothing about the record. */
  readonly isOver: () => boolean
}

/** Adds the details of a record, one after the other: a later one may use columns of an earlier one. */
export async function completeRecord(
  { text, origin }: SpooledRecord,
  sources: readonly DetailSource[],
  policy: DetailPolicy,
): Promise<CompleteRecord> {
  let value: JsonValue = JSON.parse(text)
  let flat = flattenRecord(value)
  const missing: MissingDetail[] = []
  const outcomes = new Map<string, DetailOutcome>()
  const position = `${origin.file} record ${origin.line}`
  for (const source of sources) {
    // A record that cannot be used is rejected as a whole.
    if (!isObject(value) || flat.fault?.path === null) break
    checkFreeName(value, flat, { as: source.as, position })
    const outcome = await obtainDetail(source, { cells: flat.cells, position }, policy)
    outcomes.set(source.as, 'detail' in outcome ? (outcome.isAbsent ? 'absent' : 'found') : outcome.outcome)
    if ('reason' in outcome) missing.push({ name: source.as, reason: outcome.reason })
    else value = { ...value, [source.as]: outcome.detail }
    flat = flattenRecord(value)
  }
  return { value, flat, missing, outcomes }
}

/** Refuses a record that has a member with the name of the detail already. */
function checkFreeName(
  value: JsonObject,
  { cells }: FlatRecord,
  { as, position }: { readonly as: string; readonly position: string },
): void {
  const isTaken = Object.hasOwn(value, as) || [...cells.keys()].some((path) => path.startsWith(`${as}.`))
  if (isTaken) throw unreadable(`${position} has its own ${as}`, 'write another name as as, such as details')
}

type ObtainedDetail =
  | { readonly detail: JsonValue; readonly isAbsent: boolean }
  | { readonly reason: string; readonly outcome: 'absent' | Failure }

async function obtainDetail(
  source: DetailSource,
  request: Parameters<DetailSource['find']>[0],
  { missingDetails, isOver }: DetailPolicy,
): Promise<ObtainedDetail> {
  const { as, take } = source
  const { position } = request
  try {
    const answer = await source.find(request)
    if ('absence' in answer) return absentDetail(answer.absence, { source, position, missingDetails })
    const taken = takeDetail(take, answer.details)
    if ('detail' in taken) return { ...taken, isAbsent: false }
    throw unreadable(`${position} has no certain ${as}: ${taken.problem}`, 'see take')
  } catch (error) {
    if (!(error instanceof Failure) || missingDetails !== 'cell' || isOver()) throw error
    return { reason: `the detail ${as} could not be read`, outcome: error }
  }
}

type AbsenceContext = {
  readonly source: DetailSource
  readonly position: string
  readonly missingDetails: HttpSource['missingDetails']
}

function absentDetail(absence: string, { source, position, missingDetails }: AbsenceContext): ObtainedDetail {
  const { as, take } = source
  switch (missingDetails) {
    case 'fail':
      throw unreadable(
        `${position} has no ${as}: ${absence}`,
        'if records may lack it, write missingDetails: cell, or blank where its absence means that there is nothing',
      )
    case 'cell':
      return { reason: `the detail ${as} is missing`, outcome: 'absent' }
    case 'blank':
      return { detail: take === 'all' ? [] : null, isAbsent: true }
    default:
      return missingDetails satisfies never
  }
}
