import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type Entry, fromBuffer, type ZipFile } from 'yauzl'
import { secretsIn } from '../../../src/cli/commands/doctor.ts'
import { shownConfiguration } from '../../../src/cli/doctor/configuration.ts'
import { createScrub } from '../../../src/cli/doctor/scrub.ts'
import { Secret } from '../../../src/daemon/config/secret.ts'
import { call } from '../../helpers/called.ts'
import { install } from '../../helpers/installation.ts'
import { staff } from '../../helpers/world.ts'

/** The parts of a zip file by name. */
async function unzipped(file: string): Promise<Map<string, string>> {
  const zip = await promisify<Buffer, { lazyEntries: true }, ZipFile>(fromBuffer)(await readFile(file), {
    lazyEntries: true,
  })
  const open = promisify<Entry, NodeJS.ReadableStream>(zip.openReadStream.bind(zip))
  const parts = new Map<string, string>()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  zip.on('entry', async (entry: Entry) => {
    parts.set(entry.fileName, await text(await open(entry)))
    zip.readEntry()
  })
  zip.on('end', resolve).on('error', reject)
  zip.readEntry()
  await promise
  return parts
}

test('the file of the doctor has what a helper needs, without personal values and secrets', async () => {
  await using at = await install({ baseUrl: 'http://127.0.0.1:9/public/v2', key: 'zz-secret-key' }, { hasStore: true })
  const person = (number: number) => ({
    id: `ZZKEY${number}`,
    email: `zzmail${number}@acme.example`,
    first: 'ZZNAME "the ZZNICK" ZZ',
    title: 'ZZTITLE',
    start: 'ZZDATE',
    status: 'ZZSTATUS',
  })
  await at.writeExport([...staff(30), ...[1, 2, 3].map(person), person(1), { id: 'zz"key" ZZ', start: 'zz"date" ZZ' }])
  await rename(join(at.folder, 'exports', 'people.csv'), join(at.folder, 'exports', 'zzpeople.csv'))
  const env = { ...process.env, ROLLCALL_SEEN_NAME: 'zzvalue' }
  const run = (...args: string[]) => call([...args, '--config', at.configFile], { env })
  await run('sync', '--wait', '1', '--by', 'ZZOPERATOR')
  await run('hold-back', 'ZZKEY2', '--until', '2099-01-01', '--reason', 'ZZREASON', '--by', 'zz', '--wait', '1')
  await run('accept-status', 'ZZSTATUS', '--as', 'employed')
  await run('retract', 'E0001', '--reason', 'ZZREASON', '--by', 'zz')
  const file = join(at.folder, 'doctor.zip')

  const done = await run('doctor', file)
  const again = await run('doctor', file)

  expect({ exit: done.exit, stderr: done.stderr }).toEqual({ exit: 0, stderr: '' })
  expect(again).toMatchObject({ exit: 2, stderr: expect.stringContaining('name a file that is not there yet') })
  const parts = await unzipped(file)
  const all = [...parts].flat().join('\n')
  expect(all.match(/.*zz.*/gi) ?? []).toEqual([])
  expect(all).not.toContain(at.folder)
  expect(all).not.toMatch(/[^\s]+@acme|E00\d\d|Person \d/)
  expect(parts.get('configuration.yaml')).toContain('separatedAt: Leaving Date')
  expect(parts.get('configuration.yaml')).toContain('apiKey: (from a file)')
  expect(JSON.parse(parts.get('environment.json') ?? '')).toContain('ROLLCALL_SEEN_NAME')
  expect(JSON.parse(parts.get('runs.json') ?? '')).toMatchObject([{ connection: 'acme' }, {}])
  expect(JSON.parse(parts.get('blocked-people.json') ?? '').length).toBeGreaterThan(0)
  expect(JSON.parse(parts.get('store.json') ?? '')).toMatchObject({
    database: expect.stringContaining('PostgreSQL'),
    migrations: expect.arrayContaining([{ name: '0001-initial', appliedAt: expect.any(String) }]),
  })
  expect(JSON.parse(parts.get('check.json') ?? '')).toContainEqual(
    expect.objectContaining({ name: 'source of acme', code: null }),
  )
})

test('the names of settings and columns of a configuration are shown, and of other texts only the length', () => {
  const scrub = createScrub(['hidden-in-a-column'])
  const shown = shownConfiguration(
    `platform: { baseUrl: 'https://u:p@x.example/v2', apiKey: '\${env:KEY}' }
alerts: { channels: { mail: { type: smtp, to: [ana@acme.example], url: 'smtp://\${file:x}' } } }
connections:
  hr:
    pinned: [E0001, E0002]
    source: { type: csv, path: '/home/ana/*.csv', fields: { email: 'E-Mail hidden-in-a-column' }, status: { values: { Ana Silva: left } } }
`,
    scrub,
  )

  expect(shown).toBe(`platform:
  baseUrl: (text, 24 characters)
  apiKey: "(from the environment: KEY)"
alerts:
  channels:
    mail:
      type: smtp
      to:
        - (text, 16 characters)
      url: (text, 16 characters)
connections:
  hr:
    pinned:
      - (text, 5 characters)
      - (text, 5 characters)
    source:
      type: csv
      path: (text, 15 characters)
      fields:
        email: E-Mail (secret)
      status:
        values:
          (name, 9 characters): (text, 4 characters)
`)
})

test('the same person has one name in a file, and another one in the next', () => {
  const [one, other] = [createScrub([]), createScrub([])]

  expect(one.person('E0001')).toBe(one.person('E0001'))
  expect(one.person('E0001')).not.toBe(other.person('E0001'))
  expect(one.text('line 3: "a "b" c" of https://u:p@x.example/v2?key=1 is no date, ask ana@acme.example')).toBe(
    'line 3: "…" of https://x.example/v2 is no date, ask (e-mail)',
  )
})

test('every secret of a configuration is known, at any depth', () => {
  const [client, header, key] = ['client', 'header', 'key'].map((value) => new Secret([{ text: value }]))
  const config = {
    server: { oidc: { clientSecret: client } },
    traces: { headers: new Map([['authorization', header]]) },
    connections: new Map([['acme', { webhook: { secrets: [key, key] } }]]),
  }

  expect(secretsIn(config)).toEqual([client, header, key])
})
