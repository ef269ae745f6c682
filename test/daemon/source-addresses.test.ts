import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { toSyncConnection } from '../../src/daemon/sync-connection.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { json, rowsOf, startHrServer } from '../helpers/sources/hr-server.ts'

const secret = 'path-that-nobody-may-see'

/** The connector of a source that a configuration describes. The file `path` beside it holds the secret. */
async function openSource(source: object, folder: string) {
  await writeFile(join(folder, 'path'), secret)
  const common = { type: 'http', format: 'json', mode: 'snapshot', preset: 'generic', pages: 'single' }
  const settings = {
    platform: { apiKey: '${env:KEY}' },
    connections: { hr: { target: { name: 'HR' }, source: { ...common, allowPrivate: true, ...source } } },
  }
  const file = join(folder, 'rollcall.yaml')
  await writeFile(file, JSON.stringify(settings))
  const config = await loadConfig(file, { KEY: 'key' })
  const connection = config.connections.get('hr') ?? expect.fail('there is no connection')
  const { feeds } = toSyncConnection(config, connection)
  const options = {
    now: () => new Date(),
    signal: new AbortController().signal,
    findDecided: async () => new Set<string>(),
  }
  return (await feeds.source?.connector.open(options)) ?? expect.fail('there is no source')
}

test('a part of an address that comes from a file is in no name of a source, and the list is read all the same', async () => {
  await using server = await startHrServer(json([{ id: 'p1' }]))
  await using folder = await temporaryFolder()

  const reading = await openSource({ url: `${server.url}/\${file:path}/people?a=\${file:path}` }, folder.path)
  const rows = await rowsOf(reading)

  expect(server.requests.map(({ path }) => path)).toEqual([`/${secret}/people?a=${secret}`])
  expect(reading.source?.name).toBe(`127.0.0.1:${server.port}/\${file:path}/people`)
  expect(rows[0]?.origin).toEqual({ file: 'people page 1', line: 1 })
})

test.each([
  ['url', { url: '/${file:path}/people' }],
  ['login.url', { url: '/people', login: { url: '/${file:path}/login', token: '/token' } }],
  [
    'oauth2.tokenUrl',
    {
      url: '/people',
      oauth2: {
        ...{ grant: 'clientCredentials', tokenUrl: '/${file:path}/token', clientId: 'c' },
        clientSecret: '${file:path}',
      },
    },
  ],
  [
    'join.0.url',
    { url: '/open', join: [{ url: '/${file:path}/jobs', on: '/id', with: 'id', as: 'job', take: 'only' }] },
  ],
  ['each.0.url', { url: '/open', each: [{ url: '/${file:path}/people/{id}', as: 'job', take: 'only' }] }],
])('a secret part of %s is in no failure, where its reference stands instead', async (_setting, settings) => {
  await using server = await startHrServer((request, response) => {
    if (request.url === '/open') json([{ id: 'p1' }])(request, response)
    else response.writeHead(404).end()
  })
  await using folder = await temporaryFolder()
  const withHost = JSON.parse(JSON.stringify(settings).replaceAll(/("(?:url|tokenUrl)":")/g, `$1${server.url}`))

  const failure: unknown = await openSource(withHost, folder.path)
    .then(rowsOf)
    .catch((error: unknown) => error)

  expect(String(failure)).toContain(`${server.url}/\${file:path}/`)
  expect(`${failure} ${(failure as Error).stack}`).not.toContain(secret)
})
