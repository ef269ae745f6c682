import {
  type ExportPreview,
  type DiscoveryOptions,
  type NamedSource,
  readSecretFile,
  secretFileReference,
  requireSettings,
} from '../discovery.ts'
import { readHeadFromBytes, readHeadBytes } from '../file/decode/head.ts'
import { resolveHost } from './addresses.ts'
import { openHttpClient } from './fetch.ts'
import { HttpSource, isLocalHost } from './settings.ts'

/** Looks at the CSV export at an address. */
export async function previewHttp(
  { location: address, secretFile }: NamedSource,
  options: DiscoveryOptions,
): Promise<ExportPreview> {
  const url = new URL(address)
  const bearer = secretFile === undefined ? null : await readSecretFile(secretFile, options)
  const own = isLocalHost(url) ? { allowPrivate: true } : {}
  const at = { type: 'http', url: url.href, format: 'csv', ...own }
  const source = requireSettings(HttpSource.safeParse({ ...at, mode: 'snapshot', ...(bearer !== null && { bearer }) }))
  const { configFolder, signal } = options
  const secret = (path: string) => (path === 'bearer' && bearer !== null ? { read: async () => bearer } : null)
  const place = { baseDir: configFolder, spoolDir: configFolder, secret }
  await using client = await openHttpClient(source, { place, resolve: resolveHost, signal })
  const { body } = await client.get(url, { where: `${url.origin}${url.pathname}` })
  const { bytes, isWhole } = await readHeadBytes(body)
  const name = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname
  const head = await readHeadFromBytes(bytes, { name, isWhole, signal })
  const bearerOf = secretFile === undefined ? {} : { bearer: secretFileReference(secretFile, options) }
  return { head, source: { ...at, ...bearerOf }, laterExports: null }
}
