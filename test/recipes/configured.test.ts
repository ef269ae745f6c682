import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configOfText } from '../../src/daemon/config/load-config.ts'
import { toSyncConnection } from '../../src/daemon/sync-connection.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { type Certificates, makeCertificates, rowsOf } from '../helpers/sources/hr-server.ts'
import { noon, openSystem } from './opened-system.ts'
import { systemConnections } from './systems.ts'

const opened = new AsyncDisposableStack()
let certificates: Certificates

beforeAll(async () => {
  const { path } = opened.use(await temporaryFolder())
  certificates = await makeCertificates(path)
})

afterAll(() => opened.disposeAsync())

/** The value with a reference in the place of each secret. `settings`: the paths of the secrets, and the names of their variables. */
function withReferences(value: unknown, variables: ReadonlyMap<string, string>, path = ''): unknown {
  const variable = variables.get(path)
  if (variable !== undefined) return `\${env:${variable}}`
  const below = (name: string) => (path === '' ? name : `${path}.${name}`)
  if (Array.isArray(value)) return value.map((member, index) => withReferences(member, variables, below(String(index))))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, withReferences(member, variables, below(name))])
  return Object.fromEntries(members)
}

test.each(systemConnections)('$name reads its system by a configuration with references', async (one) => {
  const { name, recipe, parameters, own } = one
  await using folder = await temporaryFolder()
  await using system = await openSystem(name, { people: 7, certificates, pageSize: 3 })
  const secrets = Object.entries(system.secrets)
  const variables = new Map(secrets.map(([path], index) => [path, `SECRET_${index}`]))
  const env = Object.fromEntries(secrets.map(([, secret], index) => [`SECRET_${index}`, secret]))
  const removed = Object.entries(own?.({ server: system.server, certificates }) ?? {}).filter(
    ([, value]) => value === null,
  )
  const settings = withReferences({ ...Object.fromEntries(removed), ...system.settings }, variables)
  const source = { preset: recipe, parameters, ...(settings as object) }
  const connections = { hr: { target: { name: 'HR' }, source } }
  const platform = { baseUrl: 'http://127.0.0.1:9/public/v2', apiKey: '${env:SECRET_0}' }
  const text = JSON.stringify({ platform, dataDir: folder.path, connections })

  const config = await configOfText({ file: join(folder.path, 'rollcall.yaml'), text, changedMs: 0 }, env)
  const [connection] = config.connections.values()
  if (!connection) throw new Error('there is no connection')
  const { feeds } = toSyncConnection(config, connection)
  const options = { now: () => noon, signal: new AbortController().signal, findDecided: async () => new Set<string>() }
  const reading = await feeds.source?.connector.open(options)

  expect(reading && (await rowsOf(reading))).toHaveLength(7)
})
