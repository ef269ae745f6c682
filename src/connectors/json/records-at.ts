import { unreadable } from '../file/failures.ts'
import { isObject, type JsonValue, pointer } from './cells.ts'

/** The list of records at a pointer. Refuses content that has no list there. `name`: the name of the content in failures. */
export function recordsAt(content: JsonValue, path: string, name: string): readonly JsonValue[] {
  const records = pointer(content, path)
  if (Array.isArray(records)) return records
  const location = path === '' ? 'as the whole' : `at ${path}`
  throw unreadable(`${name}: expected a list of records ${location}, found ${kindOf(records)}`, helpFor(records))
}

function kindOf(value: JsonValue | undefined): string {
  if (value === undefined) return 'nothing'
  if (isObject(value)) return 'a single object'
  return value === null ? 'null' : 'a single value'
}

function helpFor(value: JsonValue | undefined): string {
  if (!isObject(value)) return 'check records'
  return 'let records point to the list in it; if it is one person, have all people written as one list'
}
