import { type JsonValue, pointer } from './cells.ts'
import { plainName, type Statement } from './statements.ts'

// Members of other groups are about something else, as in { "period": { "previous": "2026-10" } }.
const pagingGroup =
  /^\d+$|meta|page|paging|pagination|navigation|cursor|links?$|^(list|result|response)?info$|^(query|request|params|parameters|response|results?|search|headers?)$/
const listTotal =
  /^(total(count|num|number|records?|rows?|results?|elements?|items?|entries|hits|size)?|odatacount|searchcount|numfound)$/

/** Whether a statement is where servers write about the list: in an object that holds the list, or in a group about pages there. */
export function isAboutList({ location }: Statement, recordsPath: string): boolean {
  const names = location.replace(/\/href$/, '').split('/')
  const recordsNames = recordsPath.split('/')
  const firstOther = names.findIndex((name, index) => name !== recordsNames[index])
  return names.slice(firstOther, -1).every((name) => pagingGroup.test(plainName(name)))
}

/** Whether a statement is the total of the list by its name too. `totalManagers` counts something else. */
export function isTotalOfList(statement: Statement, recordsPath: string): boolean {
  const name = statement.location.split('/').at(-1) ?? ''
  return statement.kind === 'records' && listTotal.test(plainName(name)) && isAboutList(statement, recordsPath)
}

/** The lists of records in other items of a list on the way to the records, as pointers. */
export function* listsInOtherItems(content: JsonValue, recordsPath: string): Generator<string> {
  const names = recordsPath.split('/').slice(1)
  for (const [depth, name] of names.entries()) {
    const path = names.slice(0, depth).map((one) => `/${one}`)
    const rest = names.slice(depth + 1).map((one) => `/${one}`)
    const items = pointer(content, path.join(''))
    if (!isList(items)) continue
    for (const [index, item] of items.entries()) {
      const records = index === Number(name) ? undefined : pointer(item, rest.join(''))
      if (isList(records) && records.length > 0) yield [...path, `/${index}`, ...rest].join('')
    }
  }
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}
