import { createHash } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../helpers/connected.ts'
import { measured } from '../helpers/peak-memory.ts'
import { gzipOfZeros, writeLong } from '../helpers/sources/hostile-files.ts'
import { type HrServer, json, startHrServer } from '../helpers/sources/hr-server.ts'
import { zipOf } from '../helpers/sources/zip.ts'
import { isFull } from '../helpers/tier.ts'
import { openWorkplace, type Workplace } from '../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

/** Far more than the memory that a source may cost. */
const manyZeros = (isFull ? 2 : 0.5) * 1024 ** 3
/** What no source may cost beyond what the same takes with small ones. Half of it is what V8 takes for rows that are let go at once. */
const sourceMebibytes = 200

const header = 'Worker ID,Work Email,First Name,Hire Date'
const rows = Array.from({ length: 20 }, (_, i) => `W${i + 1},w${i + 1}@acme.example,Ottoline,2020-01-06`)
/** Few such rows make a large file. */
const longRow = `W1,w1@acme.example,${'Ottoline'.repeat(1000)},2020-01-06`
const sound = [header, ...rows, ''].join('\n')

let host: Host
let hr: HrServer
let work: Workplace
let usualMebibytes: number
let tenant: Awaited<ReturnType<Host['tenant']>>

beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
  work = await openWorkplace({ baseUrl: host.platform.baseUrl, key: tenant.key }, { hasStore: true })
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  hr = await startHrServer((request, response) => {
    const bodies: Readonly<Record<string, string>> = {
      '/deep': `[{"Worker ID":"W1","x":${deep}}]`,
      '/cut': '[{"Worker ID":"W1","Work Email":"w1@acme.exa',
      '/twice': '[{"Worker ID":"W1","Worker ID":"W2"}]',
      '/hidden': '[{"__proto__":{"Worker ID":"W2"},"constructor":"x"}]',
    }
    json(bodies[request.url ?? ''] ?? '[]')(request, response)
  })
  await mkdir(join(work.folder, 'sound'))
  await writeFile(join(work.folder, 'sound', 'people.csv'), sound)
  const sources = { sound: sourceOf('sound', {}), empty: sourceOf('empty', { path: '/' }, hr.url) }
  const connections = Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, { source }]))
  await connect(work, { baseUrl: host.platform.baseUrl, connections })
  usualMebibytes = (await measured(['check', '--config', work.configFile])).peakMebibytes
})
afterAll(async () => {
  await hr[Symbol.asyncDispose]()
  await work[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

type Bad = {
  /** Writes what is wrong into a folder of its own, in which `people.csv` is looked for. */
  readonly write: (folder: string) => Promise<unknown>
  readonly settings?: object
  readonly message: RegExp
  /** `source_unreadable` by default. */
  readonly code?: string
}

const written = (content: string | Uint8Array) => (folder: string) => writeFile(join(folder, 'people.csv'), content)
const nothing = async () => {}

const bad: Readonly<Record<string, Bad>> = {
  'more-columns-than-any-report': {
    write: written(`${header},${Array.from({ length: 10_000 }, (_, i) => `C${i}`).join(',')}\n`),
    message: /people\.csv:1: the header has 10004 columns/,
  },
  'no-line-end-at-the-end': { write: written(sound.trimEnd()), message: /people\.csv: its last line has no line end/ },
  'a-quote-that-never-ends': {
    write: written(`${sound}W21,"Ottoline\n`),
    message: /people\.csv: a quote that opens after line 21/,
  },
  'the-mark-of-another-encoding': {
    write: written(Buffer.from(`\uFEFF${sound}`, 'utf16le')),
    message: /people\.csv begins with the byte order mark of utf-16le/,
  },
  'no-mark-of-its-encoding': {
    write: written(sound),
    settings: { encoding: 'utf-16' },
    message: /byte order mark|encoding/,
  },
  // A plan that lacks a column is held, and a check says what plan would.
  'two-headers-alike': {
    write: written(sound.replace('First Name', 'work_email')),
    message: /work_email|Work Email/,
    code: 'run_held',
  },
  'another-delimiter': { write: written(sound.replaceAll(',', ';')), message: /people\.csv:1: .*delimiter/ },
  'a-marker-that-is-missing': {
    write: written(sound),
    settings: { complete: { marker: '.done' } },
    message: /people\.csv.* has its marker \(\.done\)/,
  },
  'a-side-file-that-is-missing': {
    write: written(sound),
    settings: { complete: { quietSeconds: 0, sideFile: { suffix: '.sha256', holds: 'sha256' } } },
    message: /people\.csv has no side file \(\.sha256\)/,
  },
  'another-checksum': {
    write: async (folder) => {
      await written(sound)(folder)
      const sum = createHash('sha256').update(`${sound}W21,,,\n`).digest('hex')
      await writeFile(join(folder, 'people.csv.sha256'), `${sum}  people.csv\n`)
    },
    settings: { complete: { quietSeconds: 0, sideFile: { suffix: '.sha256', holds: 'sha256' } } },
    message: /people\.csv does not have the sha256 sum/,
  },
  'fewer-rows-than-the-side-file-says': {
    write: async (folder) => {
      await written(sound)(folder)
      await writeFile(join(folder, 'people.csv.rows'), '21\n')
    },
    settings: { complete: { quietSeconds: 0, sideFile: { suffix: '.rows', holds: 'rows' } } },
    message: /people\.csv has 20 rows, not counting a header, and its side file states 21/,
  },
  'fewer-rows-than-the-trailer-says': {
    write: written(`${sound}TRAILER,21,,\n`),
    settings: { trailer: { startsWith: 'TRAILER', rowsAt: 2 } },
    message: /people\.csv:22: the trailer counts 21 rows, the export has 20/,
  },
  'a-trailer-that-is-missing': {
    write: written(sound),
    settings: { trailer: { startsWith: 'TRAILER', rowsAt: 2 } },
    message: /people\.csv: its last row does not begin as trailer\.startsWith says/,
  },
  'a-symbolic-link': {
    write: (folder) => symlink('/etc/hostname', join(folder, 'people.csv')),
    message: /people\.csv is a symbolic link/,
  },
  'two-files-in-a-zip': {
    write: async (folder) => written(await zipOf({ 'a.csv': sound, 'b.csv': sound }))(folder),
    message: /people\.csv is a zip with 2 entries/,
  },
  'a-key-that-is-none': {
    write: written(sound),
    settings: { decrypt: { privateKey: '${file:key}' } },
    message: /decrypt\.privateKey is no OpenPGP private key/,
  },
  'a-zip-bomb': {
    write: async (folder) =>
      written(
        await zipOf({
          'people.csv': Buffer.concat([Buffer.from(`${header}\n`), Buffer.alloc(128 * 1024 ** 2, `${longRow}\n`)]),
        }),
      )(folder),
    message: /people\.csv unpacks to more than 200 times its size/,
  },
  'nothing-but-zeros': {
    write: (folder) => written(gzipOfZeros(manyZeros))(folder),
    message: /people\.csv is a damaged file that ends in NUL bytes/,
  },
  'a-cell-of-100-mebibytes': {
    write: (folder) =>
      writeLong(join(folder, 'people.csv'), {
        before: `${sound}W21,w21@acme.example,"`,
        character: 'x',
        count: 100,
        behind: '",2020-01-06\n',
      }),
    message: /people\.csv: the row after line 21 is longer than 1 MiB/,
  },
  'json-nested-without-end': { write: nothing, settings: { path: '/deep' }, message: /nested deeper than 64 levels/ },
  'json-that-was-cut-off': { write: nothing, settings: { path: '/cut' }, message: /is not valid JSON/ },
  'json-that-says-a-thing-twice': { write: nothing, settings: { path: '/twice' }, message: /the same member twice/ },
  'json-that-hides-in-its-prototype': {
    write: nothing,
    settings: { path: '/hidden' },
    message: /none of 1 row became a record/,
  },
}

describe('sources that cannot be understood', () => {
  test('are each refused in bounded memory, with a sentence that names the position and nobody', async () => {
    const connections: Record<string, object> = {}
    for (const [name, { write, settings = {} }] of Object.entries(bad)) {
      await mkdir(join(work.folder, name))
      await write(join(work.folder, name))
      connections[name] = { source: sourceOf(name, settings, hr.url) }
    }
    await connect(work, { baseUrl: host.platform.baseUrl, connections })

    const { exit, stdout, peakMebibytes: peak } = await measured(['check', '--config', work.configFile, '--json'])

    const { checks } = JSON.parse(stdout) as { checks: { name: string; message: string; code: string | null }[] }
    const failed = checks.filter(({ code }) => code !== null)
    const actual = Object.fromEntries(failed.map(({ name, message, code }) => [name, { message, code }]))
    const expected = Object.entries(bad).map(([name, { message, code = 'source_unreadable' }]) => [
      `source of ${name}`,
      { message: expect.stringMatching(message), code },
    ])
    expect(actual).toMatchObject(Object.fromEntries(expected))
    expect(exit).toBe(66)
    expect(stdout).not.toContain('Ottoline')
    expect(stdout).not.toContain('acme.example')
    expect(peak).toBeLessThan(usualMebibytes + sourceMebibytes)
  })

  test('stop nothing else: names with a meaning in JavaScript are ordinary names', async () => {
    const odd = '__proto__,constructor,Worker ID,toString,hasOwnProperty'
    await mkdir(join(work.folder, 'odd'))
    await writeFile(join(work.folder, 'odd', 'people.csv'), `${odd}\nOttoline,Lead,__proto__,valueOf,x\n`)
    await mkdir(join(work.folder, 'empty'))
    await writeFile(join(work.folder, 'empty', 'people.csv'), gzipOfZeros(manyZeros))
    const fields = { identityId: 'Worker ID', firstName: '__proto__', jobTitle: 'constructor' }
    const connections = {
      odd: { source: { ...sourceOf('odd', { fields }), preset: undefined } },
      empty: { source: sourceOf('empty', {}) },
    }
    await connect(work, { baseUrl: host.platform.baseUrl, connections })

    const refused = await measured(['sync', '--config', work.configFile, '--connection', 'empty'])
    const { exit } = await work.run('sync', '--connection', 'odd')

    const people = await peopleOn(tenant.client)
    expect([refused.exit, exit]).toEqual([66, 0])
    expect(refused.peakMebibytes).toBeLessThan(usualMebibytes + sourceMebibytes)
    expect([...people.keys()]).toEqual(['__proto__'])
    expect(people.get('__proto__')).toMatchObject({ firstName: 'Ottoline', jobTitle: 'Lead' })
  })
})

function sourceOf(name: string, settings: object, url = ''): object {
  const common = { mode: 'snapshot', preset: 'generic' }
  if ('path' in settings)
    return { type: 'http', url: `${url}${settings.path}`, format: 'json', allowPrivate: true, ...common }
  return { type: 'csv', path: `${name}/people.csv`, complete: { quietSeconds: 0 }, ...common, ...settings }
}
