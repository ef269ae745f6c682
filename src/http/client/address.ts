import type { Operation } from '../../contract/operation.ts'
import { formatParameter, writeParameter } from '../text.ts'

type Values = Readonly<Record<string, unknown>>

/** The path and query of a request. Every path parameter stays one segment, whatever characters it contains. */
export function requestPath(
  base: URL,
  operation: Operation,
  { params = {}, query = {} }: { readonly params?: Values; readonly query?: Values },
): string {
  const prefix = base.pathname.replace(/\/+$/, '')
  const path = operation.path.replace(/:(\w+)/g, (_, name: string) => segment(name, params[name]))
  const pairs = Object.entries(query)
    .flatMap(([name, value]) => writeParameter(name, value))
    .map(pair)
  return pairs.length === 0 ? `${prefix}${path}` : `${prefix}${path}?${pairs.join('&')}`
}

function segment(name: string, value: unknown): string {
  const text = formatParameter(value)[0]
  if (text === undefined || text === '') throw new TypeError(`the path parameter ${name} is missing`)
  // A proxy would take segments of dots for a step up the path.
  return /^\.+$/.test(text) ? text.replaceAll('.', '%2E') : encodeURIComponent(text)
}

function pair([name, text]: readonly [string, string]): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(text)}`
}
