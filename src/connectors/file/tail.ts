import { pluralize } from '../../identity/pluralize.ts'
import { unreadable } from './failures.ts'
import type { ExportFormat } from './format.ts'

const maxFooterRows = 1000

/** The settings for rows at the end that are not people. */
export type TailFormat = Pick<ExportFormat, 'footer' | 'trailer'>

/** A row of a file as far as its end is concerned. */
type TailRecord = { readonly cells: readonly string[]; readonly line: number; readonly damage?: unknown }

/** Holds records back until it is certain that they are neither footer nor trailer. */
export class Tail<Row extends TailRecord> {
  readonly #name: string
  readonly #trailer: TailFormat['trailer']
  readonly #footerRows: number
  readonly #footerTexts: readonly string[]
  #possibleTrailer: Row | undefined
  #footer: Row[] = []
  #released = 0

  constructor(name: string, { footer, trailer }: TailFormat) {
    this.#name = name
    this.#trailer = trailer
    this.#footerRows = footer?.rows ?? 0
    this.#footerTexts = footer?.startsWith === undefined ? [] : [footer.startsWith].flat()
  }

  /** Adds the next record. Returns a record that is now certain to be a row. */
  push(record: Row): Row | undefined {
    const released = this.#pastFooter(this.#pastTrailer(record))
    if (released) this.#released += 1
    return released
  }

  /** Refuses an export that lacks its footer or its trailer. Returns warnings. */
  end(): readonly string[] {
    if (this.#trailer) this.#checkTrailer(this.#trailer)
    if (this.#footer.length < this.#footerRows) {
      const problem = `${this.#name} has ${pluralize(this.#footer.length, 'row')} below its header, and its footer alone has ${this.#footerRows}`
      throw unreadable(problem, 'the export was cut off, or footer.rows is not right')
    }
    if (this.#footerTexts.length > 0 && this.#footer.length === 0) {
      const problem = `${this.#name}: no row at its end begins as footer.startsWith says`
      throw unreadable(problem, 'the export was cut off, or ends without a footer: then take footer out')
    }
    return this.#footer.length > 0 ? [`${this.#name}: left out as its footer: ${lineRange(this.#footer)}`] : []
  }

  #pastTrailer(record: Row): Row | undefined {
    if (!this.#trailer) return record
    const previous = this.#possibleTrailer
    this.#possibleTrailer = record
    return previous
  }

  #pastFooter(record: Row | undefined): Row | undefined {
    if (!record) return undefined
    if (this.#footerRows > 0) {
      this.#footer.push(record)
      return this.#footer.length > this.#footerRows ? this.#footer.shift() : undefined
    }
    if (this.#footerTexts.some((text) => startsWith(record, text))) {
      this.#footer.push(record)
      if (this.#footer.length > maxFooterRows) throw this.#footerNotLast()
      return undefined
    }
    if (this.#footer.length > 0) throw this.#footerNotLast()
    return record
  }

  #footerNotLast() {
    const problem = `${this.#name}:${this.#footer[0]?.line}: this row begins as footer.startsWith says, but rows follow it`
    return unreadable(problem, 'name a text that no other row begins with')
  }

  #checkTrailer({ startsWith: text, rowsAt }: NonNullable<TailFormat['trailer']>): void {
    const trailer = this.#possibleTrailer
    if (!trailer || !startsWith(trailer, text)) {
      const problem = `${this.#name}: its last row does not begin as trailer.startsWith says`
      throw unreadable(problem, 'the export was cut off, or ends without a trailer')
    }
    const stated = trailer.cells[rowsAt - 1]?.trim() ?? ''
    if (trailer.damage || !/^\d{1,15}$/.test(stated))
      throw unreadable(
        `${this.#name}:${trailer.line}: cell ${rowsAt} of the trailer is no number of rows`,
        'check trailer.rowsAt',
      )
    if (Number(stated) === this.#released) return
    const problem = `${this.#name}:${trailer.line}: the trailer counts ${pluralize(Number(stated), 'row')}, the export has ${this.#released}`
    throw unreadable(problem, 'the export was cut off, or is the work of two that wrote at once')
  }
}

function startsWith({ cells }: TailRecord, text: string): boolean {
  return cells[0]?.startsWith(text) ?? false
}

function lineRange(records: readonly TailRecord[]): string {
  const first = records[0]?.line
  const last = records.at(-1)?.line
  return first === last ? `line ${first}` : `lines ${first} to ${last}`
}
