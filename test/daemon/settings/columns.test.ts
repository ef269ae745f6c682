import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ConnectionColumns } from '../../../src/contract/control/settings-changes.ts'
import { readPresets } from '../../../src/daemon/config/presets.ts'
import { chosenSections } from '../../../src/daemon/settings/columns.ts'
import { Mapping, mergePreset } from '../../../src/identity/mapping/mapping.ts'
import { openConfiguredDaemon } from '../../helpers/configured.ts'
import { tokenIn } from '../../helpers/first-visit.ts'

const path = '/connections/hr/settings/columns'
const header = 'Worker ID,Work mail,Start Date,State,Role'
const rows = ['E1,a@acme.example,2024-01-15,Active,Cook', 'E2,b@acme.example,2024-01-15,gone,', '']

let daemon: Awaited<ReturnType<typeof openConfiguredDaemon>>
beforeAll(async () => {
  daemon = await openConfiguredDaemon({ files: { 'renamed.csv': [header, ...rows].join('\n') } })
})
beforeEach(async () => await writeFile(daemon.file, daemon.text))
afterAll(async () => await daemon[Symbol.asyncDispose]())

async function readColumns() {
  return ConnectionColumns.parse(await (await daemon.api(path)).json())
}

async function choose(choices: object) {
  const { digest } = await readColumns()
  return await daemon.post(path, { digest, ...choices })
}

test('columns are shown with the values of the status and their meanings', async () => {
  await writeFile(
    daemon.file,
    daemon.text.replace('leftWhen: [Terminated], employedWhen: [Active]', 'leftWhen: [active]'),
  )
  const read = await readColumns()

  expect(read.columns).toEqual(['Employee ID', 'Email', 'First Name', 'Last Name', 'Start Date', 'Status'])
  expect(read.fields).toContainEqual({ field: 'email', column: 'Email', written: null })
  expect(read.fields).toContainEqual({ field: 'firstName', column: null, written: null })
  expect(read).toMatchObject({ statuses: [{ value: 'Active', rows: 40, means: 'left' }], rows: 40 })
})

test('after HR renamed columns, the ones that are missing are named, and others can be chosen', async () => {
  const moved = daemon.text.replace('path: people.csv', 'path: renamed.csv')
  await writeFile(daemon.file, moved)
  const read = await readColumns()
  const page = await (await daemon.visitor()).get(path)
  const { body } = await choose({
    fields: { identityId: 'Worker ID', email: 'Work mail', jobTitle: 'Role', status: 'State' },
    statuses: { gone: 'left' },
  })

  expect(read.fields).toContainEqual({ field: 'identityId', column: null, written: 'Employee ID' })
  expect(read.fields).toContainEqual({ field: 'status', column: null, written: 'Status' })
  expect(page.text).toContain('so its words are not listed')
  expect(body.sections).toEqual({
    mapping: `fields:
  identityId: { column: Worker ID }
  email: { column: Work mail }
  startedAt: { column: Start Date }
  jobTitle: Role`,
    leaving: 'status: { column: State, leftWhen: [ Terminated, gone ], employedWhen: [ Active ] }',
  })
})

test('a status of the preset is written out, because a status of the configuration replaces it', async () => {
  const preset = daemon.text.replace(/ {6}fields:[\s\S]*? {6}timeZone/, '      preset: generic\n      timeZone')
  await writeFile(daemon.file, preset)
  const { body } = await choose({ fields: { firstName: null }, statuses: { Active: 'open', Sabbatical: 'employed' } })
  const { mapping, leaving } = body.sections as { mapping: string; leaving: string }

  expect(mapping).toBe('preset: generic\nfields:\n  firstName: null')
  expect(leaving).toMatch(/^status:\n {2}column: \[ .*Status \]\n/)
  expect(leaving).toMatch(/employedWhen: \[[^\]]*Sabbatical/)
  expect(leaving).not.toMatch(/employedWhen: \[[^\]]*\bActive\b/)
})

test('a field of a preset keeps everything that the preset says about it, whatever column is chosen', async () => {
  const presets = await readPresets()
  for (const [name, { mapping }] of presets) {
    const before = Mapping.safeParse(mergePreset(mapping, {}))
    if (!before.success) continue
    for (const field of Object.keys(before.data.fields)) {
      const sections = [{ section: 'mapping' as const, text: `preset: ${name}` }]
      const choices = { fields: { [field]: 'Another' }, statuses: {} }
      const chosen = chosenSections({ sections, mapping: before.data, classified: [] }, choices)
      const after = Mapping.parse(mergePreset(mapping, parse(chosen.mapping ?? '')))

      expect(ruleOf(after, field), `${name}: ${field}`).toEqual({ ...ruleOf(before.data, field), column: 'Another' })
    }
  }
})

/** The rule of a field without the source of its text, and without what only a preset says: that the column may be missing. */
function ruleOf({ fields }: Mapping, field: string): object {
  const rule: object = fields[field as keyof typeof fields] ?? {}
  const left = ['firstOf', 'template', 'expression', 'optional']
  return Object.fromEntries(Object.entries(rule).filter(([name, value]) => value !== undefined && !left.includes(name)))
}

test('a word that was classified cannot be made unknown, because its classification would apply', async () => {
  const { digest } = await readColumns()
  const classified = await daemon.post('/connections/hr/values', { value: 'Gone', as: 'left' })
  const refused = await daemon.post(path, { digest, statuses: { gone: 'open' } })

  expect(classified.status).toBeLessThan(300)
  expect(refused).toMatchObject({ status: 409 })
  expect(JSON.stringify(refused.body)).toContain('was classified as left')
})

test.each([
  ['an alias', 'fields: { identityId: *key, email: { column: Email } }'],
  ['a reference', "fields: { identityId: { column: Employee ID }, email: { column: '${env:COLUMN}' } }"],
])('settings with %s are changed in YAML', (_what, text) => {
  const mapping = Mapping.parse({ fields: { identityId: 'Employee ID', email: 'Email' } })
  const changed = { sections: [{ section: 'mapping' as const, text }], mapping, classified: [] }

  expect(() => chosenSections(changed, { fields: { email: 'Mail' }, statuses: {} })).toThrow(
    'change the columns in YAML',
  )
})

test('choices are refused if the file was changed by somebody else, and no setting of them is stored', async () => {
  const { digest } = await readColumns()
  await writeFile(daemon.file, `${daemon.text}# by hand\n`)
  const refused = await daemon.post(path, { digest, fields: { email: 'Last Name' } })

  expect(refused).toMatchObject({ status: 409 })
  expect(JSON.stringify(refused.body)).toContain('changed by somebody else')
  expect(await daemon.config()).toBe(`${daemon.text}# by hand\n`)
})

test('only an admin reads the columns, and a source that cannot be read says why', async () => {
  const operator = await daemon.api(path, {}, await daemon.newToken('olga', 'operator'))
  await writeFile(daemon.file, daemon.text.replace('path: people.csv', 'path: nowhere.csv'))
  const missing = await daemon.api(path)

  expect(operator.status).toBe(403)
  expect(await missing.text()).toContain('nowhere.csv')
  expect(missing.status).toBeGreaterThanOrEqual(400)
})

test('in the console, chosen columns are previewed as YAML and saved', async () => {
  const visitor = await daemon.visitor()
  const form = await visitor.get(path)
  const { digest } = await readColumns()
  const fields = { token: tokenIn(form.text), digest, 'field-jobTitle': '=Last Name' }
  const preview = await visitor.post(`${path}/preview`, fields)
  const nothing = await visitor.post(`${path}/preview`, { token: tokenIn(form.text), digest })

  expect(form.text).toContain('<option value="=Last Name">Last Name</option>')
  expect(form.text).toContain('What Active means')
  expect(preview.text).toContain('+   jobTitle: Last Name')
  expect(preview.text).toContain('Save and reload')
  expect(nothing.text).toContain('Nothing was chosen yet.')
  expect(await daemon.config()).toBe(daemon.text)
})
