import { describe, expect, test } from 'vitest'
import { configOfText } from '../../../src/daemon/config/load-config.ts'
import { toDirectory } from '../../../src/daemon/sync-connection.ts'

const accounts =
  "{ type: csv, path: 'accounts/*.csv', mode: snapshot, fields: { identityId: id }, record: { login: upn } }"
const people = "hr: { target: { name: HR }, source: { type: csv, path: '*.csv', mode: snapshot, preset: generic } }"

async function configured(directory: string) {
  const text = `platform: { apiKey: '\${env:KEY}' }\nconnections:\n  ${people}\n  dir: ${directory}\n`
  return await configOfText({ file: 'rollcall.yaml', text, changedMs: 0 }, { KEY: 'k' })
}

describe('a connection of type DIRECTORY', () => {
  test('lists accounts, and is none of the connections that deliver', async () => {
    const config = await configured(
      `{ target: { type: DIRECTORY }, source: ${accounts}, schedule: { cron: '0 5 * * *' } }`,
    )

    expect([[...config.connections.keys()], [...config.directories.keys()]]).toEqual([['hr'], ['dir']])
    const [directory] = config.directories.values()
    if (!directory) throw new Error('there is no directory')
    expect(directory.source.mapping).toMatchObject({
      fields: { identityId: { column: 'id' } },
      record: { login: { column: 'upn' } },
    })
    expect(toDirectory(config, directory).nextAt(new Date('2026-11-20T04:00:00Z'))).toEqual(
      new Date('2026-11-20T05:00:00Z'),
    )
    expect(config.settings.find(({ path }) => path === 'connections.dir.source.record.login.column')?.value).toBe('upn')
  })

  test('without a schedule is read on request only', async () => {
    const config = await configured(`{ target: { type: DIRECTORY }, source: ${accounts} }`)

    const [directory] = config.directories.values()
    expect(directory && toDirectory(config, directory).nextAt(new Date())).toBeNull()
  })

  test.each(['take: each', 'afterwards: { accepted: archive }', 'watch: events'])('cannot have %s', async (setting) => {
    const source = accounts.replace('mode: snapshot', `mode: snapshot, ${setting}`)

    await expect(configured(`{ target: { type: DIRECTORY }, source: ${source} }`)).rejects.toMatchObject({
      message: expect.stringMatching(/source\.(take|afterwards|watch): a directory reads its newest list only/),
    })
  })

  test.each([
    [
      'source.status',
      'status: { column: s, leftWhen: [x], employedWhen: [y] }',
      'is of people: map enabled under record',
    ],
    ['source.onBadCell', 'onBadCell: rejectRow', 'would leave out accounts of leavers'],
    ['source.absence', 'absence: hold', 'has no effect on a directory'],
  ])('cannot have %s of people', async (path, setting, message) => {
    const source = accounts.replace('mode: snapshot', `mode: snapshot, ${setting}`)

    await expect(configured(`{ target: { type: DIRECTORY }, source: ${source} }`)).rejects.toMatchObject({
      message: expect.stringContaining(`${path}: ${message}`),
    })
  })

  test('cannot have settings of delivered people, and guards of its list alone', async () => {
    const settings = 'verify: never, guards: { shrink: { count: 9 }, leavers: { count: 9 } }'

    const refused = configured(`{ target: { type: DIRECTORY }, source: ${accounts}, ${settings} }`)

    await expect(refused).rejects.toMatchObject({
      message: expect.stringMatching(/dir.verify: has no effect.*\n.*dir.guards.leavers: has no effect/),
    })
    await expect(refused).rejects.toMatchObject({ message: expect.not.stringContaining('shrink') })
  })

  test.each([
    ['{ target: { type: DIRECTORY } }', 'source: a directory needs a source of mode snapshot'],
    [`{ target: { type: DIRECTORY }, source: ${accounts.replace('snapshot', 'delta')} }`, 'a source of mode snapshot'],
    [
      `{ target: { type: DIRECTORY }, source: ${accounts}, also: { x: { target: { name: X } } } }`,
      'also: connections cannot be linked to a directory',
    ],
    [
      `{ target: { type: DIRECTORY }, source: ${accounts.replace('login: upn', 'logon: upn')} }`,
      'record.logon: is no property of accounts; they have login, email, aliases, enabled, lastSignIn, employeeNumber, firstName, lastName',
    ],
    [
      `{ target: { type: DIRECTORY }, source: ${accounts.replace('login: upn', 'enabled: on')} }`,
      'say which column holds the login or the email',
    ],
    [
      `{ target: { type: DIRECTORY }, source: ${accounts.replace('identityId: id', 'identityId: id, email: mail')} }`,
      'fields.email: is a field of people: map it under record',
    ],
    [
      "{ target: { name: X }, source: { preset: okta-users, parameters: { host: a.okta.com }, oauth2: { clientId: c, privateKey: '${env:KEY}' } } }",
      'source.preset: lists accounts: it is for a target of type DIRECTORY',
    ],
  ])('is refused where it contradicts itself: %s', async (directory, message) => {
    await expect(configured(directory)).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(message),
    })
  })
})
