import { unreadable } from '../file/failures.ts'
import type { Archive } from './archive.ts'
import { maxColumns, maxRows, parseAddress, parseRowNumber } from './cell-address.ts'
import { blankCell, type CellContext, cellContent, notCalculated, type StoredCell } from './cells.ts'
import { maxCellCharacters, maxStoredCharacters, RichText } from './rich-text.ts'
import { readXml } from './xml.ts'

const maxRowCharacters = 1024 * 1024
const maxMerged = 1_000_000
/** Where the elements of a sheet stand below each other. */
const depths = { part: 2, row: 3, cell: 4, value: 5, string: 6 } as const

/** A cell of a row that cannot be used. `column`: counted from 0. */
type BrokenCell = { readonly column: number; readonly reason: string }

/** A row of a sheet. Columns without a cell are blank; cells after the last one are left out. `line`: its number in Excel. */
export type SheetRow = {
  readonly cells: readonly string[]
  readonly line: number
  readonly broken: readonly BrokenCell[]
  /** The length of all its cells. */
  readonly characters: number
}

/** Rows count from 1 and columns from 0, both ends included. */
type CellRange = {
  readonly firstRow: number
  readonly lastRow: number
  readonly firstColumn: number
  readonly lastColumn: number
}

/** A range of merged cells, and its address. Only its first cell has a value. */
export type MergedCells = CellRange & { readonly text: string }

/** The rows of a sheet, and its merged cells, which follow them. */
type SheetContent = {
  readonly rows: AsyncGenerator<readonly SheetRow[]>
  /** Complete once the rows have been read. */
  readonly merged: readonly MergedCells[]
  /** The size of the part so far. */
  readonly bytes: () => number
}

/** `width`: how many columns are read. Cells of later ones are not even decoded. */
export type SheetToRead = { readonly part: string; readonly context: CellContext; readonly width: number }

/** Whether a row has no value. */
export function isBlankRow({ cells, broken }: SheetRow): boolean {
  return broken.length === 0 && cells.every((cell) => cell === '')
}

/**
 * Reads the rows of a sheet in slices, the hidden ones too. Ends normally only if the sheet was read to its end, and every row and cell
 * stands where it says. What a sheet says of its size is not used: some writers never correct it.
 */
export function readSheet(archive: Archive, sheet: SheetToRead): SheetContent {
  const { part } = sheet
  const handler = new SheetHandler(archive, sheet)
  let bytes = 0
  async function* counted() {
    for await (const chunk of archive.read(part)) {
      bytes += chunk.length
      yield chunk
    }
  }
  async function* rows() {
    for await (const _ of readXml(counted(), { name: archive.name, part, handler })) {
      const slice = handler.takeRows()
      if (slice.length > 0) yield slice
    }
    handler.end()
    const slice = handler.takeRows()
    if (slice.length > 0) yield slice
  }
  return { rows: rows(), merged: handler.merged, bytes: () => bytes }
}

/** Collects the rows of a sheet from its elements. */
class SheetHandler {
  readonly merged: MergedCells[] = []
  readonly #archive: Archive
  readonly #part: string
  readonly #context: CellContext
  readonly #width: number
  readonly #inline = new RichText()
  #rows: SheetRow[] = []
  #isInRows = false
  #hasRows = false
  #isInMerged = false
  #isInValue = false
  #isInInline = false
  #isInValueBeside = false
  #line = 0
  #cells: string[] = []
  #broken: BrokenCell[] = []
  #column = -1
  #characters = 0
  #totalCharacters = 0
  #cell: StoredCell = { ...blankCell }
  /** The last row of a formula without its result, by column. */
  readonly #uncalculatedUntil = new Map<number, number>()

  constructor(archive: Archive, { part, context, width }: SheetToRead) {
    this.#archive = archive
    this.#width = width
    this.#part = part
    this.#context = context
  }

  /** The rows that were completed since the last call. */
  takeRows(): readonly SheetRow[] {
    const rows = this.#rows
    this.#rows = []
    return rows
  }

  /** Refuses a sheet without its table. */
  end(): void {
    if (!this.#hasRows) throw this.#damaged('no sheetData')
  }

  open(tag: string, attributes: Readonly<Record<string, string>>, depth: number): void {
    if (!this.#isInRows) {
      this.#openOutside(tag, attributes, depth)
      return
    }
    switch (depth) {
      case depths.row:
        if (tag !== 'row') throw this.#damaged(`an element in place of the row after ${this.#line}`)
        this.#openRow(attributes.r)
        return
      case depths.cell:
        if (tag === 'c') this.#openCell(attributes)
        else if (tag !== 'extLst') throw this.#damaged(`an element in place of a cell in row ${this.#line}`)
        else this.#cell = { ...blankCell }
        return
      case depths.value:
        this.#openValue(tag, attributes)
        return
      default:
        if (this.#isInInline) this.#inline.open(tag, depth - depths.value)
    }
  }

  text(piece: string): void {
    if (this.#isInValue) {
      this.#cell.text += piece
      if (this.#cell.text.length > maxStoredCharacters) throw this.#tooLongText()
    } else if (this.#isInInline) this.#inline.add(piece)
    else if (this.#isInValueBeside && piece.trim() !== '') this.#cell.hasValueBeside = true
  }

  close(tag: string, depth: number): void {
    if (depth === depths.part) {
      this.#isInRows = false
      this.#isInMerged = false
    }
    if (!this.#isInRows) return
    if (depth > depths.value && this.#isInInline) this.#inline.close(tag, depth - depths.value)
    if (depth === depths.value) this.#closeValue()
    if (depth === depths.cell && tag === 'c') this.#closeCell()
    if (depth === depths.row) this.#closeRow()
  }

  #openOutside(tag: string, attributes: Readonly<Record<string, string>>, depth: number): void {
    if (depth === 1 && tag !== 'worksheet') throw this.#damaged('no worksheet')
    if (depth === depths.part) {
      this.#isInMerged = tag === 'mergeCells'
      this.#isInRows = tag === 'sheetData'
      if (this.#isInRows && this.#hasRows) throw this.#damaged('two times sheetData')
      this.#hasRows ||= this.#isInRows
    }
    if (depth === depths.row && this.#isInMerged && tag === 'mergeCell') this.#addMerged(attributes.ref ?? '')
  }

  #openRow(number: string | undefined): void {
    const line = number === undefined ? this.#line + 1 : parseRowNumber(number)
    if (line === null || line <= this.#line || line > maxRows)
      throw this.#damaged(`rows out of order after row ${this.#line}`)
    this.#line = line
    this.#cells = []
    this.#broken = []
    this.#column = -1
    this.#characters = 0
  }

  #openCell({ r, t = 'n', s }: Readonly<Record<string, string>>): void {
    const address = r === undefined ? { row: this.#line, column: this.#column + 1 } : parseAddress(r)
    const isInOrder = address?.row === this.#line && address.column > this.#column && address.column < maxColumns
    if (!address || !isInOrder) throw this.#damaged(`cells out of order in row ${this.#line}`)
    this.#column = address.column
    this.#cell = { ...blankCell, type: t, style: s === undefined ? -1 : Number(s) }
  }

  #openValue(tag: string, { t, ref }: Readonly<Record<string, string>>): void {
    if (tag === 'f') {
      this.#cell.hasFormula = true
      // The other cells of an array have no formula of their own. Those of a shared formula have one. An array without a range names none.
      if (t === 'array' || t === 'dataTable') this.#cell.range = ref ?? null
    }
    if (tag !== 'v' && tag !== 'is') return
    const { type, valueIn } = this.#cell
    const isSecond = valueIn !== null
    if (isSecond && (type !== 'inlineStr' || valueIn === tag))
      throw this.#damaged(`a cell with two values in row ${this.#line}`)
    // Of an inline string beside a value, Excel shows the string.
    this.#isInValueBeside = isSecond && tag === 'v'
    if (this.#isInValueBeside) return
    if (isSecond && this.#cell.text.trim() !== '') this.#cell.hasValueBeside = true
    this.#cell.text = ''
    this.#cell.valueIn = tag
    this.#isInValue = tag === 'v'
    this.#isInInline = tag === 'is'
  }

  #closeValue(): void {
    if (this.#isInInline) {
      const text = this.#inline.take()
      if (text === null) throw this.#tooLongText()
      this.#cell.text = text
    }
    this.#isInValue = false
    this.#isInInline = false
    this.#isInValueBeside = false
  }

  #closeCell(): void {
    if (this.#column >= this.#width) return
    const content = cellContent(this.#cell, this.#context)
    if (content === null) throw this.#damaged(`a cell in row ${this.#line} refers to a text that is missing`)
    if (content === '') return
    while (this.#cells.length < this.#column) this.#cells.push('')
    if (typeof content !== 'string') {
      this.#cells.push('')
      this.#broken.push({ column: this.#column, reason: content.reason })
      if (content === notCalculated && this.#cell.range !== null) this.#addUncalculated(this.#cell.range)
      return
    }
    this.#cells.push(content)
    this.#addCharacters(content.length)
  }

  #addUncalculated(range: string): void {
    const { lastRow, lastColumn } = this.#readRange(range)
    const last = Math.min(lastColumn, this.#width - 1)
    for (let column = this.#column; column <= last; column += 1)
      this.#uncalculatedUntil.set(column, Math.max(lastRow, this.#uncalculatedUntil.get(column) ?? 0))
    // Counted as the cells that they are, because few bytes of the archive name many.
    this.#addCharacters(Math.max(0, last - this.#column))
  }

  #addCharacters(count: number): void {
    this.#characters += count
    if (this.#characters > maxRowCharacters) throw this.#tooLong()
  }

  /** Breaks the cells that belong to a formula without its result. Where they have a value, it is of another calculation. */
  #breakUncalculated(): void {
    if (this.#uncalculatedUntil.size === 0) return
    const known = new Set(this.#broken.map(({ column }) => column))
    for (const [column, lastRow] of this.#uncalculatedUntil) {
      if (lastRow < this.#line) this.#uncalculatedUntil.delete(column)
      else if (!known.has(column)) {
        while (this.#cells.length <= column) this.#cells.push('')
        this.#cells[column] = ''
        this.#broken.push({ column, reason: notCalculated.reason })
        this.#addCharacters(1)
      }
    }
  }

  #closeRow(): void {
    if (this.#cells.length > 0) this.#breakUncalculated()
    // Cells that share a text take memory too, and few bytes of the archive.
    this.#totalCharacters += this.#characters
    this.#archive.checkUnpacked(this.#totalCharacters)
    if (this.#cells.length === 0) return
    const characters = this.#characters
    this.#rows.push({ cells: this.#cells, line: this.#line, broken: this.#broken, characters })
  }

  #addMerged(text: string): void {
    if (this.merged.length >= maxMerged) throw this.#damaged('too many merged ranges')
    this.merged.push({ text, ...this.#readRange(text) })
  }

  #readRange(text: string): CellRange {
    const [from = '', to = from] = text.split(':', 2)
    const first = parseAddress(from)
    const last = parseAddress(to)
    if (!first || !last || last.row < first.row || last.column < first.column)
      throw this.#damaged('a range that is no address')
    return { firstRow: first.row, lastRow: last.row, firstColumn: first.column, lastColumn: last.column }
  }

  #tooLongText() {
    return unreadable(
      `${this.#archive.name}: a cell in row ${this.#line} holds more than ${maxCellCharacters} characters`,
      'no cell of Excel holds as many; check what writes the workbook',
    )
  }

  #tooLong() {
    return unreadable(`${this.#archive.name}: row ${this.#line} is longer than 1 MiB`, 'check what writes the workbook')
  }

  #damaged(fault: string) {
    const problem = `${this.#archive.name} is a workbook whose part ${this.#part} is damaged (${fault})`
    return unreadable(problem, 'have it saved and sent again')
  }
}
