import { startSystem, type RunningSystem, type SystemOptions } from '../helpers/hr-systems/server.ts'
import { requireSystem } from '../helpers/hr-systems/systems.ts'
import type { Certificates } from '../helpers/sources/hr-server.ts'
import { type FilledSource, fillSource, readRecipeFile, systemConnections } from './systems.ts'

/** When the systems of the tests are read. */
export const noon = new Date('2026-11-20T12:00:00Z')

/** A running system, and the source that reads it. */
export type OpenedSystem = AsyncDisposable & FilledSource & { readonly server: RunningSystem }

/** Starts the system of a connection at noon, and fills the recipe for it. Systems with TLS need certificates. */
export async function openSystem(
  name: string,
  { certificates = null, ...options }: SystemOptions & { readonly certificates?: Certificates | null },
): Promise<OpenedSystem> {
  const connection = systemConnections.find((one) => one.name === name)
  if (!connection) throw new Error(`no connection ${name}`)
  const system = requireSystem(connection.recipe)
  const tls = system.needsTls ? certificates?.server : undefined
  const server = await startSystem(system, { now: () => noon.getTime(), ...options, ...(tls && { tls }) })
  const filled = fillSource(await readRecipeFile(connection.recipe), connection, { server, certificates })
  return { ...filled, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}
