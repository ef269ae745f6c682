import { type JsonValue, pointer } from './cells.ts'

const maxDepth = 4
const maxLinks = 50

/** `location` is a pointer into the page, or the name of a header. */
type StatementLocation = { readonly location: string }

/** A number of records or pages in a response. `isTotal`: it counts the whole list, and not perhaps only the page. */
export type CountStatement = StatementLocation & {
  readonly kind: 'records' | 'pages'
  readonly count: number
  readonly isTotal: boolean
}

/** What a response states besides its records: how many there are, and whether others come before or after them. */
export type Statement = CountStatement | (StatementLocation & { readonly kind: OtherKind })

/** `previous`: a page comes before this one. */
type OtherKind = 'next' | 'more' | 'noMore' | 'previous'

const pagesName = /^(total(num|number|numberof)?(of)?pages?|totalpagecount|pagecount|pages|numpages|lastpage)$/
// Times, sums of money and the like are no numbers of records.
const recordsName =
  /^((odata|search|record|row|item|result)?count|numfound|total(?!.*(time|ms$|milli|second|duration|elapsed|latency|byte|cost|amount|salary|hours|pay|request|quota|credit|seat|licen[cs]e)).*)$/
// A plain count may be that of the page alone, which says nothing about the end, or the size of a full page.
const totalName = /^(total|odatacount|searchcount|numfound)/
const moreName =
  /^((has|is|are)?more(item|record|result|page|data|entries|available)?s?|hasnext(page)?|(is)?truncated|incompleteresults)$/
const lastName = /^((is)?last(page)?|completeindicator)$/
const nextName =
  /^(odata)?next(page|record|result|item|batch|row|set|start|continuation|cursor|search)?s?(link|url|uri|href|path|token|cursor|offset|id|key|number|no|num|index|skip|marker|mark|bookmark|position|after|from)?$/
const previousName = /^(odata)?prev(ious)?(page|result|cursor|start)?s?(link|url|uri|href|path|token|cursor|offset)?$/
const hasPreviousName = /^has(prev|previous)(page)?$/
const firstName = /^(is)?first(page)?$/
const offsetName = /^((page)?offset|skip|startat|firstresult|limitstart)$/
// Systems disagree whether pages are counted from 0 or 1.
const pageName = /^(start(index|sequence|position|row|record)|(current)?page(number|no|num|index)?)$/

/** A name in lower case without punctuation, in which servers differ. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/**
 * The statements in the members of a page outside its records: in all groups that hold the records, in the other items of lists on the way,
 * and near its beginning.
 */
export function* statedByMembers(page: JsonValue, recordsPath: string, path = '', depth = 0): Generator<Statement> {
  if (typeof page !== 'object' || page === null || recordsPath === '') return
  const isOnPath = recordsPath.startsWith(`${path}/`)
  if (depth > maxDepth && !isOnPath) return
  // Groups beside the records are looked into, however deep the records are.
  const depthBelow = isOnPath ? Math.min(depth + 1, maxDepth) : depth + 1
  if (isList(page)) {
    for (const [index, link] of page.slice(0, maxLinks).entries())
      for (const kind of ['next', 'previous'] as const)
        if (isLink(link, kind)) yield { location: `${path}/${index}/href`, kind }
    if (!isOnPath) return
    const [own = ''] = recordsPath.slice(path.length + 1).split('/')
    for (const index of new Set([own, ...page.slice(0, maxLinks).map((_, at) => String(at))])) {
      const location = `${path}/${index}`
      if (location !== recordsPath)
        yield* statedByMembers(pointer(page, `/${index}`) ?? null, recordsPath, location, depthBelow)
    }
    return
  }
  for (const [name, value] of Object.entries(page)) {
    const location = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    if (location === recordsPath) continue
    const isGroupOfRecords = recordsPath.startsWith(`${location}/`)
    const statement = isGroupOfRecords ? null : statementOf(plainName(name), value)
    if (statement) yield { location: isEmpty(pointer(value, '/href')) ? location : `${location}/href`, ...statement }
    else yield* statedByMembers(value, recordsPath, location, depthBelow)
  }
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}

const linkRelations = { next: /^next$/i, previous: /^prev(ious)?$/i }

function isLink(link: JsonValue, kind: keyof typeof linkRelations): boolean {
  const rel = pointer(link, '/rel')
  return typeof rel === 'string' && linkRelations[kind].test(rel) && !isEmpty(pointer(link, '/href'))
}

type StatementContent = Omit<CountStatement, 'location'> | { readonly kind: OtherKind }

/** What a member or a header of this plain name states; null: nothing about the end. */
export function statementOf(name: string, value: JsonValue): StatementContent | null {
  const count = countOf(value)
  const isTotal = totalName.test(name)
  if (count !== null && pagesName.test(name)) return { kind: 'pages', count, isTotal: true }
  if (count !== null && recordsName.test(name)) return { kind: 'records', count, isTotal }
  if (moreName.test(name) && isFlag(value)) return { kind: isTrue(value) ? 'more' : 'noMore' }
  if (lastName.test(name) && isFlag(value)) return { kind: isTrue(value) ? 'noMore' : 'more' }
  if (nextName.test(name) && !isEmpty(value)) return { kind: 'next' }
  return namesPreviousPage(name, value) ? { kind: 'previous' } : null
}

/** Whether a member of this plain name says that a page comes before this one. */
function namesPreviousPage(name: string, value: JsonValue): boolean {
  if (previousName.test(name)) return !isEmpty(value)
  if (isFlag(value)) return isTrue(value) ? hasPreviousName.test(name) : firstName.test(name)
  const position = countOf(value) ?? 0
  return position > 1 ? offsetName.test(name) || pageName.test(name) : position === 1 && offsetName.test(name)
}

function countOf(value: JsonValue | undefined): number | null {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : null
}

function isFlag(value: JsonValue): boolean {
  return typeof value === 'boolean' || value === 'true' || value === 'false'
}

function isTrue(value: JsonValue): boolean {
  return value === true || value === 'true'
}

/** Whether a value names nothing: also an object whose members are all empty, and texts such as "null". */
function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false) return true
  if (typeof value === 'object') return Object.values(value).every((member) => isEmpty(member))
  return value === '' || value === '0' || value === 'false' || value === 'null'
}

/** Whether a statement counts the whole list. */
export function statesTotal(statement: Statement): boolean {
  return 'count' in statement && statement.isTotal
}

/** The settings of a list about statements in it. */
type StatementSettings = { readonly ignoredStatements?: readonly string[] }

/** Whether a statement is about the list, as far as the configuration says. */
export function isConsidered({ ignoredStatements = [] }: StatementSettings): (statement: Statement) => boolean {
  return ({ location }) =>
    !ignoredStatements.some((ignored) =>
      ignored.startsWith('/') ? `${location}/`.startsWith(`${ignored}/`) : location === ignored.toLowerCase(),
    )
}

/** How much was read of a list. */
export type ReadCounts = { readonly records: number; readonly pages: number }

/** Whether a statement proves that all of the list was read. */
export function provesEnd(statement: Statement, read: ReadCounts): boolean {
  if (statement.kind === 'noMore') return true
  // Servers disagree whether an empty list has a page.
  if (statement.kind === 'pages' && statement.count === 0 && read.records === 0) return true
  return 'count' in statement && statesTotal(statement) && statement.count === read[statement.kind]
}

/** What decides whether a statement contradicts the end. */
type EndContext = ReadCounts & {
  /** The statements that prove the end. */
  readonly proofs: readonly Statement[]
  /** Whether a count only repeats what was requested. */
  readonly isRepeated: (statement: CountStatement) => boolean
}

/** Whether a statement says that the list has more than was read. */
export function saysMore(statement: Statement, { records, pages, proofs, isRepeated }: EndContext): boolean {
  switch (statement.kind) {
    case 'records':
      if (statement.count <= records) return false
      // The size of a full page is no number of records.
      return statement.isTotal || !(proofs.some(({ kind }) => kind !== 'pages') || isRepeated(statement))
    case 'pages':
      return statement.count > pages
    case 'next':
      // Some servers name a next page even on the last one.
      return !proofs.some(({ kind }) => kind === 'noMore')
    case 'more':
      return true
    case 'noMore':
    case 'previous':
      return false
    default:
      return statement satisfies never
  }
}
