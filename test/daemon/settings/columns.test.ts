import { rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { Reading } from '../../../src/connectors/connector.ts'
import { ConnectionColumns } from '../../../src/contract/control/settings-changes.ts'
import { readPresets } from '../../../src/daemon/config/presets.ts'
import { chosenSections, sampleColumns } from '../../../src/daemon/settings/columns.ts'
import { Mapping, mergePreset } from '../../../src/identity/mapping/mapping.ts'
import { openConfiguredDaemon } from '../../helpers/configured.ts'
import { exportOf, tokenIn } from '../../helpers/first-visit.ts'

const path = '/connections/hr/settings/columns'
const header = 'Worker ID,Work mail,Start Date,State,Role'
const rows = ['E1,a@acme.example,2024-01-15,Active,Cook', 'E2,b@acme.example,2024-01-15,gone,', '']

const writtenAt = new Date('2026-01-02T03:04:05Z')

let daemon: Awaited<ReturnType<typeof openConfiguredDaemon>>
beforeAll(async () => {
  daemon = await openConfiguredDaemon({ files: { 'renamed.csv': [header, ...rows].join('\n') } })
})
beforeEach(async () => await writeFile(daemon.file, daemon.text))
afterAll(async () => await daemon[Symbol.asyncDispose]())

async function readColumns() {
  return ConnectionColumns.parse(await (await daemon.api(path)).json())
}

/** Writes an export that nobody changes any more. */
async function store(name: string, text: string): Promise<void> {
  const file = join(daemon.folder, name)
  await writeFile(file, text)
  await utimes(file, writtenAt, writtenAt)
}

/** What a page of columns sends along with the choices. */
function sentWith(page: string) {
  const [, shown = ''] = /name="shown" value="([^"]+)"/.exec(page) ?? []
  return { token: tokenIn(page), shown }
}

/** The name of the list with this label. */
function inputOf(page: string, label: string): string {
  return new RegExp(`name="([^"]+)" aria-label="${label}"`).exec(page)?.[1] ?? ''
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
  expect(read.fields).toContainEqual(
    expect.objectContaining({ field: 'email', column: 'Email', written: null, trouble: null }),
  )
  expect(read.fields).toContainEqual(
    expect.objectContaining({ field: 'firstName', column: null, written: null, trouble: null }),
  )
  expect(read).toMatchObject({ statuses: [{ value: 'Active', rows: 40, means: 'left' }], rows: 40 })
})

test('after HR renamed columns, the ones that are missing are named, and others can be chosen', async () => {
  const moved = daemon.text.replace('path: people.csv', 'path: renamed.csv')
  await writeFile(daemon.file, moved)
  const read = await readColumns()
  const visitor = await daemon.visitor()
  const page = await visitor.get(path)
  await writeFile(daemon.file, `${moved}# by hand\n`)
  const again = await visitor.post(`${path}/preview`, { ...sentWith(page.text), 'field-email': '=Work mail' })
  const { body } = await choose({
    fields: { identityId: 'Worker ID', email: 'Work mail', jobTitle: 'Role', status: 'State' },
    statuses: { gone: 'left' },
  })

  expect(read.fields).toContainEqual(
    expect.objectContaining({ field: 'identityId', column: null, written: 'Employee ID', trouble: 'missing' }),
  )
  expect(read.fields).toContainEqual(
    expect.objectContaining({ field: 'status', column: null, written: 'Status', trouble: 'missing' }),
  )
  expect(page.text).toContain('so its words are not listed')
  expect(page.text).toContain('missing: Employee ID</option>')
  expect(page.text.match(/The export has no such column, so runs are held/g)).toHaveLength(3)
  expect(again.text.match(/The export has no such column, so runs are held/g)).toHaveLength(2)
  expect(body.sections).toEqual({
    mapping: `fields:
  identityId: { column: Worker ID }
  email: { column: Work mail }
  startedAt: { column: Start Date }
  jobTitle: Role`,
    leaving: 'status: { column: State, leftWhen: [ Terminated, gone ], employedWhen: [ Active ] }',
  })
})

test('a column is chosen by its name without line ends and invisible characters', async () => {
  const odd = '\ufeff"Worker\nID",Job\u00adTitle\u200b,Last  Name,Status\nE1,Cook,Berg,Active\n'
  await store('odd.csv', odd)
  await writeFile(daemon.file, daemon.text.replace('path: people.csv', 'path: odd.csv'))
  const visitor = await daemon.visitor()
  const form = await visitor.get(path)
  const chosen = { 'field-identityId': '=Worker ID', 'field-jobTitle': '=JobTitle', 'field-lastName': '=Last Name' }
  const preview = await visitor.post(`${path}/preview`, { ...sentWith(form.text), ...chosen })
  await writeFile(daemon.file, (await daemon.config()).replace('column: Employee ID', 'column: Worker ID'))
  const read = await readColumns()

  for (const name of ['Worker ID', 'JobTitle', 'Last Name'])
    expect(form.text).toContain(`<option value="=${name}">${name}</option>`)
  expect(preview.text).toContain('+   jobTitle: JobTitle')
  expect(read.fields).toContainEqual(
    expect.objectContaining({ field: 'identityId', column: 'Worker\nID', written: null, trouble: null }),
  )
})

test('choices stay whatever becomes of the export, which is not read again to understand them', async () => {
  const visitor = await daemon.visitor()
  const form = await visitor.get(path)
  const chosen = { 'field-jobTitle': '=Last Name', [inputOf(form.text, 'What Active means')]: 'left' }
  const withoutWord = exportOf(40).replaceAll('Active', 'ACTIVE!')
  await store('people.csv', withoutWord)
  const preview = await visitor.post(`${path}/preview`, { ...sentWith(form.text), ...chosen })
  await rm(join(daemon.folder, 'people.csv'))
  const missing = await visitor.post(`${path}/preview`, { ...sentWith(form.text), ...chosen })
  await writeFile(daemon.file, `${daemon.text}# by hand\n`)
  const moved = await visitor.post(`${path}/preview`, { ...sentWith(form.text), ...chosen })
  await store('people.csv', exportOf(40))
  const again = await visitor.post(`${path}/preview`, { ...sentWith(moved.text), ...chosen })

  for (const { text } of [preview, missing, again]) {
    expect(text).toContain('leftWhen: [ Terminated, Active ]')
    expect(text).toContain('+   jobTitle: Last Name')
  }
  expect(moved.text).toContain('has changed since')
  expect(moved.text).toMatch(/value="=Last Name" selected/)
  expect(moved.text).toMatch(/value="left" selected/)
})

test('of many words, the unknown ones come first, and what is not listed is counted', async () => {
  const words = [...Array.from({ length: 250 }, (_, at) => `Word ${at}`), 'x'.repeat(201)]
  const known = Array.from({ length: 30 }, () => 'Active')
  const names = [
    'Employee ID',
    'Status',
    ...Array.from({ length: 400 }, (_, at) => `Column ${at}`),
    'y'.repeat(201),
    '',
  ]
  const lines = [...known, ...words].map((word, at) => `E${at},${word}${','.repeat(names.length - 2)}`)
  await store('wide.csv', [names.join(','), ...lines, ''].join('\n'))
  await writeFile(daemon.file, daemon.text.replace('path: people.csv', 'path: wide.csv'))
  const read = await readColumns()
  const page = await (await daemon.visitor()).get(path)

  expect(read).toMatchObject({ moreColumns: 103, moreStatuses: 52, rows: 281 })
  expect([read.columns.length, read.statuses.length]).toEqual([300, 200])
  expect(read.statuses.every(({ means }) => means === 'open')).toBe(true)
  expect(page.text).toContain('52 further words are not listed')
  expect(page.text).toContain('103 further columns of the export cannot be chosen here')
})

test('a column of a preset that the last accepted export had is missed, and others are not', async () => {
  const preset = daemon.text.replace(/ {6}fields:[\s\S]*? {6}timeZone/, '      preset: generic\n      timeZone')
  await writeFile(daemon.file, preset)
  await store('people.csv', exportOf(40).replace('Email', 'Contact').replace('Status', 'Situation'))
  const never = await readColumns()
  const database = new Client(daemon.database.at)
  await database.connect()
  await database.query(`
    insert into rollcall.connections (name, accepted_fields) values ('hr', '["identityId","email","status"]')
    on conflict (name) do update set accepted_fields = excluded.accepted_fields`)
  const read = await readColumns()
  const page = await (await daemon.visitor()).get(path)
  await store('people.csv', exportOf(40))
  await database.query('update rollcall.connections set accepted_fields = null')
  await database.end()
  const troubles = ({ fields }: ConnectionColumns) =>
    fields.flatMap(({ field, trouble }) => (trouble === 'lost' ? [field] : []))

  expect([troubles(never), troubles(read)]).toEqual([[], ['email', 'status']])
  expect(read.fields).toContainEqual(expect.objectContaining({ field: 'jobTitle', trouble: 'notNeeded' }))
  expect(page.text.match(/The last accepted export had it/g)).toHaveLength(2)
  expect(page.text).toMatch(/<option value="" selected>missing: [^<]*Email/)
})

const ofRecords = Mapping.parse({
  fields: { identityId: 'id', email: 'mail', jobTitle: { column: 'role', optional: true } },
  status: { column: 'state', leftWhen: ['gone'], employedWhen: ['here'] },
})

test.each([
  ['records that are whole', true, ['email'], ['missing', 'lost', 'notNeeded', 'notNeeded']],
  ['the first records that are whole', true, [], ['missing', 'missing', 'notNeeded', 'missing']],
  ['records of changes', false, ['email'], ['missing', 'notNeeded', 'notNeeded', 'notNeeded']],
])(
  '%s without their members are held as a run would hold them',
  async (_what, missingIsBlank, formerFields, troubles) => {
    const noRows = Readable.from([])
    const reading = { headers: ['other'], sparse: true, missingIsBlank, rows: noRows } as unknown as Reading
    const { signal } = new AbortController()
    const { fields } = await sampleColumns(reading, { mapping: ofRecords, formerFields, signal })
    const shown = ['identityId', 'email', 'jobTitle', 'status'].map(
      (name) => fields.find(({ field }) => field === name)?.trouble,
    )

    expect(shown).toEqual(troubles)
  },
)

test.each([
  ['two columns of one of its names', 'firstOf: [a, b], optional: true', ['a', 'a', 'b'], [], 'several'],
  ['no part of an optional template', 'template: "{a} {b}", optional: true', ['a'], [], 'notNeeded'],
  ['a lost part of an optional template', 'template: "{a} {b}", optional: true', ['a'], ['jobTitle'], 'lost'],
  ['one of several columns', 'firstOf: [a, b], optional: true', ['a'], ['jobTitle'], null],
])('a field says whether it is read as written: %s', async (_what, rule, headers, formerFields, trouble) => {
  const mapping = Mapping.parse(parse(`fields: { identityId: id, jobTitle: { ${rule} } }`))
  const reading = { headers: ['id', ...headers], rows: Readable.from([]) } as unknown as Reading
  const { signal } = new AbortController()
  const { fields } = await sampleColumns(reading, { mapping, formerFields, signal })

  expect(fields.find(({ field }) => field === 'jobTitle')?.trouble).toBe(trouble)
})

test('of records, a lost member of a field that is read from several is named, and one that orders their rows', async () => {
  const rules = 'fields: { identityId: id, jobTitle: { firstOf: [a, b] }, firstName: { firstOf: [c, b] } }'
  const mapping = Mapping.parse(parse(`${rules}\nseveralRows: { latest: { column: on, format: yyyy-MM-dd } }`))
  const noRows = Readable.from([])
  const reading = { headers: ['id', 'b'], sparse: true, missingIsBlank: true, rows: noRows } as unknown as Reading
  const formerFields = ['jobTitle', 'jobTitle: a', 'jobTitle: b', 'firstName', 'firstName: b', 'severalRows']
  const { signal } = new AbortController()
  const { fields, otherTroubles } = await sampleColumns(reading, { mapping, formerFields, signal })
  const about = (name: string) => fields.find(({ field }) => field === name)

  expect(about('jobTitle')).toMatchObject({ trouble: 'lost', lacking: ['a'] })
  expect(about('firstName')).toMatchObject({ trouble: null, written: 'c, b' })
  expect(otherTroubles).toEqual([expect.stringContaining('"on" (severalRows)')])
})

test('a column without a name is not read as the status', async () => {
  await store('unnamed.csv', 'Employee ID,State,\nE1,Active,secret\n')
  await writeFile(daemon.file, daemon.text.replace('path: people.csv', 'path: unnamed.csv'))

  expect(await readColumns()).toMatchObject({ statuses: [], rows: 0 })
})

test('without a column of status no value is counted', async () => {
  await writeFile(daemon.file, daemon.text.replace(/ {6}status: .*\n/, ''))

  expect(await readColumns()).toMatchObject({ statuses: [], rows: 0 })
})

test('of several columns the missing ones are named, with similar ones, and so are columns of no field', async () => {
  await store('rehired.csv', 'Employee ID,Hire dates,Rehire date,Frist name,Last name\nE1,2024-01-15,,Ana,Berg\n')
  const fields = `identityId: Employee ID
        startedAt: { firstOf: [Rehire date, Hire date] }
        firstName: '{First name} {Last name}'
        lastName: { firstOf: [Maiden name, Last name], optional: true }`
  const severalRows = 'severalRows: { latest: { column: Effective, format: yyyy-MM-dd } }'
  const written = daemon.text
    .replace('path: people.csv', 'path: rehired.csv')
    .replace(
      /fields:[\s\S]*? {6}timeZone/,
      `fields:\n        ${fields.replace("firstName: '", "firstName: { template: '").replace("}'", "}' }")}\n      ${severalRows}\n      timeZone`,
    )
  await writeFile(daemon.file, written)
  const read = await readColumns()
  const page = await (await daemon.visitor()).get(path)
  const about = (name: string) => read.fields.find(({ field }) => field === name)

  expect(about('startedAt')).toMatchObject({ trouble: 'missing', lacking: ['Hire date'], similar: 'Hire dates' })
  expect(about('firstName')).toMatchObject({ trouble: 'missing', lacking: ['First name'], similar: 'Frist name' })
  expect(about('lastName')).toMatchObject({ trouble: null, written: 'Maiden name, Last name' })
  expect(read.otherTroubles).toEqual(['column "Effective" (severalRows) is not in the header'])
  expect(page.text).toContain('Hire date: The export has no such column, so runs are held.')
  expect(page.text).toContain('Did you mean “Hire dates”?')
})

test('examples of cells are shown only where personal values are asked for', async () => {
  const { columns, examples } = await readColumns()
  const named = ConnectionColumns.parse(await (await daemon.api(`${path}?values=true`)).json())
  const page = await (await daemon.visitor()).get(path)

  expect(examples.flat()).toEqual([])
  expect(named.examples[columns.indexOf('Email')]).toEqual(['p0@example.com', 'p1@example.com'])
  expect(page.text).toContain('p0@example.com · p1@example.com')
})

test('the cells of another column are read only as personal values, which is recorded', async () => {
  const refused = await daemon.api(`${path}?wordsOf=Email`)
  const read = await daemon.api(`${path}?wordsOf=Email&values=true`)
  const entries = await (await daemon.api('/audit/entries?limit=50')).text()

  expect([refused.status, read.status]).toEqual([400, 200])
  expect(await refused.text()).toContain('values=true')
  expect(ConnectionColumns.parse(await read.json()).statuses).toHaveLength(40)
  expect(entries).toMatch(/values\.seen.*getConnectionColumns/)
})

test('a column of status can be added, once its words are shown and one of them says that a person has left', async () => {
  const bare = daemon.text.replace(/ {6}status: .*\n/, '')
  await writeFile(daemon.file, bare)
  const visitor = await daemon.visitor()
  const form = await visitor.get(path)
  const chosen = { 'field-status': '=Status' }
  const words = await visitor.post(`${path}/preview`, { ...sentWith(form.text), ...chosen })
  const refused = await visitor.post(`${path}/preview`, { ...sentWith(words.text), ...chosen })
  const gone = { ...chosen, [inputOf(words.text, 'What Active means')]: 'left' }
  const preview = await visitor.post(`${path}/preview`, { ...sentWith(refused.text), ...gone })

  expect(form.text).toContain('No column says who has left.')
  expect(words.text).toContain('Say below what the words of Status mean')
  expect(words.text).toMatch(/value="=Status" selected/)
  expect(refused.text).toContain('which of its words say that a person has left')
  expect(preview.text).toContain('+   leftWhen: [ Active ]')
})

test('words of another column are not saved as those of the status when that column is taken back', async () => {
  const visitor = await daemon.visitor()
  const form = await visitor.get(path)
  const words = await visitor.post(`${path}/preview`, { ...sentWith(form.text), 'field-status': '=Last Name' })
  const [, word = ''] = /name="(status-[0-9a-f]{12})" aria-label="What /.exec(words.text) ?? []
  const taken = { 'field-status': '', [word]: 'left' }
  const back = await visitor.post(`${path}/preview`, { ...sentWith(words.text), ...taken })
  await rm(join(daemon.folder, 'people.csv'))
  const unread = await visitor.post(`${path}/preview`, { ...sentWith(words.text), ...taken })
  await store('people.csv', exportOf(40))

  expect(words.text).toContain('Say below what the words of Last Name mean')
  for (const { text } of [back, unread]) expect(text).not.toContain('leftWhen')
  expect(back.text).toContain('What Active means')
  expect(unread.text).toContain('The words below are those of Last Name')
})

test('names of signs alone, which settings could not find again, are not offered', async () => {
  await store('signs.csv', 'Employee ID,#,\u3164Role,Status\nE1,1,Cook,Active\n')
  await writeFile(daemon.file, daemon.text.replace('path: people.csv', 'path: signs.csv'))

  expect((await readColumns()).columns).toEqual(['Employee ID', 'Status'])
})

test('an export that cannot be read leads to the settings in YAML', async () => {
  await store('rubbish.csv', 'PK\u0003\u0004 \u0000\u0001\u0002 rubbish')
  await writeFile(daemon.file, daemon.text.replace('path: people.csv', 'path: rubbish.csv'))
  const { text } = await (await daemon.visitor()).get(path)

  expect(text).toContain('The columns cannot be shown: ')
  expect(text).toMatch(/href="\/connections\/hr\/settings">Edit as YAML/)
})

test('a reference in a comment does not keep columns from being chosen', async () => {
  const text = 'fields: # not ${env:X} any more\n  identityId: ID'
  const changed = {
    sections: [{ section: 'mapping' as const, text }],
    mapping: Mapping.parse({ fields: { identityId: 'ID' } }),
    classified: [],
  }

  expect(chosenSections(changed, { fields: { jobTitle: 'Role' }, statuses: {} }).mapping).toContain('jobTitle: Role')
})

test('a status of the preset is written out, because a status of the configuration replaces it', async () => {
  const preset = daemon.text.replace(/ {6}fields:[\s\S]*? {6}timeZone/, '      preset: generic\n      timeZone')
  await writeFile(daemon.file, preset)
  const page = await (await daemon.visitor()).get(path)
  const { body } = await choose({ fields: { firstName: null }, statuses: { Active: 'open', Sabbatical: 'employed' } })
  const column = await choose({ fields: { status: 'Status' } })
  const { mapping, leaving } = body.sections as { mapping: string; leaving: string }

  expect(page.text).toMatch(/<option value="" selected>nothing: the export has no [^<]*Job Title/)
  expect(page.text).not.toContain('aria-invalid')
  expect(mapping).toBe('preset: generic\nfields:\n  firstName: null')
  expect(leaving).toMatch(/^status:\n {2}column: \[ .*Status \]\n/)
  expect(leaving).toMatch(/employedWhen: \[[^\]]*Sabbatical/)
  expect(leaving).not.toMatch(/employedWhen: \[[^\]]*\bActive\b/)
  expect(leaving).toContain('optional: true')
  expect(JSON.stringify(column.body.sections)).not.toContain('optional')
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

test.each([
  ['its format', { format: 'dd.MM.yyyy' }],
  ['its language', { format: 'dd. MMM yyyy', language: 'de' }],
  ['the years of its two digits', { format: 'dd.MM.yy', pivot: 2049 }],
])('a date that was not read before is read as the other date is, with %s', (_what, options) => {
  const written = Object.entries(options).map(([name, value]) => `\n    ${name}: ${value}`)
  const text = `fields:\n  identityId: ID\n  startedAt:\n    column: Start${written.join('')}\n    onBlank: keep`
  const mapping = Mapping.parse(parse(text))
  const changed = { sections: [{ section: 'mapping' as const, text }], mapping, classified: [] }
  const chosen = (fields: Record<string, string>) => chosenSections(changed, { fields, statuses: {} }).mapping ?? ''

  expect(chosen({ separatedAt: 'End' })).toBe(`${text}\n  separatedAt:\n    column: End${written.join('')}`)
  expect(Mapping.parse(parse(chosen({ separatedAt: 'End' }))).fields.separatedAt).toMatchObject(options)
  expect(chosen({ jobTitle: 'Role' })).toBe(`${text}\n  jobTitle: Role`)
})

test('a column in the place of several keeps the place of the field and the comments around it', () => {
  const text = `# Of payroll.
fields:
  identityId: ID
  # Calling name first: agreed with HR.
  firstName: # see ticket 7
    firstOf: [Calling name, First name]
  lastName: Last name`
  const mapping = Mapping.parse(parse(text))
  const changed = { sections: [{ section: 'mapping' as const, text }], mapping, classified: [] }
  const { mapping: chosen } = chosenSections(changed, { fields: { firstName: 'Name' }, statuses: {} })

  expect(chosen).toBe(text.replace('firstOf: [Calling name, First name]', 'column: Name'))
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
  expect(JSON.stringify(refused.body)).toContain('has changed since')
  expect(await daemon.config()).toBe(`${daemon.text}# by hand\n`)
})

test.each([
  [{ fields: { nickname: 'Email' } }, 'there is no field "nickname": choose one of identityId, email'],
  [{ fields: { status: null } }, 'set "status: null" in YAML'],
  [{ fields: { email: '' } }, 'email'],
  [{ statuses: { '': 'left' } }, 'statuses'],
])('a choice of nothing that there is is refused: %j', async (choices, message) => {
  const refused = await choose(choices)

  expect(refused.status).toBe(400)
  expect(JSON.stringify(refused.body).replaceAll('\\"', '"')).toContain(message)
})

test('a source between braces is changed in the file itself', async () => {
  const flow = daemon.text.replace(
    /source:\n[\s\S]*? {4}#/,
    'source: { type: csv, path: people.csv, mode: snapshot, fields: { identityId: Employee ID }, timeZone: UTC }\n    #',
  )
  await writeFile(daemon.file, flow)
  const refused = await daemon.api(path)

  expect(refused.status).toBe(409)
  expect(await refused.text()).toContain('change them in the file itself')
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
  const sent = sentWith(form.text)
  const preview = await visitor.post(`${path}/preview`, { ...sent, 'field-jobTitle': '=Last Name' })
  const nothing = await visitor.post(`${path}/preview`, sent)
  const rubbish = await visitor.post(`${path}/preview`, { ...sent, shown: 'e30', 'field-jobTitle': '=Last Name' })

  expect(form.text).toContain('<option value="=Last Name">Last Name</option>')
  expect(form.text).toContain('What Active means')
  expect(preview.text).toContain('+   jobTitle: Last Name')
  expect(preview.text).toContain('Save and reload')
  expect(nothing.text).toContain('Nothing was chosen yet.')
  expect(rubbish.text).toContain('Nothing was chosen yet.')
  expect(await daemon.config()).toBe(daemon.text)
})
