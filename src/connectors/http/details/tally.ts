import type { Failure } from '../../../errors.ts'
import { pluralize } from '../../../identity/pluralize.ts'
import { unreadable } from '../../file/failures.ts'
import type { HttpSource } from '../settings/settings.ts'
import type { CompleteRecord } from './complete-record.ts'

/** Number of consecutive failed details that means that the system fails, and not single records. */
const maxFailuresInARow = 20

/** If more records than that all lack a detail that may be absent, the detail is out of reach. */
const maxAllBlank = 20

type DetailCounts = {
  records: number
  absent: number
  failed: number
  failedInARow: number
  firstFailure: Failure | null
}

/** Counts the details that records lack, by the name of the detail. */
export class DetailTally {
  readonly #counts: ReadonlyMap<string, DetailCounts>

  constructor(names: readonly string[]) {
    const none = { records: 0, absent: 0, failed: 0, failedInARow: 0, firstFailure: null }
    this.#counts = new Map(names.map((name) => [name, { ...none }]))
  }

  /** Adds the next record of the list. Throws a failure if its detail is one of many in a row that could not be read. */
  add({ outcomes }: Pick<CompleteRecord, 'outcomes'>): void {
    for (const [name, outcome] of outcomes) {
      const counts = this.#counts.get(name)
      if (!counts) continue
      counts.records += 1
      if (outcome === 'absent') counts.absent += 1
      if (typeof outcome === 'string') {
        counts.failedInARow = 0
        continue
      }
      counts.failed += 1
      counts.failedInARow += 1
      counts.firstFailure ??= outcome
      if (counts.failedInARow >= maxFailuresInARow) throw outcome
    }
  }

  /**
   * The names of details that some rows lack, and warnings. Refuses a list in which every row lacks the same detail, unless it is blank
   * and the list is short.
   */
  finish(missingDetails: HttpSource['missingDetails']): {
    readonly partialDetails: readonly string[]
    readonly warnings: readonly string[]
  } {
    const all = [...this.#counts]
    const maxAbsent = missingDetails === 'blank' ? maxAllBlank : 0
    for (const [name, counts] of all) checkFound(name, counts, maxAbsent)
    const partial = all.filter(([, { absent, failed }]) => missingDetails === 'cell' && absent + failed > 0)
    return {
      partialDetails: partial.map(([name]) => name),
      warnings: all.flatMap(([name, counts]) => [...failureWarning(name, counts), ...absenceWarning(name, counts)]),
    }
  }
}

function checkFound(name: string, { records, absent, failed, firstFailure }: DetailCounts, maxAbsent: number): void {
  if (records <= maxAbsent || absent + failed < records) return
  throw (
    firstFailure ??
    unreadable(
      `no record has its ${name}`,
      'check that the credentials may read it and that its address is right; then on and with of join, or url and records of each',
    )
  )
}

function failureWarning(name: string, { records, failed, firstFailure }: DetailCounts): readonly string[] {
  if (firstFailure === null) return []
  return [
    `${name}: it could not be read for ${failed} of ${pluralize(records, 'record')}; first: ${firstFailure.message}`,
  ]
}

function absenceWarning(name: string, { records, absent }: DetailCounts): readonly string[] {
  if (records === 0 || absent < records) return []
  return [`${name}: no record has it, so that it is blank for everybody; check on and with of join, or url of each`]
}
