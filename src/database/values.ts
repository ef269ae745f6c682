import { types } from 'pg'

type TextParser = (text: string) => unknown

const { builtins, getTypeParser } = types
/** The catalogue's numbers of array types, which node-postgres has no names for. */
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
  [arrays.int8, (text) => parseTextArray(text).map((item) => (item === null ? null : parseInt8(item)))],
  [arrays.timestamp, parseTextArray],
  [arrays.date, parseTextArray],
])

/**
 * How column values arrive in JavaScript: node-postgres' own reading, except that `bigint` is a number wherever a number
 * can hold it (otherwise a BigInt), and that `date` and `timestamp`, which name no instant, stay the text they are.
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
