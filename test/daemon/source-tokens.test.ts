import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { toSyncConnection } from '../../src/daemon/sync-connection.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { rowsOf } from '../helpers/sources/hr-server.ts'
import { peopleOf, startTokenSystem } from '../helpers/sources/token-system.ts'

test('connections with the same refresh token share what replaced it, in the data folder', async () => {
  await using system = await startTokenSystem({ issues: { refresh_token: 'refresh-1', expires_in: 3600 } })
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'token'), 'refresh-0')
  const oauth2 = {
    ...{ grant: 'refreshToken', tokenUrl: `${system.url}/token`, clientId: 'client-1' },
    refreshToken: '${file:token}',
  }
  const common = { type: 'http', format: 'json', mode: 'snapshot', preset: 'generic', allowPrivate: true }
  const connection = (name: string) => ({ target: { name }, source: { ...common, ...peopleOf(system), oauth2 } })
  const file = join(folder.path, 'rollcall.yaml')
  const settings = {
    platform: { apiKey: '${env:KEY}' },
    dataDir: './data',
    connections: { one: connection('One'), two: connection('Two') },
  }
  await writeFile(file, JSON.stringify(settings))
  const config = await loadConfig(file, { KEY: 'key' })

  for (const configured of config.connections.values()) {
    const { feeds } = toSyncConnection(config, configured)
    const { signal } = new AbortController()
    const options = { now: () => new Date(), signal, findDecided: async () => new Set<string>() }
    await rowsOf((await feeds.source?.connector.open(options)) ?? expect.fail('there is no source'))
  }

  const names = await readdir(join(folder.path, 'data', 'tokens'))
  expect(names.filter((name) => name.endsWith('.json'))).toHaveLength(1)
  expect(system.tokenRequests).toHaveLength(1)
  expect(system.listRequests).toHaveLength(2)
})
