import { z } from 'zod'
import { type DateReader, dateReader, dayBefore } from './dates.ts'
import { utcMidnight } from './employment.ts'

/** Why a cell cannot be used. Speaks about the column and never quotes what may be personal. */
export type CellFault = { readonly reason: string }

/** What a cell says; undefined where it says nothing and what is known stays. */
export type Told<V> = V | null | undefined | CellFault
export type CellReader<V> = (cell: string) => Told<V>

export type OnBlank = 'keep' | 'clear' | 'reject'
type MapEntries<V> = Readonly<Record<string, V>>

// The limit of the platform's columns, in UTF-16 units as the platform counts.
const mostUnits = 191
const printableAscii = /^[\x20-\x7e]*$/
const controlCharacter = /\p{Cc}/u
// What may be quoted from a column of dates. Anything else could be a name or a number of the person in the wrong column.
const looksLikeDate = /^(\d{1,2}[ ./-]\d{1,2}[ ./-](\d{2}|\d{4})|\d{4}[ ./-]\d{1,2}[ ./-]\d{1,2})$/

const yesAndNo: MapEntries<boolean> = { true: true, false: false, yes: true, no: false, 1: true, 0: false }

export function isFault(told: unknown): told is CellFault {
  return typeof told === 'object' && told !== null
}

/** Trims and composes (NFC) a cell's text; refuses what no column of the platform can hold. */
export function readText(cell: string): string | CellFault {
  const trimmed = cell.trim()
  if (printableAscii.test(trimmed)) return shortEnough(trimmed)
  if (!trimmed.isWellFormed()) return { reason: 'the cell holds half of a character (a lone surrogate)' }
  if (controlCharacter.test(trimmed)) return { reason: 'the cell holds a control character' }
  return shortEnough(trimmed.normalize('NFC'))
}

export function textReader(options: {
  onBlank: OnBlank
  lowercase: boolean
  map?: MapEntries<string | null> | undefined
}): CellReader<string> {
  if (options.map !== undefined) return mapReader(options.map, options.onBlank)
  const ofBlank = blankReader(options.onBlank)
  const { lowercase } = options
  return (cell) => {
    const text = readText(cell)
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
    return z.regexes.email.test(text) ? text.toLowerCase() : { reason: 'the cell does not hold an e-mail address' }
  }
}

export function booleanReader(options: {
  onBlank: OnBlank
  map?: MapEntries<boolean | null> | undefined
}): CellReader<boolean> {
  return mapReader(options.map ?? yesAndNo, options.onBlank)
}

/** Reads a calendar date as `YYYY-MM-DD`. */
export function plainDateReader({ onBlank, format }: { onBlank: OnBlank; format: string }): CellReader<string> {
  const ofBlank = blankReader(onBlank)
  const read: DateReader = dateReader(format)
  return (cell) => {
    const text = cell.trim()
    return text === '' ? ofBlank() : (read(text) ?? noDate(text, format))
  }
}

/** Reads a calendar date as the platform's UTC midnight. */
export function startReader(options: { onBlank: OnBlank; format: string }): CellReader<string> {
  return converted(plainDateReader(options), utcMidnight)
}

/** Reads the last day of employment as `YYYY-MM-DD`, whichever of the two days around it the source names. */
export function leavingReader(options: {
  onBlank: OnBlank
  format: string
  means: 'lastDayWorked' | 'firstDayGone'
}): CellReader<string> {
  const stated = plainDateReader(options)
  return options.means === 'lastDayWorked' ? stated : converted(stated, dayBefore)
}

/** Reads the key of a person, which may never be blank. */
export function keyReader(): CellReader<string> {
  return textReader({ onBlank: 'reject', lowercase: false })
}

/** Reads whether a status says that the person has left. */
export function statusReader(options: {
  leftWhen: readonly string[]
  activeWhen?: readonly string[] | undefined
}): CellReader<boolean> {
  const left = new Set(options.leftWhen.map(foldValue))
  const active = options.activeWhen && new Set(options.activeWhen.map(foldValue))
  const unlisted = { reason: 'the cell holds a status that is listed neither in leftWhen nor in activeWhen' }
  return (cell) => {
    const value = foldValue(cell)
    if (left.has(value)) return true
    return active === undefined || active.has(value) ? false : unlisted
  }
}

// The values of a closed list differ neither by case nor by blanks around them.
function foldValue(value: string): string {
  return value.trim().normalize('NFC').toLowerCase()
}

function mapReader<V>(map: MapEntries<V | null>, onBlank: OnBlank): CellReader<V> {
  const ofBlank = blankReader(onBlank)
  const values = new Map(Object.entries(map).map(([from, to]) => [foldValue(from), to]))
  const listed = Object.keys(map).join(', ')
  const unlisted: Told<V> = values.has('*')
    ? values.get('*')
    : { reason: `the cell holds a value that the mapping does not list; listed are ${listed}` }
  return (cell) => {
    const value = foldValue(cell)
    if (value === '') return values.has('') ? values.get('') : ofBlank()
    return values.has(value) ? values.get(value) : unlisted
  }
}

function blankReader(onBlank: OnBlank): () => null | undefined | CellFault {
  const told = { keep: undefined, clear: null, reject: { reason: 'the cell is blank' } }[onBlank]
  return () => told
}

function converted(read: CellReader<string>, convert: (value: string) => string): CellReader<string> {
  return (cell) => {
    const told = read(cell)
    return typeof told === 'string' ? convert(told) : told
  }
}

function shortEnough(text: string): string | CellFault {
  if (text.length <= mostUnits) return text
  return { reason: `the cell holds ${text.length} characters; the platform takes ${mostUnits}` }
}

function noDate(text: string, format: string): CellFault {
  const what = looksLikeDate.test(text) ? `"${text}"` : 'what the cell holds'
  return { reason: `${what} is not a date (${format})` }
}
