import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { provideChromium } from './chromium-program.ts'
import { startServer } from './servers.ts'

type Resource = (lifetime: AsyncDisposableStack, provide: (name: string) => Promise<string>) => Promise<string>

/** What a run can share, by name: how to make it, for how long it lasts, and the text that leads to it. */
const resources: Readonly<Record<string, Resource>> = {
  redis: async (lifetime) => lifetime.use(await startServer('redis')).url,
  // Tests that kill a PostgreSQL have one of their own.
  postgres: async (lifetime) => lifetime.use(await startServer('postgres', { durable: false })).url,
  chromium: provideChromium,
  'postgres-template': async (lifetime, provide) => {
    const { prepareTemplate } = await import('./prepared.ts')
    return prepareTemplate(await provide('postgres'), `template_${randomUUID().replaceAll('-', '')}`, lifetime)
  },
  'pglite-image': async (lifetime) => {
    const { prepareImage } = await import('./prepared.ts')
    return prepareImage(await temporaryFolder(lifetime))
  },
  'empty-image': async (lifetime) => {
    const { prepareEmptyImage } = await import('./prepared.ts')
    return prepareEmptyImage(await temporaryFolder(lifetime))
  },
  'store-folder': async (lifetime) => {
    const { prepareStoreFolder } = await import('./prepared.ts')
    return prepareStoreFolder(await temporaryFolder(lifetime))
  },
  'platform-folder': async (lifetime) => {
    const { preparePlatformFolder } = await import('./prepared.ts')
    return preparePlatformFolder(await temporaryFolder(lifetime))
  },
}

export type Provider = AsyncDisposable & { readonly address: string }

/**
 * Answers the test processes of one run over HTTP on the loopback. A resource is made when the first test asks for it, so
 * that a run of a few tests starts no server, and lasts until the provider is disposed.
 */
export async function startProvider(): Promise<Provider> {
  const lifetime = new AsyncDisposableStack()
  const made = new Map<string, Promise<string>>()

  function provide(name: string): Promise<string> {
    const resource = resources[name]
    if (resource === undefined) throw new Error(`no one knows how to provide "${name}"`)
    const promise = made.get(name) ?? resource(lifetime, provide)
    made.set(name, promise)
    return promise
  }

  const server = createServer(async (request, response) => {
    const name = request.url?.slice(1) ?? ''
    // A connection kept open could be closed from here just when a test uses it again.
    response.setHeader('connection', 'close')
    try {
      response.end(await provide(name))
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

async function temporaryFolder(lifetime: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-image-'))
  lifetime.defer(() => rm(folder, { recursive: true, force: true }))
  return folder
}
