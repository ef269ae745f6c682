import { type RunningSystem, type SystemOptions, startSystem } from '../helpers/hr-systems/server.ts'
import { requireSystem } from '../helpers/hr-systems/systems.ts'
import type { Certificates } from '../helpers/sources/hr-server.ts'
import { type FilledSource, fillSource, readRecipeFile, type SourceSettings, systemConnections } from './systems.ts'

/** When the systems of the tests are read. */
export const noon = new Date('2026-11-20T12:00:00Z')

/** A running system, and the source that reads it. */
export type OpenedSystem = AsyncDisposable & FilledSource & { readonly server: RunningSystem }

/** `pageSize`: how many records each page is asked to hold, instead of as many as the recipe says. */
type OpenSystemOptions = SystemOptions & { readonly certificates?: Certificates | null; readonly pageSize?: number }

/** Starts the system of a connection at noon, and fills the recipe for it. Systems with TLS need certificates. */
export async function openSystem(
  name: string,
  { certificates = null, pageSize, ...options }: OpenSystemOptions,
): Promise<OpenedSystem> {
  const connection = systemConnections.find((one) => one.name === name)
  if (!connection) throw new Error(`no connection ${name}`)
  const system = requireSystem(connection.recipe)
  const tls = system.needsTls ? certificates?.server : undefined
  const server = await startSystem(system, { now: () => noon.getTime(), ...options, ...(tls && { tls }) })
  const filled = fillSource(await readRecipeFile(connection.recipe), connection, { server, certificates })
  const settings = pageSize === undefined ? filled.settings : withPageSize(filled.settings, pageSize)
  return { ...filled, settings, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** The source with smaller pages, where a request says how large they are. */
function withPageSize(settings: SourceSettings, size: number): SourceSettings {
  const url = String(settings.url).replace(/\b(page_size|per_page|limit)=\d+/, `$1=${size}`)
  const { pages } = settings
  const hasSize = typeof pages === 'object' && pages !== null && 'size' in pages
  return { ...settings, url, ...(hasSize && { pages: { ...pages, size } }) }
}
