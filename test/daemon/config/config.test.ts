import { execFileSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { checkAll } from '../../../src/daemon/check.ts'
import { jsonSchema } from '../../../src/daemon/config/json-schema.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { readPresets } from '../../../src/daemon/config/presets.ts'
import { exportConnection, withConnection } from '../../../src/daemon/proposal/configuration.ts'
import { propose } from '../../../src/daemon/proposal/propose.ts'
import { readTable } from '../../../src/daemon/proposal/table.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'

const repository = resolve(import.meta.dirname, '../../..')
const key = 'key-of-the-platform'
const presets =
  'adp-workforce-now, bamboohr, factorial, frappe-hr, generic, gusto, hibob, odoo, orangehrm, personio, personio-de, rippling, sap-hcm, successfactors, ukg-pro, workday, zoho-people, and the recipes that "rollcall recipes" lists'

const minimal = `platform:
  apiKey: \${env:KEY}
connections:
  acme:
    target: { name: Acme HRIS }
    source:
      type: csv
      path: exports/*.csv
      mode: snapshot
      fields:
        identityId: Worker ID
`

describe('a configuration', () => {
  test.each([
    ['of a connection', '    keepValues: false\n', '12:17: connections.acme.keepValues'],
    [
      'of a linked connection',
      '    also:\n      other: { target: { name: Other }, fields: { identityId: ID }, keepValues: false }\n',
      '13:81: connections.acme.also.other.keepValues',
    ],
  ])('is refused where it says to keep no values %s, and the refusal says what to use', async (_of, line, position) => {
    await using folder = await exportFolder()

    const refused = load(folder, `${minimal}${line}`, { KEY: key })

    await expect(refused).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(
        new RegExp(
          `:${position}: values are always kept: take this setting out, and limit .* with retention, "rollcall forget"`,
        ),
      ),
    })
  })

  test('that says keepValues: true works as without it, and the check warns of it with its place', async () => {
    await using folder = await exportFolder()

    const plain = await load(folder, minimal, { KEY: key })
    const config = await load(folder, `${minimal}    keepValues: true\n`, { KEY: key })
    const { signal } = new AbortController()
    const options = { findDaemon: async () => null, events: silentEvents(), now: () => new Date(), signal }
    const checks = []
    for await (const check of checkAll(config, options)) if (checks.push(check) === 2) break

    expect(plain.outdated).toEqual([])
    expect(config.connections).toEqual(plain.connections)
    expect(checks.at(-1)?.message).toMatch(
      /^warning: .*rollcall\.yaml:12:17: connections\.acme\.keepValues: has no effect any more/,
    )
  })

  test('that names a kind of alerts by its old name works as with the new one, and the check warns of it with its place', async () => {
    await using folder = await exportFolder()
    const channel = (kind: string) =>
      `alerts: { channels: { chat: { type: slack, url: '\${env:CHAT}', kinds: [held, ${kind}] } } }\n`

    const former = await load(folder, `${minimal}${channel('unserved')}`, { KEY: key, CHAT: 'https://chat.example' })
    const current = await load(folder, `${minimal}${channel('blockedPeople')}`, {
      KEY: key,
      CHAT: 'https://chat.example',
    })

    expect(former.alerts.channels).toMatchObject([{ kinds: ['held', 'blockedPeople'] }])
    expect(current.outdated).toEqual([])
    expect(former.outdated).toEqual([
      expect.stringMatching(
        /rollcall\.yaml:12:\d+: alerts\.channels\.chat\.kinds\.1: unserved is the old name of blockedPeople, .*: write blockedPeople$/,
      ),
    ])
  })

  test('says which rows of a source apply, and which people are pinned', async () => {
    await using folder = await exportFolder()
    const scoped = minimal.replace('mode: snapshot', `mode: snapshot\n      scope: "Department != 'Stores'"`)

    const config = await load(folder, `${scoped}    pinned: [E1, ' E2 ']\n`, { KEY: key })

    expect([...config.connections.values()]).toMatchObject([
      { pinned: ['E1', 'E2'], source: { mapping: { scope: "Department != 'Stores'" }, outOfScope: 'hold' } },
    ])
  })

  test('needs little: a key, a target, a source and the column of the key', async () => {
    await using folder = await exportFolder()

    const config = await load(folder, minimal, { KEY: key })

    expect(config).toMatchObject({
      folder: folder.path,
      file: join(folder.path, 'rollcall.yaml'),
      platform: {
        baseUrl: 'https://public-api.drata.com/public/v2',
        timeoutMs: 30_000,
        requestsPerMinute: 450,
        inFlight: 4,
      },
      database: null,
      queue: null,
      dataDir: join(folder.path, 'data'),
      server: { host: '127.0.0.1', port: 8686, token: null, metrics: 'token' },
    })
    expect([...config.connections.values()]).toMatchObject([
      {
        name: 'acme',
        target: { name: 'Acme HRIS' },
        source: {
          settings: { type: 'csv', path: 'exports/*.csv', mode: 'snapshot', delimiter: ',', encoding: 'utf-8' },
          mapping: { fields: { identityId: { column: 'Worker ID' } } },
          absence: 'separate',
          graceRuns: 1,
          timeZone: 'UTC',
          future: 'defer',
        },
        webhook: null,
        schedule: null,
        verify: { cron: '0 4 * * 0', timeZone: 'UTC' },
        sample: { cron: '0 5 * * *', timeZone: 'UTC' },
        guards: { leavers: { count: 5, share: 0.05 } },
        delivery: { batchSize: 1000, batchBytes: 1_000_000, updateWave: 100 },
      },
    ])
  })

  test('needs less for people who are pushed: the columns are those of the standard', async () => {
    await using folder = await exportFolder()

    const config = await load(folder, `${pushed}      fields: { startedAt: urn:acme:2.0:User.start }\n`, { KEY: key })

    const [connection] = config.connections.values()
    expect(connection).toMatchObject({
      source: null,
      webhook: null,
      pushed: {
        settings: { type: 'scim', timeZone: 'UTC', quietSeconds: 5, inboxLimit: 100_000 },
        mapping: {
          fields: { identityId: { column: 'externalId' }, startedAt: { column: 'urn:acme:2.0:User.start' } },
          status: { column: 'active', leftWhen: ['false'] },
        },
        timeZone: 'UTC',
      },
    })
    const shown = config.settings.filter(({ path }) => path.startsWith('connections.acme.source'))
    expect(shown).toContainEqual(expect.objectContaining({ path: 'connections.acme.source.type', value: 'scim' }))
    expect(shown).toContainEqual(
      expect.objectContaining({ path: 'connections.acme.source.fields.identityId.column', value: 'externalId' }),
    )
  })

  test.for([
    ['region: default', 'https://public-api.drata.com/public/v2'],
    ['region: eu', 'https://public-api.eu.drata.com/public/v2'],
    ['region: apac', 'https://public-api.apac.drata.com/public/v2'],
    ['baseUrl: http://127.0.0.1:4010/public/v2/', 'http://127.0.0.1:4010/public/v2'],
  ])('with "%s" reaches the platform at %s', async ([setting, address]) => {
    await using folder = await exportFolder()

    const { platform } = await load(folder, minimal.replace('platform:\n', `platform:\n  ${setting}\n`), { KEY: key })

    expect(platform.baseUrl).toBe(address)
  })

  test('overrides fields of a preset with its own', async () => {
    await using folder = await exportFolder()
    const text = minimal.replace(
      /fields:[\s\S]*/,
      'preset: generic\n      fields:\n        identityId: Badge\n        email: { onBlank: keep }\n        jobTitle: null\n',
    )

    const { connections } = await load(folder, text, { KEY: key })

    const fields = connections.get('acme')?.source?.mapping.fields
    expect(fields?.identityId).toMatchObject({ column: 'Badge' })
    expect(fields?.email).toMatchObject({ column: expect.arrayContaining(['Work Email']), onBlank: 'keep' })
    expect(fields?.jobTitle).toBeUndefined()
    expect(fields?.firstName).toBeDefined()
  })

  test.each(['csv', 'webhook', 'also'])('says when a status counts and what a bad cell costs (%s)', async (feed) => {
    await using folder = await exportFolder()
    const own = 'statusMeans: onDate\n      onBadCell: rejectRow\n'
    const also = `    also:\n      rider:\n        target: { name: Other }\n        fields: { email: Mail }\n        statusMeans: onDate\n        onBadCell: rejectRow\n`
    const text =
      { csv: `${minimal}      ${own}`, webhook: `${webhook}      ${own}`, also: `${minimal}${also}` }[feed] ?? ''

    const { connections } = await load(folder, text, { KEY: key, FIRST: 'whsec_one', SECOND: 'whsec_two' })

    const { source, webhook: events } = connections.get(feed === 'also' ? 'rider' : 'acme') ?? {}
    expect((source ?? events)?.mapping).toMatchObject({ statusMeans: 'onDate', onBadCell: 'rejectRow' })
  })

  test('runs its schedule in the zone of the source unless it names another', async () => {
    await using folder = await exportFolder()
    const night = "    schedule: { cron: '0 2 * * *' }\n"
    const source = minimal.replace('mode: snapshot', 'mode: snapshot\n      timeZone: Europe/Berlin')

    const same = await load(folder, `${source}${night}`, { KEY: key })
    const other = await load(folder, `${source}${night.replace(' }', ', timeZone: Asia/Tokyo }')}`, { KEY: key })

    expect(same.connections.get('acme')?.schedule).toEqual({ cron: '0 2 * * *', timeZone: 'Europe/Berlin' })
    expect(other.connections.get('acme')?.schedule).toEqual({ cron: '0 2 * * *', timeZone: 'Asia/Tokyo' })
  })

  test('gives each schedule of a connection its jitter and the blackouts, in its own zone where they name none', async () => {
    await using folder = await exportFolder()
    const lines = `    schedule: { cron: '0 2 * * *', timeZone: Europe/Berlin, jitterMinutes: 30 }
    verify: { jitterMinutes: 10 }
    blackouts:
      - { from: '22:00', to: '05:00', days: [fri] }
      - { from: 2026-12-24T18:00, to: 2026-12-27T06:00, timeZone: UTC }
`

    const { connections } = await load(folder, `${minimal}${lines}`, { KEY: key })

    const blackouts = [
      { from: '22:00', to: '05:00', days: ['fri'], timeZone: 'Europe/Berlin' },
      { from: '2026-12-24T18:00', to: '2026-12-27T06:00', timeZone: 'UTC' },
    ]
    expect(connections.get('acme')).toMatchObject({
      schedule: { cron: '0 2 * * *', jitter: { minutes: 30, of: 'acme' }, blackouts },
      verify: { jitter: { minutes: 10, of: 'acme cron' }, blackouts },
      sample: { jitter: { minutes: 10, of: 'acme sampleCron' }, blackouts },
    })
  })

  test('may have blackouts that cover a day only if their time zones are left out of account', async () => {
    await using folder = await exportFolder()
    const blackouts = (zone: string) => `    blackouts:
      - { from: '00:00', to: '12:00', timeZone: UTC }
      - { from: '12:00', to: '00:00', timeZone: ${zone} }
`

    const { connections } = await load(folder, minimal + blackouts('Asia/Tokyo'), { KEY: key })
    const message = await refusal(folder, minimal + blackouts('Etc/UTC'), { KEY: key })

    expect(connections.get('acme')?.sample?.blackouts).toHaveLength(2)
    expect(message).toBe('FILE:13:7: connections.acme.blackouts: the windows leave no time for a run')
  })

  test('refuses blackouts that leave no time in their own time zones', async () => {
    await using folder = await exportFolder()
    const lines = `    blackouts:
      - { from: '00:00', to: '15:00', timeZone: UTC }
      - { from: '00:00', to: '09:00', timeZone: Asia/Tokyo }
`

    const message = await refusal(folder, minimal + lines, { KEY: key })

    expect(message).toBe('FILE:13:7: connections.acme.blackouts: the windows leave no time for a run')
  })

  test('reads back every week, and a sample every day, in the zone of its schedule, unless it says otherwise or never', async () => {
    await using folder = await exportFolder()
    const nightly = `${minimal}    schedule: { cron: '0 2 * * *', timeZone: Europe/Berlin }\n`
    const verifyOf = async (lines: string) => {
      const { connections } = await load(folder, `${nightly}${lines}`, { KEY: key })
      const { verify, sample } = connections.get('acme') ?? {}
      return [verify, sample]
    }

    const schedules = [
      await verifyOf(''),
      await verifyOf("    verify: { cron: '0 5 1 * *', sampleCron: '0 6 * * *' }\n"),
      await verifyOf('    verify: { timeZone: Asia/Tokyo }\n'),
      await verifyOf('    verify: never\n'),
    ]

    expect(schedules).toEqual([
      [
        { cron: '0 4 * * 0', timeZone: 'Europe/Berlin' },
        { cron: '0 5 * * *', timeZone: 'Europe/Berlin' },
      ],
      [
        { cron: '0 5 1 * *', timeZone: 'Europe/Berlin' },
        { cron: '0 6 * * *', timeZone: 'Europe/Berlin' },
      ],
      [
        { cron: '0 4 * * 0', timeZone: 'Asia/Tokyo' },
        { cron: '0 5 * * *', timeZone: 'Asia/Tokyo' },
      ],
      [null, null],
    ])
  })

  test('shares a mapping between connections by YAML anchors', async () => {
    await using folder = await exportFolder()
    const text = `${minimal.replace('fields:\n', 'fields: &fields\n')}  other:
    target: { id: 7 }
    source: { type: csv, path: other.csv, mode: snapshot, fields: *fields }
`

    const { connections } = await load(folder, text, { KEY: key })

    expect(connections.get('other')?.source?.mapping).toEqual(connections.get('acme')?.source?.mapping)
  })
})

describe('a configuration without connections', () => {
  const waiting = minimal.slice(0, minimal.indexOf('connections:'))

  test.each([
    ['none', waiting],
    ['an empty list of them', `${waiting}connections: {}\n`],
  ])('is one of a daemon that waits for the first, whose key may come with it: %s', async (_what, text) => {
    await using folder = await exportFolder()

    const config = await load(folder, text, {})

    expect(config.connections.size).toBe(0)
    await expect(config.platform.apiKey.read()).rejects.toThrow(/the environment variable KEY is not set/)
  })

  test('still refuses every other secret that cannot be read', async () => {
    await using folder = await exportFolder()

    const loading = load(folder, `${waiting}server: { token: '\${env:TOKEN}' }\n`, {})

    await expect(loading).rejects.toThrow(/TOKEN is not set/)
  })

  test('gets its first one appended to its text', async () => {
    const proposal = propose(
      await readTable({
        name: 'people.csv',
        bytes: Buffer.from('Employee ID,Email\n7,a@example.com\n'),
        isWhole: true,
        hasFinalLineEnd: true,
      }),
      await readPresets(),
    )
    const settings = { name: 'hr', target: 'HR', timeZone: 'UTC', source: { type: 'csv', path: 'exports/*.csv' } }
    const texts = [waiting, `# ours\n${waiting}connections: {} # none yet\n# the end`, waiting.trimEnd()]

    const made = texts.map((text) => withConnection(text, exportConnection(proposal, settings)))

    const added = made[0]?.slice(waiting.length)
    expect(added).toMatch(/^\nconnections:\n {2}hr:\n/)
    expect(made).toEqual([`${waiting}${added}`, `# ours\n${waiting}# the end\n${added}`, `${waiting}${added}`])
  })
})

describe('references', () => {
  test('take a variable, its default, or the content of a file', async () => {
    await using folder = await exportFolder()
    await folder.write('name.txt', 'Acme from a file\n')
    const text = minimal.replace('Acme HRIS', `'\${env:PREFIX:-The} \${file:name.txt} \${env:SUFFIX}'`)

    const { connections } = await load(folder, text, { KEY: key, SUFFIX: 'indeed' })

    expect(connections.get('acme')?.target).toEqual({ name: 'The Acme from a file indeed' })
  })

  test('stand for numbers too', async () => {
    await using folder = await exportFolder()
    const text = minimal.replace('platform:\n', `platform:\n  inFlight: \${env:IN_FLIGHT:-6}\n`)

    const usual = await load(folder, text, { KEY: key })
    const configured = await load(folder, text, { KEY: key, IN_FLIGHT: '8' })

    expect(usual.platform.inFlight).toBe(6)
    expect(configured.platform.inFlight).toBe(8)
  })

  test('that are digits stay texts if a text is expected', async () => {
    await using folder = await exportFolder()

    const { connections } = await load(folder, minimal.replace('Acme HRIS', `'\${env:NAME}'`), {
      KEY: key,
      NAME: '0042',
    })

    expect(connections.get('acme')?.target).toEqual({ name: '0042' })
  })

  test('that are digits are checked as texts if a text is expected', async () => {
    await using folder = await exportFolder()
    const text = `server: { token: "\${env:TOKEN}" }\n${minimal}`

    const message = await refusal(folder, text, { KEY: key, TOKEN: '123456' })

    expect(message).toContain('server.token: is shorter than 16 characters')
  })

  test('to an empty database or queue mean none', async () => {
    await using folder = await exportFolder()
    const text = `database: \${env:DATABASE_URL:-}\nqueue: \${env:REDIS_URL:-}\n${minimal}`

    const { database, queue } = await load(folder, text, { KEY: key })

    expect({ database, queue }).toEqual({ database: null, queue: null })
  })
})

describe('secrets', () => {
  test('are read on demand and never printed', async () => {
    await using folder = await exportFolder()
    const text = `database: \${env:DATABASE_URL}\nserver: { token: "\${env:TOKEN}" }\n${minimal}`
    const env = { KEY: key, TOKEN: 'token-of-the-daemon', DATABASE_URL: 'postgres://me:password-of-mine@db/rollcall' }

    const config = await load(folder, text, env)

    expect(await config.platform.apiKey.read()).toBe(key)
    expect(await config.server.token?.read()).toBe(env.TOKEN)
    expect(await config.database?.read()).toBe(env.DATABASE_URL)
    const printed = [
      inspect(config, { depth: null, showHidden: true }),
      JSON.stringify(config),
      `${config.platform.apiKey}`,
    ]
    expect(printed.join()).not.toMatch(/key-of-the-platform|token-of-the-daemon|password-of-mine/)
    expect(printed.join()).toContain('[secret]')
  })

  test('in a file are read again each time, without the line end of the file', async () => {
    await using folder = await exportFolder()
    await folder.write('key', 'first\n')
    const { platform } = await load(folder, minimal.replace(`\${env:KEY}`, `\${file:key}`), {})

    const first = await platform.apiKey.read()
    await folder.write('key', 'second')
    const second = await platform.apiKey.read()

    expect([first, second]).toEqual(['first', 'second'])
  })

  test.for([
    ['platform.apiKey', '2:11', minimal.replace(`\${env:KEY}`, 'inline-secret')],
    ['server.token', '1:18', `server: { token: inline-secret-that-is-long }\n${minimal}`],
    [
      'server.oidc.clientSecret',
      '1:107',
      `server: { publicUrl: 'https://x.example', oidc: { issuer: 'https://x.example', clientId: x, clientSecret: inline-secret, roles: { a: admin } } }\n${minimal}`,
    ],
    ['database', '1:11', `database: postgres://me:inline-secret@db/rollcall\n${minimal}`],
    ['queue', '1:8', `queue: redis://:inline-secret@queue\n${minimal}`],
  ])('of %s in the file itself are refused and not repeated', async ([setting, position, text = '']) => {
    await using folder = await exportFolder()

    const message = await refusal(folder, text, { KEY: key })

    const help = `put it into the environment or a file and write \${env:NAME} or \${file:PATH}`
    expect(message).toBe(`FILE:${position}: ${setting}: a secret stands in the configuration: ${help}`)
  })
})

const webhook = minimal.replace(
  /source:[\s\S]*/,
  `webhook:
      recipe: standard-webhooks
      secrets: ['\${env:FIRST}', '\${env:SECOND}']
      fields: { identityId: employee.id }
`,
)

const pushed = minimal.replace(/source:[\s\S]*/, 'source:\n      type: scim\n')

const sftp = minimal.replace(
  /source:[\s\S]*/,
  `source:
      type: sftp
      host: hr.example
      username: rollcall
      password: \${env:PASSWORD}
      hostKeys: ['SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU']
      path: exports/*.csv
      mode: snapshot
      fields: { identityId: Worker ID }
`,
)

describe('the feeds of a connection', () => {
  test('may be a webhook alone, with several secrets', async () => {
    await using folder = await exportFolder()

    const { connections } = await load(folder, webhook, { KEY: key, FIRST: 'whsec_one', SECOND: 'whsec_two' })

    const acme = connections.get('acme')
    expect(acme?.source).toBeNull()
    expect(await Promise.all(acme?.webhook?.secrets.map((secret) => secret.read()) ?? [])).toEqual([
      'whsec_one',
      'whsec_two',
    ])
  })

  test('may be read from elsewhere with a secret', async () => {
    await using folder = await exportFolder()

    const { connections } = await load(folder, sftp, { KEY: key, PASSWORD: 'open sesame' })

    const source = connections.get('acme')?.source
    expect(await source?.secrets.get('password')?.read()).toBe('open sesame')
    expect(inspect(source, { depth: 9 })).toContain('[secret]')
  })

  test('take the form of the export from the preset unless they set their own', async () => {
    await using folder = await exportFolder()
    const preset = minimal.replace(/fields:[\s\S]*/, 'preset: successfactors\n')

    const known = await load(folder, preset, { KEY: key })
    const own = await load(
      folder,
      preset.replace('preset:', "delimiter: ';'\n      linesAfterHeader: 0\n      preset:"),
      {
        KEY: key,
      },
    )

    expect(known.connections.get('acme')?.source?.settings).toMatchObject({ delimiter: ',', linesAfterHeader: 1 })
    expect(own.connections.get('acme')?.source?.settings).toMatchObject({ delimiter: ';', linesAfterHeader: 0 })
  })

  test.for([
    ['a password', sftp.replace(/\$\{env:PASSWORD\}/, 'inline-secret'), '10:17: connections.acme.source.password'],
    [
      'one of several secrets',
      webhook.replace(/\$\{env:SECOND\}/, 'inline-secret'),
      '8:33: connections.acme.webhook.secrets.1',
    ],
  ] as const)('refuse %s in the file itself', async ([, text, position]) => {
    await using folder = await exportFolder()

    const message = await refusal(folder, text, { KEY: key, PASSWORD: 'x', FIRST: 'whsec_one', SECOND: 'whsec_two' })

    expect(message).toBe(
      `FILE:${position}: a secret stands in the configuration: put it into the environment or a file and write \${env:NAME} or \${file:PATH}`,
    )
  })

  test.for([
    [
      'neither source nor webhook',
      minimal.replace(/source:[\s\S]*/, 'guards: {}\n'),
      'name a source, a webhook, or both',
    ],
    ['events that need a source', webhook.replace('fields:', 'thin: true\n      fields:'), 'need a source to read'],
    [
      'a scope that is no expression',
      minimal.replace('mode: snapshot', "mode: snapshot\n      scope: 'Department !='"),
      'connections.acme.source.scope',
    ],
    [
      'an expression that is none',
      minimal.replace('Worker ID', "Worker ID\n        jobTitle: { expression: '$uppercase(' }"),
      'connections.acme.source.fields.jobTitle.expression',
    ],
    [
      'an action of a snapshot',
      minimal.replace('fields:', 'action: { column: What, leave: [gone] }\n      fields:'),
      'connections.acme.source.action: is for deltas',
    ],
    [
      'a webhook beside people who are pushed',
      `${pushed}    webhook: { recipe: github, secrets: ['\${env:FIRST}'], fields: { identityId: id } }\n`,
      'connections.acme.webhook: goes with a source that is read',
    ],
    [
      'linked connections of people who are pushed',
      `${pushed}    also:\n      other: { target: { name: Other }, fields: { identityId: ID } }\n`,
      'connections.acme.also: needs a source that is read',
    ],
    [
      'another status of people who are pushed',
      `${pushed}      status: { column: userType, leftWhen: [Former] }\n`,
      'a person leaves on the day when active becomes false',
    ],
    [
      'a status for a later date of people who are pushed',
      `${pushed}      statusMeans: onDate\n`,
      'a person leaves on the day when active becomes false',
    ],
    [
      'an expression as the key of people who are pushed',
      `${pushed}      fields: { identityId: { expression: 'userName' } }\n`,
      'needs a column as the key',
    ],
    [
      'an action of people who are pushed',
      `${pushed}      action: { column: a, join: [b] }\n`,
      'Unrecognized key: "action"',
    ],
    ['a quiet time beyond the longest', `${pushed}      quietSeconds: 90\n`, 'quietMostSeconds: must not be less'],
    ['two origins of one field', minimal.replace('Worker ID', '{ column: A, template: "{B}" }'), 'fields.identityId'],
  ] as const)('refuse %s', async ([, text, expected]) => {
    await using folder = await exportFolder()

    const message = await refusal(folder, text, { KEY: key, FIRST: 'whsec_one', SECOND: 'whsec_two' })

    expect(message).toContain(expected)
    expect(message.split('\n')).toHaveLength(1)
  })
})

const brokenBlackouts = [
  ["{ from: '25:00', to: '05:00' }", '6:25: connections.acme.blackouts.0.from: expected a time such as 22:00'],
  ["{ from: '22:00', to: 2026-12-24T05:00 }", '6:38: connections.acme.blackouts.0.to: write it like from'],
  ['{ from: 2026-12-24T05:00, to: 2026-12-23T05:00 }', '6:47: connections.acme.blackouts.0.to: does not lie after'],
  ['{ from: 2026-02-30T05:00, to: 2026-12-23T05:00 }', '6:25: connections.acme.blackouts.0.from: expected a time'],
  ["{ from: '00:00', to: '00:00' }", '6:16: connections.acme.blackouts: the windows leave no time for a run'],
  ["{ from: '01:00', to: '02:00', days: [freitag] }", '6:54: connections.acme.blackouts.0.days.0: Invalid option'],
] as const

describe('a mistake is refused with its place and what helps', () => {
  test.for<[string, string, string, string]>([
    [
      'an unknown setting',
      'mode: snapshot',
      'mod: snapshot\n      mode: snapshot',
      '9:7: connections.acme.source.mod: Unrecognized key: "mod" (did you mean "mode"?)',
    ],
    [
      'a setting unlike any other',
      'platform:',
      'colour: blue\nplatform:',
      '1:1: colour: Unrecognized key: "colour" (known here: platform, database, queue, dataDir, server, alerts, handOver, weekly, audit, retention, approvals, traces, connections)',
    ],
    [
      'an unknown field',
      'identityId: Worker ID',
      'identityId: Worker ID\n        e-mail: Mail',
      '12:9: connections.acme.source.fields.e-mail: Unrecognized key: "e-mail" (did you mean "email"?)',
    ],
    [
      'a setting of a rule',
      'identityId: Worker ID',
      'identityId: { columns: Worker ID }',
      '11:23: connections.acme.source.fields.identityId.columns: Unrecognized key: "columns" (did you mean "column"?)',
    ],
    [
      'a word for a time of reading back',
      '        identityId: Worker ID\n',
      '        identityId: Worker ID\n    verify: weekly\n',
      "12:13: connections.acme.verify: expected never, or a schedule such as { cron: '0 4 * * 0' }",
    ],
    [
      'a time of reading back that is none',
      '        identityId: Worker ID\n',
      "        identityId: Worker ID\n    verify: { cron: '0 4 * *' }\n",
      '12:21: connections.acme.verify.cron: not a cron line of five fields, such as 0 2 * * * for every night at two',
    ],
    ['a missing setting', '      mode: snapshot\n', '', '7:7: connections.acme.source.mode: is missing'],
    [
      'a missing key column',
      'identityId: Worker ID',
      'email: Mail',
      '11:9: connections.acme.source.fields.identityId: is missing',
    ],
    [
      'a wrong type',
      'platform:',
      'platform:\n  inFlight: lots',
      '2:13: platform.inFlight: Invalid input: expected number, received string',
    ],
    [
      'a wrong kind of rule',
      'Worker ID',
      '[Worker ID]',
      '11:21: connections.acme.source.fields.identityId: Invalid input: expected string or null or object',
    ],
    [
      'an unknown choice',
      'mode: snapshot',
      'mode: full',
      '9:13: connections.acme.source.mode: Invalid option: expected one of "snapshot"|"delta"',
    ],
    [
      'a number out of range',
      'platform:',
      'server: { port: 70000 }\nplatform:',
      '1:17: server.port: Too big: expected number to be <=65535',
    ],
    [
      'a provider of identities that knows no way back',
      'platform:',
      "server: { oidc: { issuer: 'https://login.acme.example', clientId: x, clientSecret: '${env:KEY}', roles: { a: admin } } }\nplatform:",
      '1:17: server.oidc: needs server.publicUrl: the provider sends people back there',
    ],
    [
      'a provider of identities that others can read and change on the way',
      'platform:',
      "server: { publicUrl: 'https://x.example', oidc: { issuer: 'http://login.acme.example', clientId: x, clientSecret: '${env:KEY}', roles: { a: admin } } }\nplatform:",
      '1:59: server.oidc.issuer: http:// is allowed only for this machine',
    ],
    [
      'a proxy that is no address',
      'platform:',
      'server: { trustedProxies: [proxy.lan] }\nplatform:',
      '1:28: server.trustedProxies.0: expected an address or a network, such as 10.0.0.0/8',
    ],
    [
      'a public address with a path',
      'platform:',
      "server: { publicUrl: 'https://x.example/rollcall' }\nplatform:",
      '1:22: server.publicUrl: names more than a host: write it as https://rollcall.acme.example',
    ],
    [
      'two addresses',
      'platform:',
      'platform:\n  region: eu\n  baseUrl: https://x',
      '3:12: platform.baseUrl: name either region or baseUrl, not both',
    ],
    [
      'two targets in one',
      '{ name: Acme HRIS }',
      '{ name: Acme HRIS, id: 4 }',
      '5:13: connections.acme.target: expected either name or id',
    ],
    [
      'no address',
      'platform:',
      'platform:\n  baseUrl: ftp://x',
      '2:12: platform.baseUrl: expected an address that begins with https:// or http://',
    ],
    [
      'a database that is none',
      'platform:',
      'database: mysql://x\nplatform:',
      '1:11: database: expected an address that begins with postgres://, or nothing',
    ],
    [
      'a connection name with other signs',
      '  acme:',
      '  Acme HRIS:',
      '4:3: connections.Acme HRIS: a connection name has up to 40 of the signs a-z, 0-9 and -',
    ],
    [
      'an unknown preset',
      'mode: snapshot',
      'mode: snapshot\n      preset: paper',
      `10:15: connections.acme.source.preset: unknown preset "paper" (known: ${presets})`,
    ],
    [
      'a preset outside its folder',
      'mode: snapshot',
      'mode: snapshot\n      preset: ../rollcall',
      `10:15: connections.acme.source.preset: unknown preset "../rollcall" (known: ${presets})`,
    ],
    [
      'an unknown encoding',
      'mode: snapshot',
      'mode: snapshot\n      encoding: klingon',
      '10:17: connections.acme.source.encoding: unknown encoding: write a name such as utf-8, utf-16le or windows-1252',
    ],
    [
      'an unknown time zone',
      'mode: snapshot',
      'mode: snapshot\n      timeZone: Mars/Phobos',
      '10:17: connections.acme.source.timeZone: unknown time zone: write an IANA name such as Europe/Berlin or UTC',
    ],
    [
      'a broken pattern',
      'mode: snapshot',
      "mode: snapshot\n      asOf: { from: fileName, pattern: '(' }",
      '10:40: connections.acme.source.asOf.pattern: not a regular expression',
    ],
    [
      'a broken date format',
      'identityId: Worker ID',
      'identityId: Worker ID\n        startedAt: { column: Start, format: yy-MM-dd }',
      '12:45: connections.acme.source.fields.startedAt.format: a year needs four digits',
    ],
    [
      'a broken cron line',
      '    source:',
      "    schedule: { cron: '61 2 * * *' }\n    source:",
      '6:23: connections.acme.schedule.cron: not a cron line of five fields',
    ],
    [
      'a cron line of a day that never comes',
      '    source:',
      "    schedule: { cron: '0 2 30 2 *' }\n    source:",
      '6:23: connections.acme.schedule.cron: names a day that never comes',
    ],
    [
      'a cron line with seconds',
      '    source:',
      "    schedule: { cron: '0 0 2 * * *' }\n    source:",
      '6:23: connections.acme.schedule.cron: not a cron line of five fields',
    ],
    ...brokenBlackouts.map(([window, message]): [string, string, string, string] => [
      `the blackout ${window}`,
      '    source:',
      `    blackouts: [${window}]\n    source:`,
      message,
    ]),
    [
      'a variable that is not set',
      `\${env:KEY}`,
      `\${env:OTHER}`,
      `2:11: the environment variable OTHER is not set, or is empty: set it, or write \${env:OTHER:-default}`,
    ],
    [
      'an empty key',
      `\${env:KEY}`,
      `\${env:OTHER:-}`,
      '2:11: platform.apiKey: is empty: check the variable or the file that it comes from',
    ],
    [
      'an unknown reference',
      `\${env:KEY}`,
      `\${KEY}`,
      `2:11: unknown reference \${KEY}: write \${env:NAME}, \${env:NAME:-default} or \${file:PATH}`,
    ],
    ['an open reference', `\${env:KEY}`, `"\${env:KEY"`, `2:11: a reference that opens with \${ is not closed with }`],
    [
      'a secret file that is missing',
      `\${env:KEY}`,
      `\${file:secrets/key}`,
      '2:11: cannot read the file FOLDER/secrets/key (ENOENT): create it',
    ],
    [
      'a secret file that never ends',
      `\${env:KEY}`,
      `\${file:/dev/zero}`,
      '2:11: cannot read the file /dev/zero: it is a device; name a regular file',
    ],
    ['YAML that is none', 'mode: snapshot', 'mode: "snapshot', '12:1: Missing closing "quote'],
    ['an unknown alias', 'Worker ID', '*key', '11:21: unknown alias *key: the anchor &key must stand above it'],
    [
      'aliases without end',
      'platform:',
      `a: &a [1]\nb: &b [${'*a,'.repeat(20)}]\nc: &c [${'*b,'.repeat(20)}]\nplatform:`,
      '1:1: too many aliases: write the settings out',
    ],
    [
      'a setting that stands twice',
      'mode: snapshot',
      'mode: snapshot\n      mode: snapshot',
      '10:7: Map keys must be unique',
    ],
  ])('%s', async ([, before, after, expected]) => {
    await using folder = await exportFolder()

    const message = await refusal(folder, minimal.replace(before, after), { KEY: key })

    expect(message).toContain(`FILE:${expected}`)
    expect(message.split('\n')).toHaveLength(1)
  })

  test('every one of them, in the order of the file', async () => {
    await using folder = await exportFolder()
    const text = minimal
      .replace('platform:', 'colour: blue\nplatform:\n  region: mars')
      .replace('mode: snapshot', 'mode: full\n      absence: shrug')

    const message = await refusal(folder, text, { KEY: key })

    expect(message.split('\n').map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
      'FILE:1:1: colour',
      'FILE:3:11: platform.region',
      'FILE:11:13: connections.acme.source.mode',
      'FILE:12:16: connections.acme.source.absence',
    ])
  })

  test('two connections with one target', async () => {
    await using folder = await exportFolder()
    const twin = minimal.slice(minimal.indexOf('  acme:')).replace('acme', 'twin')

    const message = await refusal(folder, `${minimal}${twin}`, { KEY: key })

    expect(message).toContain('connections.twin.target: connection acme has the same target')
  })

  test('a file that is not there', async () => {
    await using folder = await exportFolder()

    const loading = loadConfig(join(folder.path, 'none.yaml'), {})

    await expect(loading).rejects.toMatchObject({
      code: 'config_invalid',
      exit: 78,
      message: `cannot read ${join(folder.path, 'none.yaml')} (ENOENT): name the configuration with --config`,
    })
  })

  test('a pipe into which nobody writes', async () => {
    await using folder = await exportFolder()
    const pipe = join(folder.path, 'pipe')
    execFileSync('mkfifo', [pipe])
    const text = minimal.replace(`\${env:KEY}`, `\${file:pipe}`)

    const loading = loadConfig(pipe, {})

    await expect(loading).rejects.toThrow(`cannot read ${pipe}: it is a pipe; name a regular file`)
    expect(await refusal(folder, text, {})).toContain('2:11: cannot read the file FOLDER/pipe: it is a pipe')
  })

  test('an empty file', async () => {
    await using folder = await exportFolder()

    const message = await refusal(folder, '', {})

    expect(message).toBe('FILE:1:1: Invalid input: expected object, received null')
  })
})

describe('what comes with Rollcall', () => {
  test('the default configuration needs nothing but the key', async () => {
    const { connections, dataDir, platform } = await loadConfig(join(repository, 'config/rollcall.yaml'), {
      ROLLCALL_PLATFORM_KEY: key,
    })

    expect([...connections.keys()]).toEqual(['hr'])
    expect(dataDir).toBe(join(repository, 'data'))
    expect(await platform.apiKey.read()).toBe(key)
  })

  test('every example is valid once its secrets are there', async () => {
    await using folder = await exportFolder()
    const secret = await folder.write('secret', 'postgres://db/rollcall\n')
    const examples = (await readdir(join(repository, 'config/examples'))).filter(
      (name) => name.endsWith('.yaml') && !/^otel/.test(name),
    )

    for (const example of examples) {
      const text = await readFile(join(repository, 'config/examples', example), 'utf8')
      const env = {
        ROLLCALL_PLATFORM_KEY: key,
        HR_EXPORT: 'people.csv',
        DATABASE_URL: 'postgres://db/rollcall',
        REDIS_URL: 'redis://queue',
      }
      const config = await load(folder, text.replaceAll(/\/run\/[\w/-]+/g, secret), env)
      expect(config.connections.size, example).toBeGreaterThan(0)
    }
    expect(examples.length).toBeGreaterThan(2)
  })

  test('the schema for editors is current (vitest -u writes it)', async () => {
    const schema = `${JSON.stringify(jsonSchema(), null, 2)}\n`

    await expect(schema).toMatchFileSnapshot(join(repository, 'config/rollcall.schema.json'))
  })

  test('every setting is described for editors', () => {
    const bare = undescribed(jsonSchema(), '')

    expect(bare).toEqual([])
  })
})

async function load(folder: ExportFolder, text: string, env: NodeJS.ProcessEnv) {
  return loadConfig(await folder.write('rollcall.yaml', text), env)
}

/** The message of a refused configuration, with FILE and FOLDER in place of paths. */
async function refusal(folder: ExportFolder, text: string, env: NodeJS.ProcessEnv): Promise<string> {
  const error: unknown = await load(folder, text, env).then(
    () => new Error('the configuration was accepted'),
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'config_invalid', exit: 78 })
  const message = error instanceof Error ? error.message : ''
  return message.replaceAll(join(folder.path, 'rollcall.yaml'), 'FILE').replaceAll(folder.path, 'FOLDER')
}

/** The part of a JSON Schema about one setting that these tests read. */
type Setting = {
  readonly description?: string
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Setting>>
  readonly additionalProperties?: Setting | boolean
  readonly anyOf?: readonly Setting[]
}

/** The settings below `setting` that have no description. A constant needs none, and neither does the name of a person's field. */
function undescribed({ properties = {}, additionalProperties, anyOf = [] }: Setting, path: string): string[] {
  const named = Object.entries(properties).flatMap(([name, setting]) => [
    ...(setting.description === undefined && setting.const === undefined && !path.endsWith('.fields.')
      ? [`${path}${name}`]
      : []),
    ...undescribed(setting, `${path}${name}.`),
  ])
  const each = typeof additionalProperties === 'object' ? undescribed(additionalProperties, `${path}*.`) : []
  return [...named, ...each, ...anyOf.flatMap((alternative) => undescribed(alternative, path))]
}
