import { plainName, type Statement, statementOf } from '../../json/statements.ts'
import type { ResponseHeaders } from '../client/body.ts'
import { nextLinks } from './link-header.ts'

/** Prefixes of the headers of some servers. */
const headerPrefix = /^x-((pcty|wp|pagination|paging|pager)-)?/

/** The statements in the headers of a response. */
export function* statedByHeaders(headers: ResponseHeaders): Generator<Statement> {
  for (const [location, value] of Object.entries(headers)) {
    const text = String(value ?? '').trim()
    if (location === 'link' && namesNext(value)) yield { location, kind: 'next' }
    const range = location === 'content-range' ? /^(?!bytes\b).*\/(\d{1,15})$/i.exec(text)?.[1] : undefined
    if (range !== undefined) yield { location, kind: 'records', count: Number(range), isTotal: true }
    if (!location.startsWith('x-')) continue
    const statement = statementOf(plainName(location.replace(headerPrefix, '')), text)
    if (statement) yield { location, ...statement }
  }
}

/** Whether a Link header names a next page, as far as it can be understood. */
function namesNext(header: string | string[] | undefined): boolean {
  const links = nextLinks(header)
  return links === null ? /\brel\s*=\s*"?next\b/i.test(String(header)) : links.length > 0
}
