import { Failure } from '../../../errors.ts'
import type { MissingDetail } from '../../../identity/mapping/missing-details.ts'
import { unreadable } from '../../file/failures.ts'
import { type FlatRecord, flattenRecord, isObject, type JsonObject, type JsonValue } from '../../json/cells.ts'
import type { SpooledRecord } from '../lists/list-rows.ts'
import type { HttpSource } from '../settings/settings.ts'
import type { DetailSource, FoundDetails } from './detail-source.ts'
import { type ReadingDay, takeDetail } from './take.ts'

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
  /** Whether the reading cannot continue, so that a failure says nothing about the record. */
  readonly isOver: () => boolean
  readonly day: ReadingDay
}

/** Adds the details of some records, one detail after the other: a later one may use columns of an earlier one. */
export async function completeRecords(
  records: readonly SpooledRecord[],
  sources: readonly DetailSource[],
  policy: DetailPolicy,
): Promise<readonly CompleteRecord[]> {
  let complete: readonly StartedRecord[] = records.map(startRecord)
  for (const source of sources) complete = await addDetail(complete, source, policy)
  return complete
}

/** `position`: where the record stands, in failures. */
type StartedRecord = CompleteRecord & { readonly position: string }

function startRecord({ text, origin }: SpooledRecord): StartedRecord {
  const value: JsonValue = JSON.parse(text)
  const position = `${origin.file} record ${origin.line}`
  return { value, flat: flattenRecord(value), missing: [], outcomes: new Map(), position }
}

async function addDetail(
  records: readonly StartedRecord[],
  source: DetailSource,
  policy: DetailPolicy,
): Promise<readonly StartedRecord[]> {
  const usable = records.filter(isUsable)
  for (const record of usable) checkFreeName(record, source.as)
  const results = source.find(usable.map(({ flat, position }) => ({ cells: flat.cells, position })))
  const answers = new Map(usable.map((record, index) => [record, results[index]]))
  return await Promise.all(
    records.map(async (record) => {
      const answer = answers.get(record)
      if (answer === undefined) return record
      return withDetail(record, source, await obtainDetail(answer, { source, position: record.position, ...policy }))
    }),
  )
}

/** A record that cannot be used is rejected as a whole. */
function isUsable({ value, flat }: StartedRecord): boolean {
  return isObject(value) && flat.fault?.path !== null
}

function withDetail(record: StartedRecord, { as }: DetailSource, obtained: ObtainedDetail): StartedRecord {
  const isFound = 'detail' in obtained
  const outcome = isFound ? (obtained.isAbsent ? 'absent' : 'found') : obtained.outcome
  const outcomes = new Map([...record.outcomes, [as, outcome] as const])
  if (!isFound) return { ...record, outcomes, missing: [...record.missing, { name: as, reason: obtained.reason }] }
  const value = { ...(record.value as JsonObject), [as]: obtained.detail }
  return { ...record, outcomes, value, flat: flattenRecord(value) }
}

/** Refuses a record that has a member with the name of the detail already. */
function checkFreeName({ value, flat, position }: StartedRecord, as: string): void {
  const isTaken =
    Object.hasOwn(value as JsonObject, as) || [...flat.cells.keys()].some((path) => path.startsWith(`${as}.`))
  if (isTaken) throw unreadable(`${position} has its own ${as}`, 'write another name as as, such as details')
}

type ObtainedDetail =
  | { readonly detail: JsonValue; readonly isAbsent: boolean }
  | { readonly reason: string; readonly outcome: 'absent' | Failure }

async function obtainDetail(
  answer: Promise<FoundDetails>,
  { isOver, day, ...context }: AbsenceContext & DetailPolicy,
): Promise<ObtainedDetail> {
  const { source, position, missingDetails } = context
  const { as, take } = source
  try {
    const result = await answer
    if ('absence' in result) return absentDetail(result.absence, context)
    const taken = takeDetail(take, result.details, day)
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
