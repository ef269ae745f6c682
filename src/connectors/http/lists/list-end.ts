import { pluralize } from '../../../identity/pluralize.ts'
import { unreadable } from '../../file/failures.ts'
import { pointer } from '../../json/cells.ts'
import { helpIfUnrelated, textOf } from '../../json/statement-text.ts'
import {
  type CountStatement,
  isConsidered,
  plainName,
  provesEnd,
  type Statement,
  saysMore,
  statedByMembers,
  statesTotal,
} from '../../json/statements.ts'
import type { ResponseHeaders } from '../client/body.ts'
import type { PageRule } from '../settings/page-rule.ts'
import { checkEven } from './even-pages.ts'
import { statedByHeaders } from './header-statements.ts'
import { ListChange } from './list-change.ts'
import type { ListPage } from './list-page.ts'
import type { ListSettings } from './list-settings.ts'
import { mayShift } from './pager.ts'
import { fillsPage, repeatedNumbers, requestedSizes } from './requested-size.ts'
import { helpFor } from './statement-help.ts'

/** How a list ended, and how much was read of it. */
export type LastPage = {
  /** The last response with a body. */
  readonly page: ListPage
  /** How many records the list has. */
  readonly records: number
  /** How many pages it has, without empty ones behind its end. */
  readonly pages: number
  /** How many records each response holds. */
  readonly counts: readonly number[]
  /** The totals that the first page states. */
  readonly totals: readonly Statement[]
  /** What the last page states where the settings name a location: the total, and that there is no more. */
  readonly configured: readonly Statement[]
  /** What else shows the end, such as an empty page behind it. */
  readonly signs: readonly string[]
  /** The kinds of statements of the last page that these signs refute. */
  readonly refuted: readonly Statement['kind'][]
  /** Whether these signs suffice only together with a total of records. */
  readonly needsTotal?: boolean
}

/** `text`: how the end of a list was recognised. `isCounted`: a total that the server states equals the number of records. */
type EndOfList = { readonly text: string; readonly isCounted: boolean }

/** The totals of the whole list that a page states. Many servers state them on the first page only. */
export function totalsOf(settings: ListSettings, page: ListPage): readonly Statement[] {
  return statementsOf(settings, page).filter(statesTotal)
}

/**
 * Describes how the end of a list was recognised. Refuses a list whose last page states that there is more, and one of which records may
 * be missing: its first pages would pass for the whole company.
 */
export function endOfList(settings: ListSettings, rule: PageRule, last: LastPage): EndOfList {
  const isRefuted = ({ location, kind }: Statement) =>
    last.refuted.includes(kind) || last.configured.some((statement) => statement.location === location)
  const stated = statementsOf(settings, last.page).filter((statement) => !isRefuted(statement))
  const statements = [...last.configured, ...stated]
  checkCounts(last)
  const proofs = statements.filter((statement) => provesEnd(statement, last))
  const more = statedMore(statements, { ...last, proofs, settings })
  if (more) throw contradictionError(textOf(more, last), { settings, last, statement: more })
  const isCounted = isCountedBy(rule, last, { stated, proofs })
  if (!isCounted) checkComplete(rule, last)
  const signs = proofs.length === 0 ? signsWithoutProof(settings, rule, last) : last.signs
  const texts = [...signs, ...proofs.map((statement) => textOf(statement, last))].join('; ')
  const isOnly = rule.by === 'undeclared' || rule.by === 'single'
  const text = isOnly
    ? `the only page: ${texts || 'nothing in the answer says that there is more'}`
    : `page ${last.pages} is the last: ${texts}`
  return { text, isCounted }
}

/** What shows the end if no statement proves it. Refuses an only page that may be the first one of several. */
function signsWithoutProof(settings: ListSettings, rule: PageRule, last: LastPage): readonly string[] {
  const missing = missingNext(rule, last)
  if (missing !== null) checkAllowed(rule, last)
  if (rule.by === 'undeclared' || (missing !== null && settings.pages !== 'single')) checkNotFull(settings, rule, last)
  const allowed = settings.pages === 'single' ? 'pages: single' : 'allowSingle'
  return missing === null ? last.signs : [`${missing}, as ${allowed} allows`]
}

/** Refuses a list with another number of records or pages than the total that the settings point to. */
function checkCounts(last: LastPage): void {
  for (const statement of last.configured) {
    if (!statesTotal(statement) || provesEnd(statement, last)) continue
    const problem = `${last.page.label}: ${textOf(statement, last)}`
    const help = 'check total below pages'
    throw last.counts.length > 1 ? new ListChange(problem, help) : unreadable(problem, help)
  }
}

type Contradiction = { readonly settings: ListSettings; readonly last: LastPage; readonly statement: Statement }

/** The error for a last page after which more should follow. A count may have changed between the pages. */
function contradictionError(text: string, { settings, last, statement }: Contradiction): Error {
  const problem = `${last.page.label}: ${text}, so this is not the whole list`
  const help = helpFor(statement, settings)
  return 'count' in statement && last.counts.length > 1 ? new ListChange(problem, help) : unreadable(problem, help)
}

type EndProofs = { readonly stated: readonly Statement[]; readonly proofs: readonly Statement[] }

/**
 * Whether a total of records equals what was read. If pages may shift, the first page has to state it already: a total of the last page
 * alone also fits a list that lost a record between the pages.
 */
function isCountedBy(rule: PageRule, last: LastPage, { stated, proofs }: EndProofs): boolean {
  const isOfRecords = (statement: Statement) => statement.kind === 'records' && statesTotal(statement)
  if (last.configured.some(isOfRecords)) return true
  if (!mayShift(rule) && proofs.some(isOfRecords)) return true
  const totals = [...last.totals, ...stated].filter(isOfRecords)
  return last.totals.some(isOfRecords) && totals.every((statement) => provesEnd(statement, last))
}

/** Refuses a list without a total of records in which records may be missing. */
function checkComplete(rule: PageRule, { page, counts, signs, needsTotal }: LastPage): void {
  if (needsTotal)
    throw unreadable(
      `${page.label} names a next page, but ${signs.join('; ')}`,
      'run it again, or set total below pages',
    )
  checkEven(rule, counts, page.label)
}

/** Refuses a response that is read as a single file if one of its headers names a next page. */
export function checkNoNextPage(
  source: Pick<ListSettings, 'ignoredStatements'>,
  headers: ResponseHeaders,
  label: string,
): void {
  const statements = [...statedByHeaders(headers)].filter(isConsidered(source))
  const more = statements.find(({ kind }) => kind === 'next' || kind === 'more')
  if (!more) return
  const help = `ask for all of it at once; ${helpIfUnrelated(more)}`
  throw unreadable(`${label}: ${textOf(more)}, so this is not the whole list`, help)
}

function statementsOf(source: ListSettings, { content, headers }: ListPage): readonly Statement[] {
  return [...statedByMembers(content, source.records), ...statedByHeaders(headers)].filter(isConsidered(source))
}

/** The statement of the last page, or the total of the first page, that contradicts the end. */
function statedMore(statements: readonly Statement[], context: EndContext): Statement | undefined {
  const unrepeated = context.totals.filter(
    ({ kind }) => !statements.some((one) => one.kind === kind && statesTotal(one)),
  )
  return [...statements, ...unrepeated].find((statement) =>
    saysMore(statement, { ...context, isRepeated: (count) => repeatsRequest(count, context) }),
  )
}

/** Where a first page should name the next one and does not, in words; null if it does, or if it is not the only page. */
function missingNext(rule: PageRule, { page, counts, configured }: LastPage): string | null {
  if (counts.length > 1 || configured.some(({ kind }) => kind === 'noMore')) return null
  if (rule.by === 'link') return page.headers.link === undefined ? 'the header link is missing' : null
  return 'next' in rule && pointer(page.content, rule.next) === undefined ? `${rule.next} is missing` : null
}

function checkAllowed(rule: PageRule, { page }: LastPage): void {
  if ('allowSingle' in rule && rule.allowSingle) return
  const location = 'next' in rule ? `holds nothing at ${rule.next}` : 'has no header link'
  const help = 'check next; if a list of one page comes without it, write pages: single, or allowSingle below pages'
  throw unreadable(`${page.label} ${location}, and nothing says that it is the only page`, help)
}

/** Refuses an only page with as many records as a page may have at most: others may follow. */
function checkNotFull(settings: ListSettings, rule: PageRule, { records, page }: LastPage): void {
  if (records === 0) return
  const sent =
    'size' in rule && rule.size !== undefined ? [{ name: rule.sizeParameter ?? 'size', value: rule.size }] : []
  const full = [...sent, ...requestedSizes(settings)].find(({ value }) => fillsPage(records, value))
  if (!full) return
  const help =
    'ask for more at once, or say with next where the next page is named; if it never has others, write pages: single'
  const size =
    full.value === records
      ? `as many as ${full.name} asks for`
      : `a usual limit of a page, although ${full.name} asks for ${full.value}`
  throw unreadable(`${page.label} holds ${pluralize(records, 'record')}, ${size}, so others may follow`, help)
}

/** The statements that prove the end, and what else decides whether others contradict it. */
type EndContext = LastPage & { readonly proofs: readonly Statement[]; readonly settings: ListSettings }

/** Whether a count only repeats a parameter of the request. */
function repeatsRequest({ location, count }: CountStatement, { settings, page }: EndContext): boolean {
  const name = plainName(location.split('/').at(-1) ?? '')
  return repeatedNumbers(settings, page.url).some((sent) => plainName(sent.name) === name && sent.value === count)
}
