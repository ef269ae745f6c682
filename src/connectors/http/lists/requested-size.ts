import { plainName } from '../../json/statements.ts'
import type { ConfiguredJson } from '../client/secrets.ts'
import type { ListSettings } from './list-settings.ts'

/** How servers call the size of a page in a request. */
const sizeName =
  /^((page|batch|query|fetch|chunk|row|maxpage)?(limit|size)|top|[a-z]*perpage|per|count|rows|take|first|results|max(results|items|records|rows|entries)?|limitpagelength|(page)?length|n|(record|row|item|result)count|num(berof)?(results|records|items|rows)?)$/
/** Groups of a body about which records are wanted. Their numbers are no sizes. */
const filterName = /^(filters?|where|criteria|conditions?|search)$/
/** Groups of a body that may hold the size of a page, besides the body itself. */
const pagingName = /^(page|paging|pagination|query|options?|variables|params|parameters)$/
/** Sizes to which servers limit a page, whatever a request asks for. */
const usualLimits: readonly number[] = [50, 100, 200, 250, 500, 1000, 2000, 5000]

/** A parameter of a request, and the number that it sends. */
type RequestedNumber = { readonly name: string; readonly value: number }

type Request = Pick<ListSettings, 'url' | 'body'>

/** The sizes that the configured address and body ask for, also in the text of a query of GraphQL. */
export function requestedSizes({ url, body = null }: Request): readonly RequestedNumber[] {
  const sent = [...parametersOf(new URL(url)), ...numbersIn(body, (name) => !filterName.test(name))]
  return [...sent.filter(({ name }) => sizeName.test(plainName(name))), ...sizesInTexts(body)]
}

/** The numbers that an answer may repeat: those of the address, and the sizes in the body where sizes are usual. */
export function repeatedNumbers({ url, body = null }: Request, pageUrl: URL): readonly RequestedNumber[] {
  const ofBody = numbersIn(body, (name) => pagingName.test(name)).filter(({ name }) => sizeName.test(plainName(name)))
  return [...parametersOf(new URL(url)), ...ofBody, ...parametersOf(pageUrl)]
}

/** Whether a number of records may be the first of several pages: as many as the size, or as many as servers limit a larger size to. */
export function fillsPage(records: number, size: number): boolean {
  return records === size || (records < size && usualLimits.includes(records))
}

function parametersOf(url: URL): RequestedNumber[] {
  return [...url.searchParams].map(([name, value]) => ({ name, value: Number(value) }))
}

/** The numbers in a body by the names of their members, in the groups whose plain names pass. */
function numbersIn(body: ConfiguredJson, passes: (name: string) => boolean): readonly RequestedNumber[] {
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body).flatMap(([name, value]) => {
    if (typeof value !== 'object') return [{ name, value: Number(value) }]
    return Array.isArray(body) || passes(plainName(name)) ? numbersIn(value, passes) : []
  })
}

/** The sizes in the texts of a body, such as `employees(first: 100)`. */
function sizesInTexts(body: ConfiguredJson): readonly RequestedNumber[] {
  if (typeof body === 'string')
    return [...body.matchAll(/\b(first|last|limit|take|top|pageSize|perPage)\s*:\s*(\d{1,7})\b/gi)].map(
      ([, name = '', value]) => ({ name, value: Number(value) }),
    )
  if (typeof body !== 'object' || body === null) return []
  return Object.values(body).flatMap((value) => sizesInTexts(value))
}
