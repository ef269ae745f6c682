import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { previewSource } from '../../../src/daemon/proposal/preview-source.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

const text = '{"data":[{"id":"W1","name":{"first":"Ana"}},{"id":"W2","left":null}],"count":2}'

async function workFolder(files: Readonly<Record<string, string | Uint8Array>>) {
  const { path, ...rest } = await temporaryFolder()
  await mkdir(join(path, 'exports'))
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
  const look = (location: string, settings = new Map<string, string>()) =>
    previewSource(
      { location, settings },
      { workingDirectory: path, configFolder: path, signal: new AbortController().signal },
    )
  return { path, look, ...rest }
}

test('a JSON file is previewed as its records, and a folder of JSON files becomes their pattern', async () => {
  await using at = await workFolder({ 'exports/people.json': text, 'exports/notes.txt': '', 'people.json': text })

  const folder = await at.look('exports')
  const file = await at.look('people.json')

  expect(folder).toMatchObject({
    source: { type: 'folder', path: 'exports/*.json', format: 'json', records: '/data' },
    laterExports: null,
    list: {
      ...{ name: 'people.json', isWhole: true, headers: ['id', 'name.first', 'left'] },
      rows: [
        ['W1', 'Ana', ''],
        ['W2', '', ''],
      ],
      notes: [
        'Rollcall cannot tell whether the list includes people who have left. Check that it contains one of them.',
      ],
    },
  })
  expect(file.laterExports).toMatchObject({ path: 'people.json', isAlone: true })
})

test.for([
  ['that states more', '{"data":[{"id":1}],"total":9}', /^A run refuses the file: \/total counts 9 records, and 1 was/],
] as const)('a list %s is previewed with a note', async ([, content, note]) => {
  await using at = await workFolder({ 'people.json': content })

  const preview = await at.look('people.json')

  expect('list' in preview && preview.list.notes[0]).toMatch(note)
})

test('what is said to be about something else is ignored, and written into the source', async () => {
  const departments = { departments: { total: 60, items: [] }, offices: { total: 7 } }
  await using at = await workFolder({ 'people.json': JSON.stringify({ people: [{ id: 1 }], ...departments }) })

  const first = await at.look('people.json')
  const second = await at.look('people.json', new Map([['ignoredStatements', '/departments/total, /offices']]))

  expect('list' in first && first.list.notes[0]).toMatch(
    /^A run refuses the file: \/departments\/total counts 60 .* write ignoredStatements: \["\/departments\/total"\]\.$/,
  )
  expect('list' in second && second.list.notes).toHaveLength(1)
  expect(second.source).toMatchObject({ records: '/people', ignoredStatements: ['/departments/total', '/offices'] })
  await expect(at.look('people.json', new Map([['ignoredStatements', 'total']]))).rejects.toThrow(
    'expected a JSON pointer',
  )
})

test('records that cannot be read are counted in a note', async () => {
  const people = [{ id: 'W1' }, null, { id: 'W2' }, { 'a\0': 1 }]
  await using at = await workFolder({ 'people.json': JSON.stringify({ people }) })

  const preview = await at.look('people.json')

  expect(preview.source).toMatchObject({ records: '/people' })
  expect('list' in preview && preview.list).toMatchObject({
    rows: [['W1'], ['W2']],
    notes: ['2 records cannot be read: the record is no object.', expect.any(String)],
  })
})

test('of a file of more than 32 MiB the beginning is previewed', async () => {
  const people = Array.from({ length: 40 }, (_, id) => ({ id: `W${id}`, note: `[${'x'.repeat(900 * 1024)}\\"` }))
  await using at = await workFolder({ 'people.json': JSON.stringify({ total: 40, data: { people } }) })

  const preview = await at.look('people.json')

  expect(preview.source).toMatchObject({ records: '/data/people' })
  expect('list' in preview && [preview.list.isWhole, preview.list.notes.length]).toEqual([false, 1])
  expect('list' in preview && preview.list.rows.map(([id]) => id)).toEqual(people.slice(0, 36).map(({ id }) => id))
})

test('a path in a file that is a list itself is refused with what helps', async () => {
  await using at = await workFolder({ 'people.json': '[{"id":1}]' })

  await expect(at.look('people.json', new Map([['records', '/people']]))).rejects.toThrow(
    'people.json has no list of records at /people: it is a list itself, so give no path',
  )
})

test.for([
  [
    'one record',
    '{"id":1,"email":"ana@example.com"}',
    /is one record, and no list of them: give the list of all people$/,
  ],
  [
    'one record with a list',
    '{"email":"hr@example.com","employees":[{"id":1}]}',
    /give the list of all people, or the one in it with --set 'records=\/employees'$/,
  ],
  ['UTF-16', Buffer.from('\ufeff[{"id":1}]', 'utf16le'), /is not encoded in UTF-8: JSON is/],
  ['UTF-16 without a mark', Buffer.from('[{"id":1}]', 'utf16le').swap16(), /is not encoded in UTF-8: JSON is/],
  ['nothing', '[]', /its list is empty/],
  ['a cut file', text.slice(0, -5), /people\.json is not valid JSON/],
  ['JSON Lines', '{"id":1}\n{"id":2}\n', /has one record per line \(JSON Lines\): have it exported as one list/],
  [
    'a list whose name is a reference',
    '{"${env:A}":[{"id":1}]}',
    /holds \$\{: write the source into the configuration/,
  ],
  [
    'more than is previewed',
    `[{"id":"${'1'.repeat(33 * 1024 * 1024)}"}]`,
    /is JSON of more than 32 MiB: look at a smaller file/,
  ],
] as const)('%s is refused', async ([, content, message]) => {
  await using at = await workFolder({ 'people.json': content })

  const failure = await at.look('people.json').then(
    () => 'it is previewed',
    (error: unknown) => String(error),
  )

  expect(failure).toMatch(message)
})

test.for(['people', 'data/people', '/data~'])(
  'a path of a list that is no pointer, %s, is refused',
  async (records) => {
    await using at = await workFolder({ 'people.json': '[{"id":1}]' })

    await expect(at.look('people.json', new Map([['records', records]]))).rejects.toThrow(
      'is no path to a list: a path begins with /, such as /data/people',
    )
  },
)

test('of records with many paths, as many are previewed as two million cells hold', async () => {
  const history = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`at${index}`, index]))
  const people = Array.from({ length: 500 }, (_, id) => (id === 499 ? { id, history } : { id }))
  await using at = await workFolder({ 'people.json': JSON.stringify(people) })

  const preview = await at.look('people.json')

  expect('list' in preview && [preview.list.rows.length, preview.list.isWhole]).toEqual([399, false])
})
