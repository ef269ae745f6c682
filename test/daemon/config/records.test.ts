import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'

const target = `    target:
      name: Acme records
      type: CUSTOM
      workspaces: [3]
      displayNameKey: name
      schema:
        type: object
        properties:
          id: { type: string }
          name: { type: string }
          level: { type: integer }
          back: { type: boolean }
          days: { type: array, items: { type: string, format: date } }
          laptop: { type: object, properties: { model: { type: string } } }
          either: { type: [string, number] }
        additionalProperties: false
`

const records = `platform:
  apiKey: \${env:KEY}
connections:
  acme:
${target}    source:
      type: csv
      path: exports/*.csv
      mode: snapshot
      fields:
        identityId: Worker ID
      record:
        name: Name
`

const people = `platform:
  apiKey: \${env:KEY}
connections:
  acme:
    target: { name: Acme HRIS }
    source:
      type: sftp
      host: sftp.hr.example
      username: rollcall
      hostKeys: [SHA256:${'A'.repeat(43)}]
      password: \${env:PASSWORD}
      path: out/*.csv
      mode: snapshot
      preset: generic
      timeZone: Europe/Berlin
      scope: "Department != 'Stores'"
      fields:
        identityId: { column: Badge, lowercase: true }
      status: { column: Status, leftWhen: [left] }
    also:
      acme-records:
        target: { name: Acme records, type: CUSTOM, workspaces: [3], displayNameKey: name, sampleData: { name: Ana } }
        record:
          name: Name
`

const env = { KEY: 'key-of-the-platform', PASSWORD: 'open sesame' }

async function load(text: string) {
  await using folder = await exportFolder()
  return await loadConfig(await folder.write('rollcall.yaml', text), env)
}

async function connectionOf(text: string, name = 'acme') {
  const { connections } = await load(text)
  const connection = connections.get(name)
  if (!connection) throw new Error(`there is no connection ${name}`)
  return connection
}

/** The message of a refused configuration, with FILE in place of its path. */
async function refusal(text: string): Promise<string> {
  await using folder = await exportFolder()
  const error: unknown = await loadConfig(await folder.write('rollcall.yaml', text), env).then(
    () => new Error('the configuration was accepted'),
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'config_invalid', exit: 78 })
  return error instanceof Error ? error.message.replaceAll(join(folder.path, 'rollcall.yaml'), 'FILE') : ''
}

/** The position where `mark` begins in `text`, as a message names it: `FILE:line:column: `. */
function positionOf(text: string, mark: string): string {
  const at = text.indexOf(mark)
  if (at < 0) throw new Error(`the text has no ${mark}`)
  const before = text.slice(0, at).split('\n')
  return `FILE:${before.length}:${(before.at(-1) ?? '').length + 1}: `
}

describe('a connection of records', () => {
  test('says what a record looks like and which columns hold its properties', async () => {
    const { target: sent, records: of, source, linkedTo } = await connectionOf(records)

    expect(sent).toMatchObject({ name: 'Acme records', type: 'CUSTOM', workspaces: [3], displayNameKey: 'name' })
    expect(sent).not.toHaveProperty('id')
    expect(of?.deliver).toBe('bySource')
    expect(source?.mapping).toMatchObject({
      fields: { identityId: { column: 'Worker ID' } },
      record: {
        name: { column: 'Name', onBlank: 'clear', property: { type: 'string', isList: false, mayBeNull: false } },
      },
    })
    expect(source?.shape).toBe(of?.shape)
    expect(linkedTo).toBeUndefined()
  })

  test('may take its schema from a sample, and name the number of the connection', async () => {
    const sample =
      'target: { id: 42, name: A, type: CUSTOM, workspaces: [3], displayNameKey: name, sampleData: { name: Ana } }'

    const { target: sent, records: of } = await connectionOf(records.replace(target, `    ${sample}\n`))

    expect(sent).toMatchObject({ id: 42, sampleData: { name: 'Ana' } })
    expect(of?.shape.attributesOf({ identityId: 'E1', '.name': 'Ana' })).toEqual({ id: 'E1', name: 'Ana' })
  })

  test('takes only the key from a preset', async () => {
    const text = records.replace(/ {6}fields:\n.*\n/, '      preset: generic\n')

    const { source } = await connectionOf(text)

    expect(Object.keys(source?.mapping.fields ?? {})).toEqual(['identityId'])
    expect(source?.mapping.status).toBeUndefined()
    expect(source?.traps).toEqual([])
  })

  test('may say who has left, by a date or a status', async () => {
    const text = records.replace(
      'identityId: Worker ID\n',
      'identityId: Worker ID\n        separatedAt: End\n      status: { column: Status, leftWhen: [left] }\n',
    )

    const { source } = await connectionOf(text)

    expect(source?.mapping).toMatchObject({ fields: { separatedAt: { column: 'End' } }, status: { column: 'Status' } })
  })

  test.each([
    ['', 'bySource'],
    ['    deliver: direct\n', 'direct'],
    ['    deliver: session\n', 'session'],
  ])('with "%s" delivers %s', async (line, deliver) => {
    expect((await connectionOf(`${records}${line}`)).records?.deliver).toBe(deliver)
  })
})

describe('a connection of records is refused with its place:', () => {
  test.each([
    [
      'no schema',
      / {6}schema:\n[\s\S]*?(?= {4}source)/,
      '',
      'say what a record looks like: either schema or sampleData',
      'name: Acme records',
    ],
    [
      'schema and sample',
      'schema:\n',
      'sampleData: { name: Ana }\n      schema:\n',
      'either schema or sampleData',
      'type: object',
    ],
    [
      'a schema of something else',
      'type: object\n',
      'type: array\n',
      'target.schema.type: describes no object',
      'array\n',
    ],
    [
      'a label that is no property',
      'Key: name',
      'Key: label',
      'displayNameKey: is no property at the top of the schema',
      'label',
    ],
    ['a label that objects have anyway', 'Key: name', 'Key: constructor', 'is no property at the top', 'constructor'],
    [
      'no label',
      '      displayNameKey: name\n',
      '',
      'connections.acme.target.displayNameKey: is missing',
      'name: Acme records',
    ],
    ['no workspace', '[3]', '[]', 'connections.acme.target.workspaces: Too small', '[]'],
    ['a workspace that is none', '[3]', '[three]', 'connections.acme.target.workspaces.0: Invalid input', 'three'],
    ['a name that is too long', 'Acme records', 'x'.repeat(192), 'connections.acme.target.name: Too big', 'xxx'],
    [
      'a description that is too long',
      'type: CUSTOM',
      `description: ${'x'.repeat(769)}\n      type: CUSTOM`,
      'target.description: Too big',
      'xxx',
    ],
    ['a type that there is not', 'CUSTOM', 'MDM', 'connections.acme.target.type: Invalid', 'MDM'],
    ['a setting that there is not', 'workspaces', 'workspace', 'did you mean "workspaces"', 'workspace:'],
    [
      'a schema that is none',
      'type: integer',
      'type: whole',
      'connections.acme.target.schema: cannot be used',
      'type: object',
    ],
    [
      'a reference that leads nowhere',
      '{ type: integer }',
      "{ $ref: '#/definitions/none' }",
      'target.schema: cannot be used',
      'type: object',
    ],
    [
      'a pattern that is none',
      '{ type: integer }',
      "{ type: string, pattern: '(' }",
      'target.schema: cannot be used',
      'type: object',
    ],
    [
      'a property that is not allowed',
      'name: Name',
      'nick: Name',
      'source.record.nick: the schema of the target allows no such property',
      'Name\n',
    ],
    [
      'a property that is an object',
      'name: Name',
      'laptop: Name',
      'source.record.laptop: by the schema, it is an object',
      'Name\n',
    ],
    [
      'a property of several types',
      'name: Name',
      'either: Name',
      'source.record.either: by the schema, it has several types',
      'Name\n',
    ],
    ['the key as a property', 'name: Name', 'id: Name', 'source.record.id: is the key of a record', 'Name\n'],
    ['no property', '      record:\n        name: Name\n', '', 'source.record: say which columns hold', 'type: csv'],
    [
      'no property but one that is taken away',
      'name: Name',
      'name: null',
      'source.record: say which columns hold',
      'name: null',
    ],
    [
      'a field of people',
      'identityId: Worker ID',
      'identityId: Worker ID\n        email: Mail',
      'source.fields.email: is a field of people',
      'Mail',
    ],
    [
      'a value that the property cannot hold',
      'name: Name',
      'back: { column: Back, map: { in: 1 } }',
      'source.record.back.map.in: the schema wants true or false here',
      '1 } }',
    ],
    [
      'a format that is none',
      'name: Name',
      'days: { column: Days, format: yyy }',
      'source.record.days.format: ',
      'yyy }',
    ],
    [
      'a setting of a property that there is not',
      'name: Name',
      'days: { column: Days, formats: x }',
      'did you mean "format"',
      'formats',
    ],
    [
      'an expression that is none',
      'name: Name',
      "name: { expression: '((' }",
      'source.record.name.expression: not a JSONata expression',
      "'(('",
    ],
  ] as const)('%s', async (_what, before, after, expected, mark) => {
    const text = records.replace(before, after)

    const message = await refusal(text)

    expect(message).toContain(expected)
    expect(message).toContain(positionOf(text, mark))
  })
})

describe('a connection of people is refused with its place:', () => {
  const plain = people.slice(0, people.indexOf('    also:'))

  test.each([
    [
      'a record',
      '      status:',
      '      record: { name: Name }\n      status:',
      'source.record: is for a target of type CUSTOM; people have fields',
      '{ name: Name }',
    ],
    [
      'a way to deliver records',
      '    source:',
      '    deliver: direct\n    source:',
      'connections.acme.deliver: is for a target of type CUSTOM',
      'direct',
    ],
    [
      'a schema',
      'name: Acme HRIS',
      'name: Acme HRIS, schema: {}',
      'target.schema: Unrecognized key: "schema"',
      'schema: {}',
    ],
    [
      'a name and a number',
      'name: Acme HRIS',
      'name: Acme HRIS, id: 42',
      'target: expected either name or id',
      '{ name: Acme',
    ],
    [
      'neither a name nor a number',
      'name: Acme HRIS',
      'type: HRIS',
      'target: expected either name or id',
      '{ type: HRIS',
    ],
  ])('%s', async (_what, before, after, expected, mark) => {
    const text = plain.replace(before, after)

    const message = await refusal(text)

    expect(message).toContain(expected)
    expect(message).toContain(positionOf(text, mark))
  })

  test.each([
    ['{ name: Acme HRIS }', { name: 'Acme HRIS' }],
    ['{ name: Acme HRIS, type: HRIS }', { name: 'Acme HRIS' }],
    ['{ id: 42 }', { id: 42 }],
  ])('but not %s', async (written, expected) => {
    const connection = await connectionOf(plain.replace('{ name: Acme HRIS }', written))

    expect(connection.target).toEqual(expected)
    expect(connection.records).toBeUndefined()
  })
})

describe('a linked connection', () => {
  test("reads what its owner reads, with the owner's key, time zone and secrets, and has no schedule", async () => {
    const text = people.replace(
      '    also:',
      "    schedule: { cron: '0 2 * * *', timeZone: Asia/Tokyo }\n    blackouts: [{ from: '22:00', to: '05:00' }]\n    also:",
    )

    const own = await connectionOf(text)
    const linked = await connectionOf(text, 'acme-records')

    expect(own.linkedTo).toBeUndefined()
    expect(linked).toMatchObject({ name: 'acme-records', linkedTo: 'acme', schedule: null, webhook: null })
    expect(linked.source).toMatchObject({
      timeZone: 'Europe/Berlin',
      settings: { path: 'out/*.csv', host: 'sftp.hr.example' },
    })
    expect(linked.source?.mapping).toMatchObject({
      fields: { identityId: { column: 'Badge', lowercase: true } },
      scope: "Department != 'Stores'",
      record: { name: { column: 'Name' } },
    })
    expect(await linked.source?.secrets.get('password')?.read()).toBe('open sesame')
    const window = { from: '22:00', to: '05:00', timeZone: 'Asia/Tokyo' }
    expect(own.verify).toMatchObject({ timeZone: 'Asia/Tokyo', blackouts: [window] })
    expect(linked.verify).toMatchObject({ timeZone: 'Asia/Tokyo', blackouts: [window] })
  })

  test("has its own status, scope, guards and absence, and none of its owner's", async () => {
    const own = `        status: { column: Laptop, leftWhen: [returned] }
        scope: "Laptop != ''"
        absence: hold
        graceRuns: 3
        guards: { leavers: { count: 1, share: 0.01 } }
        pinned: [E1]
        verify: never
        deliver: session
`

    const usual = await connectionOf(people, 'acme-records')
    const custom = await connectionOf(`${people}${own}`, 'acme-records')

    expect(usual).toMatchObject({ pinned: [], guards: { leavers: { count: 5 } }, records: { deliver: 'bySource' } })
    expect(usual.source).toMatchObject({ absence: 'separate', graceRuns: 1 })
    expect(usual.source?.mapping.status).toBeUndefined()
    expect(custom).toMatchObject({
      pinned: ['E1'],
      guards: { leavers: { count: 1 } },
      verify: null,
      records: { deliver: 'session' },
    })
    expect(custom.source).toMatchObject({ absence: 'hold', graceRuns: 3 })
    expect(custom.source?.mapping).toMatchObject({ status: { column: 'Laptop' }, scope: "Laptop != ''" })
    expect(custom.digest).not.toBe(usual.digest)
  })

  test('may carry people too, and name the column of its key', async () => {
    const text = people.replace(
      / {8}target: .*\n {8}record:\n.*\n/,
      '        target: { id: 7 }\n        fields: { identityId: Other ID, email: Mail }\n',
    )

    const linked = await connectionOf(text, 'acme-records')

    expect(linked.target).toEqual({ id: 7 })
    expect(linked.source?.mapping.fields).toMatchObject({
      identityId: { column: 'Other ID' },
      email: { column: 'Mail' },
    })
  })

  test('can be named where connections are, as by a channel of alerts', async () => {
    const channel =
      'type: webhook\n      url: https://chat.example/\n      secret: ${env:KEY}\n      connections: [acme-records]\n'
    const text = `alerts:\n  channels:\n    chat:\n      ${channel}${people}`

    const unknown = await refusal(text.replace('[acme-records]', '[other]'))

    expect(unknown).toContain('there is no connection "other"; there are acme, acme-records')
    expect((await load(text)).alerts.channels).toMatchObject([{ connections: ['acme-records'] }])
  })

  test.each([
    [
      'the name of the other',
      'acme-records:',
      'acme:',
      'connections.acme.also.acme: there is another connection "acme"',
      'target: { name: Acme records',
    ],
    [
      'a name that is none',
      'acme-records:',
      'Acme records:',
      'a connection name has up to 40 of the signs',
      'Acme records:\n',
    ],
    [
      'the same target',
      /target: \{ name: Acme records.*\}\n/,
      'target: { name: Acme HRIS }\n',
      'also.acme-records.target: connection acme has the same target',
      '{ name: Acme HRIS }\n        record',
    ],
    [
      'a property that is not allowed',
      'name: Name',
      '__proto__x.a: { column: A, form: x }',
      'also.acme-records.record.__proto__x.a',
      'form: x',
    ],
    [
      'a mistake in what is its own',
      'name: Name\n',
      'name: Name\n        absence: maybe\n',
      'also.acme-records.absence: Invalid option',
      'maybe',
    ],
    [
      'a schedule',
      'name: Name\n',
      "name: Name\n        schedule: { cron: '0 2 * * *' }\n",
      'Unrecognized key: "schedule"',
      'schedule:',
    ],
    [
      'a property that is an object',
      '{ name: Ana }',
      '{ name: { first: Ana } }',
      'also.acme-records.record.name: by the schema, it is an object',
      'Name\n',
    ],
  ] as const)('is refused with its place: %s', async (_what, before, after, expected, mark) => {
    const text = people.replace(before, after)

    const message = await refusal(text)

    expect(message).toContain(expected)
    expect(message).toContain(positionOf(text, mark))
  })

  test('needs an export: events cannot be shared', async () => {
    const webhook = `    webhook:
      recipe: generic
      secrets: ['\${env:PASSWORD}']
      fields: { identityId: id }
`
    const text = people.replace(/ {4}source:[\s\S]*?(?= {4}also)/, webhook)

    expect(await refusal(text)).toContain('connections.acme.also: needs a source')
  })

  test('of two connections have different names', async () => {
    const second = people.slice(people.indexOf('  acme:')).replace('  acme:', '  beta:').replaceAll('Acme', 'Beta')
    const text = `${people}${second}`

    const message = await refusal(text)

    expect(message).toContain('connections.beta.also.acme-records: there is another connection "acme-records"')
  })
})

describe('the settings in effect', () => {
  test('list those of a linked connection, each with its line', async () => {
    const { settings } = await load(people)
    const at = (path: string) => settings.find((one) => one.path === `connections.acme.also.acme-records.${path}`)

    expect(at('target.name')).toMatchObject({
      connection: 'acme',
      value: 'Acme records',
      line: 22,
      from: [{ kind: 'file' }],
    })
    expect(at('record.name')).toMatchObject({ value: 'Name', line: 24 })
    expect(at('absence')).toMatchObject({ value: 'separate', line: null, from: [{ kind: 'default', name: null }] })
    expect(settings.filter(({ path }) => path.startsWith('connections.acme-records'))).toEqual([])
    expect(JSON.stringify(settings)).not.toMatch(/open sesame|key-of-the-platform/)
  })

  test('show rules of properties as they are written, without what the schema says of them', async () => {
    const { settings } = await load(records)
    const ofRecord = settings.filter(({ path }) => path.startsWith('connections.acme.source.record'))

    expect(ofRecord.map(({ path }) => path)).toContain('connections.acme.source.record.name.column')
    expect(ofRecord.filter(({ path }) => path.includes('.property'))).toEqual([])
  })
})
