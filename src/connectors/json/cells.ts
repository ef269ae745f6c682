import type { Failure } from '../../errors.ts'
import type { Origin } from '../../identity/record.ts'
import type { SourceRow } from '../connector.ts'
import { unreadable } from '../file/failures.ts'
import { pointerNames } from '../json-pointer.ts'

const maxDepth = 64
const maxValues = 5_000_000
const maxPaths = 10_000
const maxPathCharacters = 256
const maxRecordCharacters = 1024 * 1024

/** A JSON value in which every number is the text that the sender wrote, so that `1.10` and 20 digits stay as they are. */
export type JsonValue = null | boolean | string | readonly JsonValue[] | JsonObject
/** A JSON object. */
export type JsonObject = { readonly [name: string]: JsonValue }

/** A record as cells, in its own order. Their names are dotted paths such as `emails.0.value`. */
export type FlatRecord = {
  readonly cells: ReadonlyMap<string, string>
  /** The length of every list by its path, and 0 for null. */
  readonly ends: ReadonlyMap<string, number>
  /** The paths of objects and lists that are not empty. */
  readonly groups: ReadonlySet<string>
  /** Why the cell at `path` cannot be used. If `path` is null, the whole record cannot be used, and there are no cells. */
  readonly fault?: { readonly path: string | null; readonly reason: string }
}

type JsonText = {
  readonly name: string
  /** What helps if it holds too many values. */
  readonly sizeHelp?: string
}

/**
 * Reads `bytes` as strict UTF-8 and strict JSON. Refuses more than 64 levels, more than five million values, and an object with the
 * same name twice, because readers disagree about which one is used. `name` names the text in failures.
 */
export function readJson(bytes: Uint8Array, { name, sizeHelp = 'ask for smaller pages' }: JsonText): JsonValue {
  const text = decodeUtf8(bytes, name)
  const { hasNumbers } = checkShape(text, { name, sizeHelp })
  try {
    // Without numbers, their texts need not be kept, which takes most of the time.
    return hasNumbers ? JSON.parse(text, sourceText) : JSON.parse(text)
  } catch (error) {
    // The parser's own message quotes the text, so it is neither shown nor kept as the cause.
    throw unreadable(`${name} is not valid JSON${whereIn(error)}`, 'it was cut off, or is something else')
  }
}

/** The value at a JSON pointer; undefined if there is none. Finds only members that the sender wrote. */
export function pointer(value: JsonValue, path: string): JsonValue | undefined {
  return pointerNames(path).reduce<JsonValue | undefined>(member, value)
}

/** Turns a record into cells. null becomes a blank cell, and a missing member no cell. A record that is no object has a fault. */
export function flattenRecord(value: JsonValue): FlatRecord {
  if (!isObject(value)) return brokenRecord('the record is no object')
  const collected: CollectedCells = { cells: new Map(), ends: new Map(), groups: new Set(), damaged: [], textLength: 0 }
  const reason = spread(collected, '', value)
  if (reason !== undefined) return brokenRecord(reason)
  const { cells, ends, groups, damaged } = collected
  const [path] = damaged
  if (path === undefined) return { cells, ends, groups }
  const unreadableText = 'text with a NUL character or half a character'
  if (damaged.length > 1) return brokenRecord(`several cells hold ${unreadableText}`)
  return { cells, ends, groups, fault: { path, reason: `the cell holds ${unreadableText}` } }
}

/** Adds the paths of a record to the headers. */
export function collectHeaders(headers: Set<string>, { cells }: FlatRecord, name: string): void {
  for (const path of cells.keys()) headers.add(path)
  if (headers.size <= maxPaths) return
  throw unreadable(
    `${name}: the records have more than ${maxPaths} different paths`,
    'point records at a list of people whose members have fixed names',
  )
}

/** Turns records into rows below `headers`. A cell below null or after the end of a list is blank. Any other missing cell is undefined. */
export function rowReader(headers: readonly string[]): (record: FlatRecord, origin: Origin) => SourceRow {
  const columns = headers.map((path) => ({ path, parents: parentsOf(path) }))
  return (record, origin) => {
    const { cells, ends, fault } = record
    const values = columns.map(({ path, parents }) => cells.get(path) ?? (isPastAnEnd(parents, ends) ? '' : undefined))
    const nonTextColumns = columns.flatMap((each, index) =>
      values[index] === undefined && isOtherShape(each, record) ? [index] : [],
    )
    const row = { values, ...(nonTextColumns.length > 0 && { nonTextColumns }), origin }
    if (!fault) return row
    const column = fault.path === null ? null : headers.indexOf(fault.path)
    return { ...row, fault: { column, reason: fault.reason } }
  }
}

function decodeUtf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw notUtf8(name)
  }
}

/** The failure for JSON in another encoding. */
export function notUtf8(name: string): Failure {
  return unreadable(`${name} is not encoded in UTF-8`, 'JSON is; check what the sender writes')
}

/** Refuses text that would be dangerous or ambiguous to parse. Text that is no JSON passes, because the parser refuses it. */
function checkShape(text: string, { name, sizeHelp }: Required<JsonText>): { readonly hasNumbers: boolean } {
  /** The names seen so far in each open object; null for a list. */
  const open: (Set<string> | null)[] = []
  let values = 0
  let hasNumbers = false
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] ?? ''
    if (sign === '"') {
      const end = endOfString(text, at)
      checkName(text, { from: at, to: end, knownNames: open.at(-1), name })
      at = end
      continue
    }
    hasNumbers ||= sign >= '0' && sign <= '9'
    if (sign === '}' || sign === ']') open.pop()
    if (sign === '{' || sign === '[') open.push(sign === '{' ? new Set() : null)
    if (sign === '{' || sign === '[' || sign === ',') values += 1
    if (open.length > maxDepth)
      throw unreadable(`${name} is nested deeper than ${maxDepth} levels at character ${at + 1}`, 'check the sender')
    if (values > maxValues) throw unreadable(`${name} holds more than ${maxValues} values`, sizeHelp)
  }
  return { hasNumbers }
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const sign = text[at]
    if (sign === '"') return at
    if (sign === '\\') at += 1
  }
  return text.length
}

type QuotedRange = {
  readonly from: number
  readonly to: number
  readonly knownNames: Set<string> | null | undefined
  readonly name: string
}

function checkName(text: string, { from, to, knownNames, name }: QuotedRange): void {
  if (!knownNames || !isFollowedByColon(text, to)) return
  const written = text.slice(from + 1, to)
  const key = written.includes('\\') ? unescapeJson(written) : written
  if (knownNames.has(key))
    throw unreadable(`${name}: an object names the same member twice, at character ${from + 1}`, 'check the sender')
  knownNames.add(key)
}

function isFollowedByColon(text: string, at: number): boolean {
  for (let next = at + 1; next < text.length; next += 1) {
    const sign = text[next]
    if (sign !== ' ' && sign !== '\n' && sign !== '\r' && sign !== '\t') return sign === ':'
  }
  return false
}

function unescapeJson(written: string): string {
  try {
    return JSON.parse(`"${written}"`)
  } catch {
    return written
  }
}

function sourceText(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? context?.source : value
}

function whereIn(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  if (message.startsWith('Unexpected end')) return ': it ends too soon'
  const [, position] = / at position (\d+) \(line \d+ column \d+\)$/.exec(message) ?? []
  return position === undefined ? '' : ` at character ${Number(position) + 1}`
}

/** Whether a value is a JSON object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d{0,9})$/.test(name) ? value[Number(name)] : undefined
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** What was collected of a record so far. `damaged`: paths of text that no database can hold. */
type CollectedCells = {
  readonly cells: Map<string, string>
  readonly ends: Map<string, number>
  readonly groups: Set<string>
  readonly damaged: string[]
  textLength: number
}

function brokenRecord(reason: string): FlatRecord {
  return { cells: new Map(), ends: new Map(), groups: new Set(), fault: { path: null, reason } }
}

/** Adds the cells of `value` below `path`. Returns the reason if it cannot. */
function spread(collected: CollectedCells, path: string, value: JsonValue): string | undefined {
  if (isObject(value)) return spreadAll(collected, path, Object.entries(value))
  if (Array.isArray(value)) {
    collected.ends.set(path, value.length)
    return spreadAll(collected, path, value.entries())
  }
  if (collected.cells.has(path)) return 'two values of the record have the same path'
  const text = value === null ? '' : String(value)
  if (value === null) collected.ends.set(path, 0)
  if (!isText(text)) collected.damaged.push(path)
  collected.cells.set(path, text)
  collected.textLength += text.length
  return undefined
}

function spreadAll(
  collected: CollectedCells,
  path: string,
  members: Iterable<readonly [string | number, JsonValue]>,
): string | undefined {
  for (const [name, value] of members) {
    const below = path === '' ? String(name) : `${path}.${name}`
    collected.groups.add(path)
    const reason = pathProblem(below) ?? spread(collected, below, value)
    if (reason !== undefined) return reason
    collected.textLength += below.length
    if (collected.textLength > maxRecordCharacters) return 'the record is longer than 1 MiB'
    if (collected.cells.size + collected.ends.size > maxPaths) return `the record has more than ${maxPaths} values`
  }
  return undefined
}

function pathProblem(path: string): string | undefined {
  if (path.length > maxPathCharacters) return `a path in the record is longer than ${maxPathCharacters} characters`
  // A shorter path has fewer dots, and most paths are short.
  if (path.length >= maxDepth && path.split('.', maxDepth + 1).length > maxDepth)
    return `a path in the record has more than ${maxDepth} names`
  return isText(path) ? undefined : 'a name in the record holds a NUL character or half a character'
}

/** Whether databases and files can hold the text. */
function isText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}

type Parent = { readonly path: string; readonly next: string }

function parentsOf(path: string): readonly Parent[] {
  const names = path.split('.')
  return names.slice(1).map((next, index) => ({ path: names.slice(0, index + 1).join('.'), next }))
}

function isPastAnEnd(parents: readonly Parent[], ends: ReadonlyMap<string, number>): boolean {
  return parents.some(({ path, next }) => {
    const end = ends.get(path)
    return end !== undefined && (end === 0 || Number(next) >= end)
  })
}

// Longer numbers are names of members, such as IDs of custom fields.
const isIndex = /^\d$/

/** Whether a record lacks a text only because it holds something of another shape there: some systems write a list of one as an object. */
function isOtherShape(
  { path, parents }: { readonly path: string; readonly parents: readonly Parent[] },
  { cells, ends, groups }: FlatRecord,
): boolean {
  if (groups.has(path)) return true
  return parents.some((parent) => {
    const text = cells.get(parent.path) ?? ''
    if (text.trim() !== '') return true
    return groups.has(parent.path) && ends.has(parent.path) !== isIndex.test(parent.next)
  })
}
