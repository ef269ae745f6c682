import {
  type DiscoveryOptions,
  type ExportPreview,
  type NamedSource,
  readSecretFile,
  requireSettings,
  secretFileReference,
} from '../discovery.ts'
import { readHeadBytes, readHeadFromBytes } from '../file/decode/head.ts'
import { openAuthorizer } from './authorization/authorizer.ts'
import { openHttpClient } from './client/client.ts'
import { resolveHost } from './network/addresses.ts'
import { systemClock } from './network/clock.ts'
import { isLocalHost } from './network/private-address.ts'
import { HttpSource } from './settings/settings.ts'

/** Reads the beginning of the CSV export at an address, with the secret as a bearer token. */
export async function previewHttp(
  { location, secretFile }: NamedSource,
  options: DiscoveryOptions,
): Promise<ExportPreview> {
  const url = new URL(location)
  const bearer = secretFile === undefined ? undefined : await readSecretFile(secretFile, options)
  const privateAccess = isLocalHost(url) ? { allowPrivate: true } : {}
  const settings = { type: 'http', url: url.href, format: 'csv', ...privateAccess }
  const source = requireSettings(HttpSource.safeParse({ ...settings, mode: 'snapshot', bearer }))
  const { configFolder, signal } = options
  const secret = (path: string) => (path === 'bearer' && bearer !== undefined ? { read: async () => bearer } : null)
  const context = { baseDir: configFolder, spoolDir: configFolder, secret }
  const request = { context, resolve: resolveHost, clock: systemClock }
  const authorizer = openAuthorizer(source, request)
  await using client = await openHttpClient(source, { ...request, signal, authorizer })
  const { body } = await client.fetch({ url, label: `${url.origin}${url.pathname}`, accept: 'text/csv, */*;q=0.5' })
  const { bytes, isWhole } = await readHeadBytes(body)
  const name = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname
  const head = await readHeadFromBytes(bytes, { name, isWhole, signal })
  const reference = secretFile === undefined ? {} : { bearer: secretFileReference(secretFile, options) }
  return { head, source: { ...settings, ...reference }, laterExports: null }
}
