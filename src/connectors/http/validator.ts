import { createHash } from 'node:crypto'
import type { SourceIdentity } from '../connector.ts'
import type { AnswerHeaders } from './fetch.ts'
import type { HttpSource } from './settings.ts'

const settledMs = 60_000
const entityTag = /^(?:W\/)?"[\x21\x23-\x7e]{0,500}"$|^[A-Za-z0-9._:/+=-]{1,500}$/

/** The headers that ask for something newer than what was read last; none where that was read from elsewhere, or in another way. */
export function conditionsOf(source: HttpSource, last: SourceIdentity | null): Readonly<Record<string, string>> {
  const [place, header = '', ...words] = (last?.validator ?? '').split(' ')
  return place === placeOf(source) ? { [header]: words.join(' ') } : {}
}

/** What `conditionsOf` needs to ask for something newer than this answer; undefined where its server offers nothing to rely on. */
export function validatorOf(source: HttpSource, headers: AnswerHeaders): string | undefined {
  const { etag, date, 'last-modified': modified } = headers
  if (typeof etag === 'string' && entityTag.test(etag)) return `${placeOf(source)} if-none-match ${etag}`
  if (typeof modified !== 'string' || typeof date !== 'string') return undefined
  // The header knows whole seconds: what was written just before the answer may be written again within the same one.
  const isSettled = Date.parse(date) - Date.parse(modified) >= settledMs
  return isSettled ? `${placeOf(source)} if-modified-since ${new Date(modified).toUTCString()}` : undefined
}

/** Which address was read, and how: the same bytes read by other settings are news. Holds no secrets. */
function placeOf({ bearer, basic, apiKey, clientCertificate, decrypt, ...reading }: HttpSource): string {
  return createHash('sha256').update(JSON.stringify(reading)).digest('hex').slice(0, 16)
}
