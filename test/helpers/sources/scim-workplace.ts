import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Served } from '../served.ts'
import { openWorkplace, type Workplace } from '../workplace.ts'
import { type Host, peopleOn } from '../world.ts'
import { scimClient } from './scim-server.ts'

export type ScimWorkplaceOptions = { readonly source?: object; readonly connection?: object }

/** A workplace whose connection acme is pushed over SCIM, with a token for the sender. */
export async function openScimWorkplace(host: Host, { source = {}, connection = {} }: ScimWorkplaceOptions = {}) {
  const tenant = await host.tenant()
  const { baseUrl } = host.platform
  const work = await openWorkplace({ baseUrl, key: tenant.key }, { hasStore: true })
  const hasDatabase = (await readFile(join(work.folder, 'database'), 'utf8')) !== ''
  const config = {
    platform: { baseUrl, apiKey: '${file:key}', requestsPerMinute: 100_000 },
    ...(hasDatabase && { database: '${file:database}' }),
    dataDir: './data',
    server: { host: '127.0.0.1', port: 0 },
    connections: {
      acme: {
        target: { name: 'Acme HRIS' },
        source: { type: 'scim', quietSeconds: 0.2, quietMostSeconds: 2, ...source },
        verify: 'never',
        ...connection,
      },
    },
  }
  await writeFile(work.configFile, JSON.stringify(config, null, 2))
  return {
    work,
    people: () => peopleOn(tenant.client),
    [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
  }
}

export type ScimWorkplace = Awaited<ReturnType<typeof openScimWorkplace>>

/** Creates a token as an operator does; returns its text. */
export async function createScimToken(work: Workplace, name = 'Okta'): Promise<string> {
  const { document } = await work.json<{ token: string }>(
    ...['token', 'create', '--name', name, '--role', 'scim', '--connection', 'acme'],
  )
  return document.token
}

/** The sender of a daemon. */
export const senderOf = ({ url }: Pick<Served, 'url'>, token: string) => scimClient(`${url}/scim/v2/acme`, token)
