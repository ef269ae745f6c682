import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { previewSource } from '../../../src/daemon/proposal/preview-source.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

const text = '{"data":[{"id":"W1","name":{"first":"Ana"}},{"id":"W2","left":null}],"count":2}'

async function workFolder(files: Readonly<Record<string, string>>) {
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
      notes: ['Nothing says whether the list includes people who have left. Look for one of them in it.'],
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

test.for([
  [
    'one record',
    '{"id":1,"email":"ana@example.com"}',
    /is one record, and no list of them: give the list of all people/,
  ],
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
