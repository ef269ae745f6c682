import { z } from 'zod'
import { type Action, actions } from '../record.ts'
import { foldValue } from './fold-value.ts'

/** Why a cell cannot be used. Speaks about the column and never quotes what may be personal. */
export type CellFault = { readonly reason: string }

/** What a cell says; undefined where it says nothing and what is known stays. */
export type Told<V> = V | null | undefined | CellFault

/** Reads a cell of a row whose dates are those of a time zone. */
export type CellReader<V> = (cell: string, timeZone: string) => Told<V>

export type OnBlank = 'keep' | 'clear' | 'reject'
type MapEntries<V> = Readonly<Record<string, V>>

// The limit of the platform's columns, in UTF-16 units as the platform counts.
const mostUnits = 191
const printableAscii = /^[\x20-\x7e]*$/
const controlCharacter = /\p{Cc}/u
const invisibleCharacter = /\p{Default_Ignorable_Code_Point}/gu

const yesAndNo: MapEntries<boolean> = { true: true, false: false, yes: true, no: false, 1: true, 0: false }

export function isFault(told: unknown): told is CellFault {
  return typeof told === 'object' && told !== null
}

/** Composes (NFC) a cell's text, and trims it unless told otherwise; refuses what no column of the platform can hold. */
export function readText(cell: string, trim = true): string | CellFault {
  const trimmed = cell.trim()
  const text = trim || trimmed === '' ? trimmed : cell
  if (printableAscii.test(text)) return shortEnough(text)
  if (!text.isWellFormed()) return { reason: 'the cell holds half of a character (a lone surrogate)' }
  if (controlCharacter.test(text)) return { reason: 'the cell holds a control character' }
  return shortEnough(text.normalize('NFC'))
}

export function textReader(options: {
  onBlank: OnBlank
  trim: boolean
  lowercase: boolean
  map?: MapEntries<string | null> | undefined
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
    return z.regexes.email.test(text) ? text.toLowerCase() : { reason: 'the cell does not hold an e-mail address' }
  }
}

export function booleanReader(options: {
  onBlank: OnBlank
  map?: MapEntries<boolean | null> | undefined
}): CellReader<boolean> {
  return mapReader(options.map ?? yesAndNo, options.onBlank)
}

/** Reads the key of a person, which may never be blank. */
export function keyReader(options: { trim: boolean; lowercase: boolean }): CellReader<string> {
  return visibly(textReader({ onBlank: 'reject', ...options }))
}

/** Reads the key of another person, as the row of that person holds it. */
export function referenceReader(options: Parameters<typeof textReader>[0]): CellReader<string> {
  return visibly(textReader(options))
}

/** Two keys that look the same are the same: characters that show nothing, such as U+200B, are left out before a cell is read. */
function visibly(read: CellReader<string>): CellReader<string> {
  return (cell, timeZone) => {
    const [invisible] = invisibleIn(cell)
    if (invisible === undefined) return read(cell, timeZone)
    const visible = cell.replaceAll(invisibleCharacter, '')
    if (visible.trim() === '') return { reason: `the cell holds only characters that show nothing (${invisible})` }
    return read(visible, timeZone)
  }
}

/** The characters of a text that show nothing, as code points such as U+200B. */
export function invisibleIn(text: string): string[] {
  if (printableAscii.test(text)) return []
  // A byte order mark, U+FEFF, goes with the blanks around a text.
  return (text.trim().match(invisibleCharacter) ?? []).map(
    (character) => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
  )
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

/** Reads what a row of a delta is about. Nothing is guessed from a value that is not listed. */
export function actionReader(
  values: {
    readonly [A in Action]?: readonly string[] | undefined
  },
): CellReader<Action> {
  const listed = actions.flatMap((action) => (values[action] ?? []).map((value) => ({ action, value })))
  const byValue = new Map(listed.map(({ action, value }) => [foldValue(value), action]))
  const names = listed.map(({ value }) => value).join(', ')
  const unlisted = { reason: `the cell holds an action that is not listed; listed are ${names}` }
  return (cell) => byValue.get(foldValue(cell)) ?? unlisted
}

export function blankReader(onBlank: OnBlank): () => null | undefined | CellFault {
  const told = { keep: undefined, clear: null, reject: { reason: 'the cell is blank' } }[onBlank]
  return () => told
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

function shortEnough(text: string): string | CellFault {
  if (text.length <= mostUnits) return text
  return { reason: `the cell holds ${text.length} characters; the platform takes ${mostUnits}` }
}
