import { Failure } from '../../errors.ts'
import type { StoredEvent } from '../../identity/record.ts'
import type { Reading, RowTiming, SourceIdentity, SourceRow } from '../connector.ts'
import { type FlatRecord, flattenRecord, type JsonValue, pointer, readJson, rowReader } from '../json/cells.ts'
import { maxRowsPerSlice } from '../json/slices.ts'
import type { WebhookSettings } from './settings.ts'
import { readEpochMs, unitNames } from './times.ts'

const maxPaths = 10_000
const maxItemsPerEvent = 10_000
const defaultMaxItems = 250_000

type EventFormat = Pick<WebhookSettings, 'events' | 'time' | 'timeFormat' | 'timeZone' | 'toleranceSeconds'>

type Item = {
  readonly event: StoredEvent
  /** Its position among the items of its event, counted from 1. */
  readonly line: number
  readonly epochMs: number
  readonly record: FlatRecord
  readonly timing?: RowTiming
}

type EventOptions = {
  readonly now: Date
  readonly unusable?: ReadonlyMap<string, string>
  /** Whether events may be deferred to the next run. */
  readonly mayDefer?: boolean
  readonly maxItems?: number
}

/**
 * Reads stored events as one delta. Each item of an event is a row. Rows are ordered by the time that each states, then by arrival. An event that cannot be read, or is `unusable` for the given reason, becomes a row with a fault, so that it does not stop the
 * others. `deferred`: the IDs of events that are too many for one run.
 */
export function readEvents(
  events: readonly StoredEvent[],
  settings: EventFormat,
  { now, unusable = new Map(), mayDefer = false, maxItems = defaultMaxItems }: EventOptions,
): Reading & { readonly deferred: readonly string[] } {
  const headers = new Set<string>()
  const items: Item[] = []
  const inOrder = events.toSorted(byArrival)
  let count = 0
  for (const event of inOrder) {
    const reason = unusable.get(event.id)
    const own = reason === undefined ? readItems(event, settings, now) : [brokenEvent(event, reason)]
    if (mayDefer && count > 0 && !fits(own, { items, headers, maxItems })) break
    for (const item of own)
      items.push(items.length < maxItems ? addHeaders(headers, item) : brokenItem(item, tooManyAtOnce(maxItems)))
    count += 1
  }
  const deferred = new Set(inOrder.slice(count).map(({ id }) => id))
  items.sort((a, b) => a.epochMs - b.epochMs)

  return {
    mode: 'delta',
    asOf: new Date(latestOf(items) ?? now.getTime()).toISOString(),
    source: identityOf(events.filter(({ id }) => !deferred.has(id))),
    headers: [...headers],
    sparse: true,
    rows: slices(items, [...headers]),
    deferred: [...deferred],
  }
}

function tooManyAtOnce(maxItems: number): string {
  return `more than ${maxItems} items came at once`
}

type ReadItems = { readonly items: readonly Item[]; readonly headers: ReadonlySet<string>; readonly maxItems: number }

/** Whether the items of another event can be read together with those before. */
function fits(own: readonly Item[], read: ReadItems): boolean {
  if (read.items.length + own.length > read.maxItems) return false
  const fresh = new Set<string>()
  for (const { record } of own) for (const path of record.cells.keys()) if (!read.headers.has(path)) fresh.add(path)
  return read.headers.size + fresh.size <= maxPaths
}

function byArrival(a: StoredEvent, b: StoredEvent): number {
  return Date.parse(a.receivedAt) - Date.parse(b.receivedAt)
}

/** The items of an event. An event that cannot be read as a whole is one item with a fault. */
function readItems(event: StoredEvent, settings: EventFormat, now: Date): readonly Item[] {
  const body = bodyOf(event)
  if ('unreadable' in body) return [brokenEvent(event, body.unreadable)]

  const { events: path } = settings
  const content = pointer(body.value, path)
  const where = path === '' ? 'the body' : `the value at ${path} in the body`
  if (content === undefined) return [brokenEvent(event, `the body has no events at ${path}`)]
  if (typeof content !== 'object' || content === null) return [brokenEvent(event, `${where} is no object and no list`)]
  const values: readonly JsonValue[] = isList(content) ? content : [content]
  if (values.length > maxItemsPerEvent)
    return [brokenEvent(event, `${where} holds more than ${maxItemsPerEvent} items`)]
  return values.map((value, index) => readItem({ event, line: index + 1, value, body: body.value }, settings, now))
}

// Array.isArray does not narrow to a read-only array.
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

function bodyOf(event: StoredEvent): { readonly value: JsonValue } | { readonly unreadable: string } {
  try {
    return { value: readJson(event.body, { name: 'the body' }) }
  } catch (error) {
    if (error instanceof Failure) return { unreadable: error.message }
    throw error
  }
}

type RawItem = Pick<Item, 'event' | 'line'> & { readonly value: JsonValue; readonly body: JsonValue }

function readItem({ event, line, value, body }: RawItem, settings: EventFormat, now: Date): Item {
  const item = { event, line, epochMs: sentAt(event), record: flattenRecord(value) }
  const { time, timeFormat: unit, timeZone, toleranceSeconds } = settings
  const statedTime = time === undefined ? null : (pointer(value, time) ?? pointer(body, time) ?? null)
  if (statedTime === null) return item

  const statedAt = new Date(item.epochMs).toISOString()
  const epochMs = typeof statedTime === 'string' ? readEpochMs(statedTime, { unit, timeZone }) : null
  if (epochMs === null) {
    const reason = `${time} holds no time in ${unitNames[unit]}`
    return { ...item, timing: { statedAt, effectiveAt: null, reason } }
  }
  const isAhead = (of: number): boolean => epochMs - of > toleranceSeconds * 1000
  if (!isAhead(item.epochMs)) return { ...item, epochMs }
  const effectiveAt = new Date(epochMs).toISOString()
  if (!isAhead(now.getTime())) return { ...item, epochMs, timing: { statedAt, effectiveAt, reason: null } }
  const reason = `it is dated ${effectiveAt}, which lies ahead of this machine's time ${now.toISOString()}; it is read again then`
  return { ...item, timing: { statedAt, effectiveAt, reason } }
}

function sentAt({ signedAt, receivedAt }: StoredEvent): number {
  return Date.parse(signedAt ?? receivedAt)
}

function brokenItem(item: Item, reason: string): Item {
  return { ...item, record: { cells: new Map(), ends: new Map(), groups: new Set(), fault: { path: null, reason } } }
}

function brokenEvent(event: StoredEvent, reason: string): Item {
  const nothing = { cells: new Map(), ends: new Map(), groups: new Set<string>() }
  return brokenItem({ event, line: 1, epochMs: sentAt(event), record: nothing }, reason)
}

/** Adds the paths of an item to the headers. Returns an item with a fault if they would become too many. */
function addHeaders(headers: Set<string>, item: Item): Item {
  const fresh = [...item.record.cells.keys()].filter((path) => !headers.has(path))
  if (headers.size + fresh.length > maxPaths)
    return brokenItem(item, `the events that came with it have more than ${maxPaths} different paths`)
  for (const path of fresh) headers.add(path)
  return item
}

/** The latest time of the usable items, or of all items if none is usable. */
function latestOf(items: readonly Item[]): number | undefined {
  const usable = items.findLast(({ record }) => record.fault?.path !== null)
  return (usable ?? items.at(-1))?.epochMs
}

function identityOf(events: readonly StoredEvent[]): SourceIdentity | null {
  const [first] = events
  const last = events.at(-1)
  if (!first || !last) return null
  return {
    name: events.length === 1 ? '1 event' : `${events.length} events`,
    bytes: events.reduce((sum, { body }) => sum + body.length, 0),
    version: `${first.id}..${last.id}`,
  }
}

async function* slices(items: readonly Item[], headers: readonly string[]): AsyncGenerator<readonly SourceRow[]> {
  const toRow = rowReader(headers)
  const maxRows = maxRowsPerSlice(headers)
  for (let from = 0; from < items.length; from += maxRows) {
    yield items.slice(from, from + maxRows).map(({ event, line, epochMs, record, timing }) => ({
      ...toRow(record, { event: event.id, line }),
      asOf: new Date(epochMs).toISOString(),
      ...(timing && { timing }),
    }))
  }
}
