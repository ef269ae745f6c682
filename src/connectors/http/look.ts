import {
  type ExportPreview,
  type DiscoveryOptions,
  type NamedSource,
  readSecretFile,
  secretFileReference,
  usableSettings,
} from '../discovery.ts'
import { headOfBytes, startOf } from '../file/decode/head.ts'
import { resolveHost } from './addresses.ts'
import { openHttpClient } from './fetch.ts'
import { HttpSource, namesThisMachine } from './settings.ts'

/** Looks at the CSV export at an address. */
export async function lookAtHttp(
  { at: address, secretFile }: NamedSource,
  options: DiscoveryOptions,
): Promise<ExportPreview> {
  const url = new URL(address)
  const bearer = secretFile === undefined ? null : await readSecretFile(secretFile, options)
  const own = namesThisMachine(url) ? { allowPrivate: true } : {}
  const at = { type: 'http', url: url.href, format: 'csv', ...own }
  const source = usableSettings(HttpSource.safeParse({ ...at, mode: 'snapshot', ...(bearer !== null && { bearer }) }))
  const { folder, signal } = options
  const secret = (path: string) => (path === 'bearer' && bearer !== null ? { read: async () => bearer } : null)
  const place = { baseDir: folder, spoolDir: folder, secret }
  await using client = await openHttpClient(source, { place, resolve: resolveHost, signal })
  const { body } = await client.get(url, { where: `${url.origin}${url.pathname}` })
  const { bytes, isWhole } = await startOf(body)
  const name = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname
  const head = await headOfBytes(bytes, { name, isWhole, signal })
  const bearerOf = secretFile === undefined ? {} : { bearer: secretFileReference(secretFile, options) }
  return { head, source: { ...at, ...bearerOf }, later: null }
}
