import { types } from 'pg'

type TextParser = (text: string) => unknown

const { builtins, getTypeParser } = types
/** The type numbers of arrays. node-postgres has no names for them. */
const arrays: Readonly<Record<'text' | 'int8' | 'timestamp' | 'date', number>> = {
  text: 1009,
  int8: 1016,
  timestamp: 1115,
  date: 1182,
}

const parseTextArray: (text: string) => (string | null)[] = getTypeParser(arrays.text)

const ours: ReadonlyMap<number, TextParser> = new Map<number, TextParser>([
  [builtins.INT8, parseInt8],
  [builtins.TIMESTAMP, asWritten],
  [builtins.DATE, asWritten],
  [builtins.TIMESTAMPTZ, parseInstant],
  [arrays.int8, (text) => parseTextArray(text).map((item) => (item === null ? null : parseInt8(item)))],
  [arrays.timestamp, parseTextArray],
  [arrays.date, parseTextArray],
])

/**
 * How column values are read: as node-postgres does, with two exceptions. A `bigint` becomes a number if a number can hold it, and
 * otherwise a BigInt. A `date` or `timestamp` stays text, because it names no instant.
 */
export const valueTypes: { readonly getTypeParser: typeof getTypeParser } = {
  getTypeParser: (oid, format) => (format === 'binary' ? undefined : ours.get(oid)) ?? getTypeParser(oid, format),
}

function parseInt8(text: string): number | bigint {
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : BigInt(text)
}

function asWritten(text: string): string {
  return text
}

const remembered = 100
const instants = new Map<string, number>()

/** Rows that are read together were mostly written together, with the same few times. */
function parseInstant(text: string): unknown {
  const before = instants.get(text)
  if (before !== undefined) return new Date(before)
  const instant: unknown = getTypeParser(builtins.TIMESTAMPTZ)(text)
  if (instant instanceof Date) {
    if (instants.size >= remembered) instants.clear()
    instants.set(text, instant.getTime())
  }
  return instant
}
