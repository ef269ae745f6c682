import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { type Pair, startPair } from '../helpers/servers/clusters.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { makeCertificates } from '../helpers/sources/hr-server.ts'

const opened = new AsyncDisposableStack()
let folder: string
let pair: Pair

beforeAll(async () => {
  folder = opened.use(await temporaryFolder()).path
  const { server } = await makeCertificates(folder)
  pair = opened.use(
    await startPair({
      settings: { ssl: 'on' },
      files: { 'server.crt': String(server.cert), 'server.key': String(server.key) },
    }),
  )
})

afterAll(() => opened.disposeAsync())

function open(at: string) {
  return openDatabase<object>({ at, schemas: ['rollcall'], migrations: [] })
}

function addressWith(parameters: Readonly<Record<string, string>>, host = '127.0.0.1'): string {
  const url = new URL(pair.primary.url)
  url.hostname = host
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

describe('TLS', () => {
  async function isEncrypted(at: string): Promise<boolean> {
    await using database = await open(at)
    const { rows } = await database.pool.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
    return rows[0].ssl
  }

  test.each([
    ['verify-full', '127.0.0.1', true],
    ['require', '127.0.0.1', true],
    ['verify-ca', 'localhost', true],
    ['disable', '127.0.0.1', false],
  ])('with sslmode=%s and its authority reaches the server at %s', async (sslmode, host, expected) => {
    const at = addressWith({ sslmode, sslrootcert: join(folder, 'ca.pem') }, host)

    expect(await isEncrypted(at)).toBe(expected)
  })

  test('without a check is possible only with no-verify', async () => {
    expect(await isEncrypted(addressWith({ sslmode: 'no-verify' }, 'localhost'))).toBe(true)
  })

  test.each([
    [
      'an authority that this machine does not trust',
      { sslmode: 'require' },
      '127.0.0.1',
      /comes from an authority that is not known here.*sslrootcert/,
    ],
    [
      'another name',
      { sslmode: 'verify-full', sslrootcert: 'ca.pem' },
      'localhost',
      /its certificate is for another name/,
    ],
  ])('is refused for %s', async (_, { sslrootcert, ...mode }: Readonly<Record<string, string>>, host, message) => {
    const at = addressWith({ ...mode, ...(sslrootcert && { sslrootcert: join(folder, sslrootcert) }) }, host)

    await expect(open(at)).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(message),
    })
  })
})

test('a replica is refused, and says what to name instead', async () => {
  const { host } = new URL(pair.replica.url)

  await expect(open(pair.replica.url)).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringContaining(`${host} is a replica, which takes no writes; name the primary`),
  })
})

test('of several hosts, the one that takes writes is used, at any position', async () => {
  const primaryLast = pair.at.replace(/@(.+),(.+)\/postgres/, '@$2,$1/postgres')

  await using database = await open(primaryLast)

  const { rows } = await database.pool.query('SELECT inet_server_port()::text AS port')
  expect(rows).toEqual([{ port: new URL(pair.primary.url).port }])
})

test('several hosts of which none can be used are refused with the reason of each', async () => {
  const { host } = new URL(pair.replica.url)

  await expect(open(pair.at.replace(/@[^,]+/, '@127.0.0.1:1'))).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringMatching(new RegExp(`ECONNREFUSED 127\\.0\\.0\\.1:1; ${host} is a replica`)),
  })
})

// The last one: afterwards there is no pair any more.
test('a pool continues at the promoted replica with all committed data', async () => {
  await using database = await open(pair.at)
  await database.pool.query('CREATE TABLE people AS SELECT generate_series(1, 1000) AS id')
  await pair.caughtUp()

  await pair.primary.kill()
  await pair.promote()

  const people = () => database.pool.query('SELECT count(*)::int AS people FROM people').then(({ rows }) => rows)
  await expect.poll(() => people().catch(() => [])).toEqual([{ people: 1000 }])
})
