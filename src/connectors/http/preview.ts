import { Failure } from '../../errors.ts'
import {
  type DiscoveryOptions,
  headBytes,
  type NamedSource,
  readSecretFile,
  requireSettings,
  secretFileReference,
  type SourcePreview,
} from '../discovery.ts'
import { readHeadBytes, readHeadFromBytes } from '../file/decode/head.ts'
import { unreadable } from '../file/failures.ts'
import { readJson } from '../json/cells.ts'
import { openAuthorizer } from './authorization/authorizer.ts'
import type { ResponseHeaders } from './client/body.ts'
import { openHttpClient } from './client/client.ts'
import { discoverList } from './discovery/discover-list.ts'
import { resolveHost } from './network/addresses.ts'
import { systemClock } from './network/clock.ts'
import { isLocalHost } from './network/private-address.ts'
import { HttpSource } from './settings/settings.ts'

/**
 * Reads the beginning of the CSV export at an address, or the first pages of a JSON list, with the secret as a bearer token. `settings`:
 * further settings of the source by their path, of which only the list of records and headers can be given.
 */
export async function previewHttp(
  { location, secretFile, settings: given = new Map() }: NamedSource,
  options: DiscoveryOptions,
): Promise<SourcePreview> {
  const url = new URL(location)
  const bearer = secretFile === undefined ? undefined : await readSecretFile(secretFile, options)
  const { records, headers } = givenSettings(given)
  const common = {
    ...(isLocalHost(url) && { allowPrivate: true }),
    ...(Object.keys(headers).length > 0 && { headers }),
  }
  const settings = { type: 'http', url: url.href, format: 'csv', ...common }
  const source = requireSettings(HttpSource.safeParse({ ...settings, mode: 'snapshot', bearer }))
  const { configFolder, signal } = options
  const secret = (path: string) => (path === 'bearer' && bearer !== undefined ? { read: async () => bearer } : null)
  const context = { baseDir: configFolder, spoolDir: configFolder, secret }
  const request = { context, resolve: resolveHost, clock: systemClock }
  const authorizer = openAuthorizer(source, request)
  await using client = await openHttpClient(source, { ...request, signal, authorizer })
  const label = `${url.origin}${url.pathname}`
  const response = await client.fetch({ url, label, accept: 'text/csv, application/json;q=0.9, */*;q=0.5' })
  const { bytes, isWhole } = await readHeadBytes(response.body)
  const name = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname
  const reference = secretFile === undefined ? {} : { bearer: secretFileReference(secretFile, options) }
  if (isJson(response.headers, bytes)) {
    if (!isWhole) throw unreadable(`${label} sends more than ${headBytes} bytes`, 'ask for smaller pages')
    const answer = { url, headers: response.headers, content: readJson(bytes, { name: label }), bytes, label }
    const { settings: discovered, ...list } = await discoverList(answer, { client, records, maxPageBytes: headBytes })
    const listSettings = { type: 'http', format: 'json', ...discovered, ...common }
    requireSettings(HttpSource.safeParse({ ...listSettings, mode: 'snapshot', bearer }))
    return { list: { name, ...list }, source: { ...listSettings, ...reference }, laterExports: null }
  }
  if (records !== undefined) throw new Failure('usage', `${label} is no JSON, and has no list of records to choose`)
  const head = await readHeadFromBytes(bytes, { name, isWhole, signal })
  return { head, source: { ...settings, ...reference }, laterExports: null }
}

/** Whether a response is JSON, by its type or, where that says nothing, by its beginning. */
function isJson(headers: ResponseHeaders, bytes: Buffer): boolean {
  const type = String(headers['content-type'] ?? '')
  if (/[/+]json\b/i.test(type)) return true
  return !/[/+](?:csv|html)\b/i.test(type) && /^\s*[[{]\s*["{}[\]]/.test(bytes.toString('utf8', 0, 1024))
}

type GivenSettings = { readonly records: string | undefined; readonly headers: Readonly<Record<string, string>> }

function givenSettings(given: ReadonlyMap<string, string>): GivenSettings {
  const headers: Record<string, string> = {}
  for (const [path, value] of given) {
    const [, header] = /^headers\.(.+)$/s.exec(path) ?? []
    if (header !== undefined && !value.includes('${')) headers[header] = value
    else if (path !== 'records')
      throw new Failure(
        'usage',
        `--set takes records and headers.NAME of an address, without secrets; not ${path}: write it into the configuration`,
      )
  }
  return { records: given.get('records'), headers }
}
