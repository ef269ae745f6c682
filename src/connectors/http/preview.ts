import { Failure } from '../../errors.ts'
import type { ConnectorContext } from '../connector.ts'
import {
  type DiscoveryOptions,
  headBytes,
  type NamedSource,
  readSecretFile,
  recordsOption,
  refuseReferences,
  requireSettings,
  type SourcePreview,
  secretFileReference,
} from '../discovery.ts'
import { readHeadBytes, readHeadFromBytes } from '../file/decode/head.ts'
import { unreadable } from '../file/failures.ts'
import { readJson } from '../json/cells.ts'
import { openAuthorizer } from './authorization/authorizer.ts'
import { listNames } from './client/address-label.ts'
import type { ResponseHeaders } from './client/body.ts'
import { openHttpClient } from './client/client.ts'
import { discoverList } from './discovery/discover-list.ts'
import { resolveHost } from './network/addresses.ts'
import { systemClock } from './network/clock.ts'
import { isLocalHost } from './network/private-address.ts'
import { HttpSource } from './settings/settings.ts'

/** An address whose list is looked at, and how to sign in there. */
type PreviewedAddress = {
  readonly url: URL
  /** A pointer to the list of records in an answer, if a person gave it. */
  readonly records: string | undefined
  /** Settings of the source besides those that are found, in which a secret may be a reference. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly secret: ConnectorContext['secret']
}

type PreviewOptions = {
  readonly signal: AbortSignal
  /** How a person gives another pointer to the list of records, as messages say it. */
  readonly recordsHelp: (pointer: string) => string
}

/**
 * Reads the beginning of the CSV export at an address, or the first pages of a JSON list, with the secret as a bearer token. `settings`:
 * further settings of the source by their path, of which only the list of records and headers can be given.
 */
export async function previewHttp(
  { location, secretFile, settings: given = new Map() }: NamedSource,
  options: DiscoveryOptions,
): Promise<SourcePreview> {
  const bearer = secretFile === undefined ? undefined : await readSecretFile(secretFile, options)
  const { records, headers } = givenSettings(given)
  const settings = {
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(secretFile !== undefined && { bearer: secretFileReference(secretFile, options) }),
  }
  const secret = (path: string) => (path === 'bearer' && bearer !== undefined ? { read: async () => bearer } : null)
  const { signal } = options
  return await previewAddress(
    { url: new URL(location), records, settings, secret },
    { signal, recordsHelp: recordsOption },
  )
}

/** Reads the beginning of the CSV export at an address, or the first pages of a JSON list. Stores nothing. */
export async function previewAddress(
  { url, records, settings: given, secret }: PreviewedAddress,
  { signal, recordsHelp }: PreviewOptions,
): Promise<SourcePreview> {
  const common = { ...(isLocalHost(url) && { allowPrivate: true }), ...given }
  const settings = { type: 'http', url: url.href, format: 'csv', ...common }
  const source = requireSettings(HttpSource.safeParse({ ...settings, mode: 'snapshot' }))
  const request = { context: { baseDir: '.', spoolDir: '.', secret }, resolve: resolveHost, clock: systemClock }
  const authorizer = openAuthorizer(source, request)
  await using client = await openHttpClient(source, { ...request, signal, authorizer })
  const label = `${url.origin}${url.pathname}`
  const response = await client.fetch({ url, label, accept: 'text/csv, application/json;q=0.9, */*;q=0.5' })
  const { bytes, isWhole } = await readHeadBytes(response.body)
  const { fileName: name } = listNames(label)
  if (isJson(response.headers, bytes)) {
    if (!isWhole) throw unreadable(`${label} sends more than ${headBytes} bytes`, 'ask for smaller pages')
    const answer = { url, headers: response.headers, content: readJson(bytes, { name: label }), bytes, label }
    const input = { client, records, recordsHelp, maxPageBytes: headBytes }
    const { settings: discovered, ...list } = await discoverList(answer, input)
    refuseReferences(discovered, label)
    const listSettings = { type: 'http', format: 'json', ...discovered, ...common }
    requireSettings(HttpSource.safeParse({ ...listSettings, mode: 'snapshot' }))
    return { list: { name, ...list }, source: listSettings, laterExports: null }
  }
  if (records !== undefined) throw new Failure('usage', `${label} is no JSON, and has no list of records to choose`)
  refuseReferences(settings.url, label)
  const head = await readHeadFromBytes(bytes, { name, isWhole, signal })
  return { head, source: settings, laterExports: null }
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
        `--set takes only records and headers.NAME for an address, without secrets: write ${path} into the configuration`,
      )
  }
  return { records: given.get('records'), headers }
}
