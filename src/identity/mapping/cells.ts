import { z } from 'zod'
import type { CauseFault } from '../causes.ts'
import { type Action, actions } from '../record.ts'
import { foldValue } from './fold-value.ts'

/** Why a cell cannot be used. Describes the column and never quotes personal data. */
export type CellFault = CauseFault & {
  readonly reason: string
  /** The text that identifies the fault in later exports, if the reason also contains advice. */
  readonly knownAs?: string
  /** A value that is not in the column's list. */
  readonly unlisted?: string
  /** The configuration requires the cell: a row without it is too little for a person who is not known yet. */
  readonly required?: true
}

/** The value of a cell. undefined: the cell states nothing, and the known value stays. */
export type CellValue<V> = V | null | undefined | CellFault

/** Reads a cell of a row. `timeZone`: the zone of its dates. */
export type CellReader<V> = (cell: string, timeZone: string) => CellValue<V>

/** What a blank cell means: keep what is known, clear the field, or reject the cell. */
export type OnBlank = 'keep' | 'clear' | 'reject'
type MapEntries<V> = Readonly<Record<string, V>>

// The limit of the platform's columns, in UTF-16 units.
const maxUnits = 191
const printableAscii = /^[\x20-\x7e]*$/
const controlCharacter = /\p{Cc}/u
const controlCharacters = /\p{Cc}/gu
/** Maximum length of an unlisted value in messages, in UTF-16 units. A column that was mapped by mistake may hold anything. */
const maxShown = 60
const invisibleCharacter = /\p{Default_Ignorable_Code_Point}/gu

const noEmail: CellFault = { reason: 'the cell does not hold an e-mail address', cause: 'noEmail' }

/** The values of a contractor column without a map. */
export const yesAndNo: MapEntries<boolean> = { true: true, false: false, yes: true, no: false, 1: true, 0: false }

/** Whether a cell could not be read. */
export function isFault(value: unknown): value is CellFault {
  return typeof value === 'object' && value !== null
}

/** Normalises a cell's text (NFC), and trims it unless `trim` is false. Refuses text that no column of the platform can hold. */
function readText(cell: string, trim = true): string | CellFault {
  const trimmed = cell.trim()
  const text = trim || trimmed === '' ? trimmed : cell
  if (printableAscii.test(text)) return shortEnough(text)
  if (!text.isWellFormed())
    return { reason: 'the cell holds half of a character (a lone surrogate)', cause: 'damagedCharacter' }
  if (controlCharacter.test(text)) return { reason: 'the cell holds a control character', cause: 'controlCharacter' }
  return shortEnough(text.normalize('NFC'))
}

/** Reads a text, or its value in a map. */
export function textReader(options: {
  onBlank: OnBlank
  trim: boolean
  lowercase: boolean
  map?: MapEntries<string | null>
}): CellReader<string> {
  if (options.map !== undefined) return mapReader(options.map, options.onBlank)
  const ofBlank = blankReader(options.onBlank)
  const { trim, lowercase } = options
  return (cell) => {
    const text = readText(cell, trim)
    if (text === '') return ofBlank()
    return lowercase && typeof text === 'string' ? text.toLowerCase() : text
  }
}

/** Reads an e-mail address in lower case: the platform matches people by address without regard to case. */
export function emailReader({ onBlank }: { onBlank: OnBlank }): CellReader<string> {
  const ofBlank = blankReader(onBlank)
  return (cell) => {
    const text = readText(cell)
    if (text === '') return ofBlank()
    if (isFault(text)) return text
    return z.regexes.email.test(text) ? text.toLowerCase() : noEmail
  }
}

/** Reads yes or no, by a map if there is one. */
export function booleanReader(options: { onBlank: OnBlank; map?: MapEntries<boolean | null> }): CellReader<boolean> {
  return mapReader(options.map ?? yesAndNo, options.onBlank)
}

/** Reads the key of a person, which may never be blank. */
export function keyReader(options: { trim: boolean; lowercase: boolean }): CellReader<string> {
  return visibly(textReader({ onBlank: 'reject', ...options }))
}

/** Reads the key of another person in the form of that person's own row. */
export function referenceReader(options: Parameters<typeof textReader>[0]): CellReader<string> {
  return visibly(textReader(options))
}

/** Removes invisible characters, such as U+200B, before a cell is read, so that keys that look equal are equal. */
function visibly(read: CellReader<string>): CellReader<string> {
  return (cell, timeZone) => {
    const [invisible] = invisibleIn(cell)
    if (invisible === undefined) return read(cell, timeZone)
    const visible = cell.replaceAll(invisibleCharacter, '')
    if (visible.trim() === '')
      return { reason: `the cell holds only characters that show nothing (${invisible})`, cause: 'invisible' }
    return read(visible, timeZone)
  }
}

/** The invisible characters of a text, as code points such as U+200B. */
export function invisibleIn(text: string): string[] {
  if (printableAscii.test(text)) return []
  // trim() also removes a byte order mark, U+FEFF.
  return (text.trim().match(invisibleCharacter) ?? []).map(
    (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
}

/** Reads whether a status means that the person has left. A blank that is not listed states nothing. */
export function statusReader(options: {
  leftWhen: readonly string[]
  employedWhen: readonly string[]
}): CellReader<boolean> {
  const leaverValues = new Set(options.leftWhen.map(foldValue))
  const employedValues = new Set(options.employedWhen.map(foldValue))
  const reason = 'the status is listed neither in leftWhen nor in employedWhen'
  const expected = [...options.employedWhen, ...options.leftWhen].filter((value) => value.trim() !== '').join(', ')
  return (cell) => {
    const value = foldValue(cell)
    if (leaverValues.has(value)) return true
    if (employedValues.has(value)) return false
    return value === '' ? undefined : { reason, cause: 'unlistedStatus', expected, unlisted: shown(cell) }
  }
}

/** Reads what a row of a delta is about. A value that is not listed is a fault. */
export function actionReader(
  values: {
    readonly [A in Action]?: readonly string[] | undefined
  },
): CellReader<Action> {
  const listed = actions.flatMap((action) => (values[action] ?? []).map((value) => ({ action, value })))
  const byValue = new Map(listed.map(({ action, value }) => [foldValue(value), action]))
  const names = listed.map(({ value }) => value).join(', ')
  const reason = `the cell holds an action that is not listed; listed are ${names}`
  const unlisted: CellFault = { reason, cause: 'unlistedAction', expected: names }
  return (cell) => byValue.get(foldValue(cell)) ?? unlisted
}

/** Returns the value of a blank cell. */
export function blankReader(onBlank: OnBlank): () => null | undefined | CellFault {
  const value = {
    keep: undefined,
    clear: null,
    reject: { reason: 'the cell is blank', cause: 'blank', required: true } as const,
  }[onBlank]
  return () => value
}

function mapReader<V>(map: MapEntries<V | null>, onBlank: OnBlank): CellReader<V> {
  const ofBlank = blankReader(onBlank)
  const values = new Map(Object.entries(map).map(([from, to]) => [foldValue(from), to]))
  const expected = Object.keys(map).join(', ')
  const reason = `the cell holds a value that the mapping does not list; listed are ${expected}`
  return (cell) => {
    const value = foldValue(cell)
    if (value === '') return values.has('') ? values.get('') : ofBlank()
    if (values.has(value)) return values.get(value)
    return values.has('*') ? values.get('*') : { reason, cause: 'unlistedValue', expected, unlisted: shown(cell) }
  }
}

function shown(cell: string): string {
  return cell.trim().normalize('NFC').replaceAll(controlCharacters, ' ').slice(0, maxShown)
}

function shortEnough(text: string): string | CellFault {
  if (text.length <= maxUnits) return text
  const reason = `the cell holds ${text.length} characters; the platform takes ${maxUnits}`
  return { reason, cause: 'tooLong', expected: String(maxUnits) }
}
