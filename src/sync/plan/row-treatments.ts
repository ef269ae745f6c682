import type { SourceRow } from '../../connectors/connector.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import { isReject } from '../../identity/mapping/rows.ts'
import type { RowCounts, Treatment } from '../../store/statement/intake.ts'
import type { MappedRow, ReadableRows } from './map/map-rows.ts'

/** Records how a plan treats the rows of an export: how many of each kind, and the keys whose rows state nobody to send. */
export class RowTreatments {
  readonly #counts = { rejected: 0, outOfScope: 0, notAPerson: 0, ignored: 0 }
  /** Keys as HR writes them, each with the key of the person and the treatment of a row that is not used. */
  readonly #unused = new Map<string, { readonly identityId: string; readonly treatment: Treatment }>()

  add(mapped: MappedRow, row: SourceRow, { keyOf }: Pick<ReadableRows, 'keyOf'>): void {
    const treatment = treatmentOf(mapped)
    if (treatment !== null && treatment !== 'retracted') this.#counts[treatment] += 1
    const key = treatment === null ? null : keyOf(row)
    if (key !== null && treatment !== null) this.#unused.set(key, { identityId: mapped?.identityId ?? key, treatment })
  }

  /** The rows by treatment, once all rows were collected. Those of people are counted by the book, so that a row it loses is missing here. */
  counts({ book }: Pick<Decider, 'book'>): RowCounts {
    const { records, later, further } = book.counts
    return { used: records, later, further, ...this.#counts }
  }

  /** The keys, as HR writes them, of which no row is used, each with the treatment of its last row. */
  keys({ book }: Pick<Decider, 'book'>): ReadonlyMap<string, Treatment> {
    const unused = this.#unused
      .entries()
      .filter(([, { identityId, treatment }]) => treatment === 'retracted' || !book.isUsable(identityId))
    return new Map(unused.map(([key, { treatment }]) => [key, treatment]))
  }
}

/** Why a row states nobody to send; null if it states a person who stays. */
function treatmentOf(mapped: MappedRow): Treatment | null {
  if (mapped === null) return 'ignored'
  if ('noPerson' in mapped) return 'notAPerson'
  if ('outOfScope' in mapped) return 'outOfScope'
  if (isReject(mapped)) return 'rejected'
  return mapped.action === 'retract' ? 'retracted' : null
}
