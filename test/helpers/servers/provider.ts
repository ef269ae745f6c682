import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { startServer } from './servers.ts'

/** What a run can share, by name: how to make it, for how long it lasts, and the text that leads to it. */
const resources: Readonly<Record<string, (lifetime: AsyncDisposableStack) => Promise<string>>> = {
  redis: async (lifetime) => lifetime.use(await startServer('redis')).url,
  // Tests that kill a PostgreSQL have one of their own.
  postgres: async (lifetime) => lifetime.use(await startServer('postgres', { durable: false })).url,
  'pglite-image': savePgliteImage,
}

export type Provider = AsyncDisposable & { readonly address: string }

/**
 * Answers the test processes of one run over HTTP on the loopback. A resource is made when the first test asks for it, so
 * that a run of a few tests starts no server, and lasts until the provider is disposed.
 */
export async function startProvider(): Promise<Provider> {
  const lifetime = new AsyncDisposableStack()
  const made = new Map<string, Promise<string>>()
  const server = createServer(async (request, response) => {
    const name = request.url?.slice(1) ?? ''
    // A connection kept open could be closed from here just when a test uses it again.
    response.setHeader('connection', 'close')
    try {
      const promise = made.get(name) ?? make(name, lifetime)
      made.set(name, promise)
      response.end(await promise)
    } catch (error) {
      response.writeHead(500).end(error instanceof Error ? error.message : String(error))
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    address: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close()
      await Promise.allSettled(made.values())
      await lifetime.disposeAsync()
    },
  }
}

async function make(name: string, lifetime: AsyncDisposableStack): Promise<string> {
  const resource = resources[name]
  if (resource === undefined) throw new Error(`nobody knows how to provide "${name}"`)
  return resource(lifetime)
}

/** Creating an embedded database takes seconds of computing; loading a saved one takes a fraction of one. */
async function savePgliteImage(lifetime: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-image-'))
  lifetime.defer(() => rm(folder, { recursive: true, force: true }))
  await using pglite = await PGlite.create('memory://')
  const image = await pglite.dumpDataDir('none')
  const file = join(folder, 'pglite.tar')
  await writeFile(file, Buffer.from(await image.arrayBuffer()))
  return file
}
