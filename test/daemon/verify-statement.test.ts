import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ZipFile } from 'yazl'
import { accountedDetails, platformParts, type Statement, statedParts } from '../../src/contract/control/statements.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { auditPack } from '../../src/daemon/reports/audit-pack.ts'
import { verifyStatement } from '../../src/daemon/verify-statement.ts'
import { auditKey, newKeyPem } from '../../src/store/audit/key.ts'
import { type ExportFolder, exportFolder } from '../helpers/sources/exports.ts'

let folder: ExportFolder
beforeAll(async () => {
  folder = await exportFolder()
})
afterAll(() => folder[Symbol.asyncDispose]())

const installation = 'd3b07384-d9a0-4c3b-9d2e-0a6f3c1c5c11'
const key = auditKey(newKeyPem(), 'the key of the test')
/** In Auckland it is the day after. */
const asOf = '2026-11-19T12:30:00.000Z'
const madeAt = '2026-11-19T12:45:00.000Z'

const configuration = (source = '') => `platform: { apiKey: "\${env:KEY}" }
connections:
  acme:
    target: { name: Acme HRIS }
    source:
      type: csv
      path: exports/*.csv
      mode: snapshot
      timeZone: Pacific/Auckland
      fields: { identityId: ID, startedAt: Start, separatedAt: Leaving }
      status: { column: Status, leftWhen: [Inactive], employedWhen: [Active] }
${source}`

/** A row of HR and where the statement has the person. */
type Person = {
  readonly key: string
  readonly cells?: string
  readonly part: string
  readonly detail?: string
  readonly isForgotten?: boolean
}

const header = 'ID,Start,Leaving,Status'
const exportOf = (people: readonly Person[]) =>
  `${[header, ...people.map(({ key: id, cells = ',,Active' }) => `"${id.replaceAll('"', '""')}",${cells}`)].join('\n')}\n`

const digestOf = (id: string) => hash('sha256', `${installation}\nacme\n${id}`)
const zeros = <T extends object>(parts: T) =>
  Object.fromEntries(Object.keys(parts).map((name) => [name, 0])) as Record<keyof T, number>

type Made = { readonly people: readonly Person[]; readonly file: string }

function statementOf({ people, file }: Made): Statement {
  const lines = people.map(({ key: id }) => `${digestOf(id)}\n`).sort()
  return {
    ...{ connection: 'acme', runId: 'run', madeAt, rules: null, addsUp: true, differences: [], unaccounted: [] },
    export: {
      ...{ runId: 'run', name: 'people.csv', version: '1', bytes: file.length, asOf, end: null, installation },
      ...{ sha256: hash('sha256', file), keys: hash('sha256', lines.join('')) },
    },
    rows: {
      ...{ delivered: people.length, announced: null, keyless: 0 },
      parts: {
        ...zeros({ later: 0, rejected: 0, outOfScope: 0, notAPerson: 0, ignored: 0, further: 0 }),
        used: people.length,
      },
    },
    stated: { exported: people.length, further: 0, parts: { ...zeros(statedParts), employed: people.length } },
    platform: { records: people.length, parts: { ...zeros(platformParts), stated: people.length } },
  }
}

/** Writes the pack of a statement about these people. `change` changes a file of it after it was signed. */
async function writePack(made: Made, change: (name: string, content: string) => string = (_, content) => content) {
  const end = statementOf(made)
  const exported = made.people.map(({ key: id, isForgotten }) => ({
    digest: digestOf(id),
    key: isForgotten ? null : id,
  }))
  const accounted = made.people.map(({ key: id, part, detail = null, isForgotten }) => ({
    ...{ identityId: isForgotten ? `forgotten:${digestOf(id)}` : id, stated: true, part, detail },
    ...{ onPlatform: null, sinceRunId: null },
  }))
  const keys = {
    startKeys: [],
    endKeys: [],
    movements: [],
    removed: [],
    exported: exported.toSorted((a, b) => (a.digest < b.digest ? -1 : 1)),
  }
  const files = await auditPack(
    { from: '2026-01-01', to: '2026-12-31', madeAt, version: '1', connections: [], leavers: [] },
    { audit: [], key, populations: [{ connection: 'acme', start: null, end, accounted, ...keys }] },
  )
  const zip = new ZipFile()
  for (const { name, content, encoding } of files) zip.addBuffer(Buffer.from(change(name, content), encoding), name)
  zip.end()
  const path = join(folder.path, 'pack.zip')
  await writeFile(path, await buffer(zip.outputStream))
  return path
}

async function verify(
  people: readonly Person[],
  {
    reread = exportOf(people),
    source,
    change,
  }: { reread?: string; source?: string; change?: (name: string, content: string) => string } = {},
) {
  const packPath = await writePack({ people, file: exportOf(people) }, change)
  const exportPath = await folder.write('people.csv', reread)
  const config = await loadConfig(await folder.write('rollcall.yaml', configuration(source)), { KEY: 'k' })
  return await verifyStatement(config, {
    exportPath,
    packPath,
    connection: undefined,
    signal: new AbortController().signal,
  })
}

test.each<[about: string, person: Omit<Person, 'key'>]>([
  ['is employed', { part: 'employed' }],
  ['has left', { part: 'left', cells: '2020-01-01,2026-01-31,Inactive' }],
  ['leaves today, in the time zone of the export', { part: 'left', cells: '2020-01-01,2026-11-20,' }],
  ['leaves on a later day', { part: 'deferred', cells: '2020-01-01,2026-11-21,' }],
  ['left by an event since', { part: 'left', detail: accountedDetails.newer }],
  ['was hired again', { part: 'employed', cells: ',2020-01-31,', detail: accountedDetails.hiredAgain }],
  ['waits in a held plan', { part: 'held', cells: '2020-01-01,2026-01-31,Inactive' }],
  ['was forgotten', { part: 'left', cells: '2020-01-01,2026-01-31,Inactive', isForgotten: true }],
])('somebody who %s is found as the statement has them', async (_, person) => {
  const odd = { part: 'employed' } as const

  const comparison = await verify([
    { key: '7', ...person },
    { key: '-1,"x"', ...odd },
    { key: '=2', ...odd },
  ])

  expect(comparison).toMatchObject({ matches: true, faults: [], differing: [], onlyInExport: [], onlyInStatement: [] })
})

test.each<[about: string, person: Omit<Person, 'key'>]>([
  ['left, and the statement has them as employed', { part: 'employed', cells: '2020-01-01,2026-01-31,Inactive' }],
  ['left today, and the statement defers it', { part: 'deferred', cells: '2020-01-01,2026-11-20,' }],
  ['are employed, and the statement has them as left', { part: 'left' }],
  ['leave later, and the statement has them as left', { part: 'left', cells: '2020-01-01,2026-11-21,Active' }],
])('people who %s are found, whatever their keys', async (_, person) => {
  const keys = ['7', '-1,"x"', '=2', 'forgotten']

  const { matches, differing } = await verify(
    keys.map((id) => ({ key: id, ...person, isForgotten: id === 'forgotten' })),
  )

  expect({ matches, differing }).toEqual({ matches: false, differing: keys.toSorted() })
})

const three = ['1', '2', '3'].map((id): Person => ({ key: id, part: 'employed' }))

test('one changed byte of the export is found', async () => {
  const changed = await verify(three, { reread: exportOf(three).replace('Active\n', 'active\n') })

  expect(changed).toMatchObject({ matches: false, differing: [], onlyInExport: [], onlyInStatement: [] })
  expect(changed.file.inStatement).not.toBe(changed.file.inExport)
})

test('a row more or less is found by its key', async () => {
  const more = await verify(three, { reread: exportOf([...three, { key: '4', part: 'employed' }]) })
  const less = await verify(three, { reread: exportOf(three.slice(1)) })
  const twice = await verify(three, { reread: exportOf([...three, ...three.slice(2)]) })

  expect([more.matches, more.onlyInExport]).toEqual([false, ['4']])
  expect([less.matches, less.onlyInStatement]).toEqual([false, ['1']])
  expect([twice.matches, twice.rows]).toEqual([false, { inStatement: 3, inExport: 4 }])
})

test.each([['report.csv'], ['population/acme/accounted-end.csv'], ['population/acme/export-end.txt'], ['MANIFEST']])(
  'one changed byte in %s of the pack is found',
  async (file) => {
    const { matches, faults } = await verify(three, {
      change: (name, content) => (name === file ? `${content}x` : content),
    })

    expect({ matches, faults }).toEqual({ matches: false, faults: [`${file} is not as it was signed`] })
  },
)

test.each([['population/acme/accounted-end.csv'], ['population/acme/statement-end.json']])(
  'a quote or brace less in %s of the pack is found, wherever it is',
  async (file) => {
    const [person] = three
    const people = person ? [person] : []
    const fault = `${file} is not as it was signed`
    const contents: string[] = []
    await verify(people, {
      change: (name, content) => {
        if (name === file) contents.push(content)
        return content
      },
    })
    const [original = ''] = contents
    const places = [...original.matchAll(/["{}]/g)]
      .map(({ index }) => index)
      .filter((_, at, { length }) => at < 4 || at > length - 5)

    for (const at of places) {
      const damaged = `${original.slice(0, at)}${original.slice(at + 1)}`
      const finding = await verify(people, { change: (name, whole) => (name === file ? damaged : whole) }).then(
        ({ faults }) => faults.join('; '),
        (error: Error) => error.message,
      )
      expect(finding, `at ${at}`).toContain(fault)
    }
    expect(places.length).toBeGreaterThan(7)
  },
)

test('a list that is not one text file of everybody is refused in a sentence', async () => {
  const delta = configuration().replace('mode: snapshot', 'mode: delta')
  const config = await loadConfig(await folder.write('delta.yaml', delta), { KEY: 'k' })
  const packPath = await writePack({ people: three, file: exportOf(three) })
  const exportPath = await folder.write('people.csv', exportOf(three))
  const input = { exportPath, packPath, connection: undefined, signal: new AbortController().signal }

  await expect(verifyStatement(config, input)).rejects.toThrow('one export is not everybody; the pack has the digests')
})
