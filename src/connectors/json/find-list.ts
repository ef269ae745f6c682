import { Failure } from '../../errors.ts'
import { escapeText } from '../../text/escape.ts'
import { unreadable } from '../file/failures.ts'
import { JsonPointer } from '../json-pointer.ts'
import { isObject, type JsonValue, pointer } from './cells.ts'
import { plainName } from './statements.ts'

const maxDepth = 4
/** Members of a person. Content that has one of them is a record and no list of them. */
const personNames = new Set(['firstname', 'lastname', 'givenname', 'familyname', 'email', 'emails', 'workemail'])

type JsonList = { readonly path: string; readonly items: readonly JsonValue[] }

type ListChoice = {
  /** The name of the file or the address, in failures. */
  readonly label: string
  /** The pointer that a person gave. */
  readonly chosen: string | undefined
  /** How a person gives another pointer. */
  readonly help: (pointer: string) => string
}

/** The pointer to the list of records in a file or an answer: the one given, or the longest list of objects. Refuses content without one. */
export function findList(content: JsonValue, { label, chosen, help }: ListChoice): string {
  if (chosen !== undefined) return requireRecords(content, chosen, { label, help })
  const lists = [...listsIn(content)]
  const [longest, second] = lists.filter(holdsRecords).toSorted((a, b) => b.items.length - a.items.length)
  if (isObject(content) && Object.keys(content).some((name) => personNames.has(plainName(name)))) {
    const orList = longest === undefined ? '' : `, or the one in it with ${help(escapeText(longest.path))}`
    throw unreadable(`${label} is one record, and no list of them`, `give the list of all people${orList}`)
  }
  if (longest === undefined) throw noListFailure(lists, label)
  // A list of half the length may be that of the people as well.
  if (second === undefined || second.items.length * 2 < longest.items.length) return longest.path
  const names = [longest, second].map(({ path, items }) => `${escapeText(path)} (${items.length})`)
  throw new Failure(
    'usage',
    `${label} has several lists of similar length, ${names.join(' and ')}: say which one holds the people with ${help(escapeText(longest.path))}`,
  )
}

/** Whether most items of a list are records. A run reads the others as rows that cannot be used. */
export function isRecords(items: JsonValue | undefined): items is readonly JsonValue[] {
  return Array.isArray(items) && items.filter(isObject).length * 2 > items.length
}

function holdsRecords({ items }: JsonList): boolean {
  return isRecords(items) && !items.filter(isObject).every((item) => 'href' in item)
}

function requireRecords(content: JsonValue, path: string, { label, help }: Omit<ListChoice, 'chosen'>): string {
  if (!JsonPointer.safeParse(path).success)
    throw new Failure('usage', `${escapeText(path)} is no path to a list: a path begins with /, such as /data/people`)
  if (isRecords(pointer(content, path))) return path
  const [other] = [...listsIn(content)].filter(holdsRecords).map((list) => escapeText(list.path))
  throw new Failure('usage', `${label} has no list of records at ${escapeText(path)}: ${adviceFor(other, help)}`)
}

/** `other`: where there is a list of records. */
function adviceFor(other: string | undefined, help: ListChoice['help']): string {
  if (other === undefined) return 'check whether it lists people'
  return other === '' ? 'it is a list itself, so give no path' : `give ${help(other)}`
}

function* listsIn(value: JsonValue, path = '', depth = 0): Generator<JsonList> {
  if (Array.isArray(value)) yield { path, items: value }
  if (!isObject(value) || depth === maxDepth) return
  for (const [name, member] of Object.entries(value)) yield* listsIn(member, `${path}${pointerTo(name)}`, depth + 1)
}

/** The pointer to a member. */
export function pointerTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function noListFailure(lists: readonly JsonList[], label: string): Failure {
  const filled = lists.find(({ items }) => items.length > 0)
  const [list] = lists
  const at = ({ path }: JsonList) => (path === '' ? 'its list' : `its list at ${escapeText(path)}`)
  if (filled !== undefined)
    return unreadable(`${label}: ${at(filled)} holds no records`, 'give a list whose items are objects')
  if (list !== undefined)
    return unreadable(
      `${label}: ${at(list)} is empty, so it does not show how it is read`,
      'check what the account may see, or the export includes',
    )
  return unreadable(`${label} holds no list of records`, 'give the list of all people')
}
