import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { connectScim } from '../../../src/cli/init/scim.ts'
import { connectionText } from '../../../src/daemon/proposal/configuration.ts'
import { call } from '../../helpers/called.ts'
import { storeFolder } from '../../helpers/servers/provided.ts'
import { type Host, startHost } from '../../helpers/world.ts'

let host: Host
let key = ''
let folder = ''

beforeAll(async () => {
  host = await startHost()
  key = (await host.tenant()).key
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  await writeFile(join(folder, 'key'), `${key}\n`)
  return () => rm(folder, { recursive: true, force: true })
})
afterAll(() => host[Symbol.asyncDispose]())

function init(...args: string[]) {
  const platform = ['--platform-url', host.platform.baseUrl, '--key-file', join(folder, 'key')]
  return call([
    'init',
    '--source',
    'scim',
    '--out',
    join(folder, 'rollcall.yaml'),
    '--time-zone',
    'UTC',
    ...platform,
    ...args,
  ])
}

/** Puts the store of a first start there: making one takes longer than all else. */
async function prepareStore(): Promise<void> {
  await cp(await storeFolder(), join(folder, 'data', 'store'), { recursive: true })
}

async function tokens() {
  const { stdout } = await call(['token', 'list', '--json', '--config', join(folder, 'rollcall.yaml')])
  return JSON.parse(stdout).tokens as { name: string; role: string; connection: string; createdBy: string }[]
}

test('init writes a pushed connection, creates its token and shows it with the settings for Okta and Entra', async () => {
  await prepareStore()
  const written = await init(
    '--yes',
    '--name',
    'Acme HR',
    '--public-url',
    'https://rollcall.acme.example/',
    '--by',
    'ops',
  )
  const text = await readFile(join(folder, 'rollcall.yaml'), 'utf8')

  expect(written).toMatchObject({ exit: 0, stderr: '' })
  const address = 'https://rollcall.acme.example/scim/v2/acme-hr'
  for (const line of [`base URL: ${address}`, `Tenant URL: ${address}`, 'userName', 'externalId from employeeId'])
    expect(written.stdout).toContain(line)
  const [token = ''] = /rct_[0-9a-f]{72}/.exec(written.stdout) ?? []
  expect(token).not.toBe('')
  expect(text).not.toContain(token)
  expect(parse(text)).toMatchObject({
    server: { publicUrl: 'https://rollcall.acme.example' },
    connections: { 'acme-hr': { target: { name: 'Acme HR' }, source: { type: 'scim', timeZone: 'UTC' } } },
  })
  expect(await tokens()).toMatchObject([
    { name: 'SCIM of acme-hr', role: 'scim', connection: 'acme-hr', createdBy: 'ops', state: 'active' },
  ])
})

test('without a public address, the result names the setting that helps', async () => {
  await prepareStore()
  const written = await init('--json')

  expect(JSON.parse(written.stdout).scim).toMatchObject({
    address: 'http://127.0.0.1:8686/scim/v2/hr',
    help: expect.stringContaining('server.publicUrl'),
    token: expect.stringMatching(/^rct_/),
  })
})

test('init writes the configuration and names the command for a token if a token of that name exists', async () => {
  await prepareStore()
  await init('--yes')

  const again = await init('--yes', '--replace')

  expect(again.exit).not.toBe(0)
  expect(again.stdout).toMatch(/there is a token "SCIM of hr" already.*token create --role scim --connection hr/)
  expect(again.stdout).not.toMatch(/rct_/)
  expect(await tokens()).toHaveLength(1)
})

test.each([
  ['an address with a path', ['--public-url', 'https://acme.example/rollcall'], /a scheme and a host/],
  ['an option of an export', ['--encoding', 'utf-8'], /cannot be used with --encoding/],
  ['an option of two words', ['--header-line', '2'], /cannot be used with --header-line/],
  ['a field', ['--field', 'email=mail'], /cannot be used with --field/],
  ['an unknown time zone', ['--time-zone', 'Mars/Olympus'], /unknown time zone/],
  ['a reference as a name', ['--name', '${env:HOME}'], /begins a reference/],
])('%s is refused, and nothing is written', async (_, args, message) => {
  const refused = await init('--yes', ...args)

  expect(refused.exit).not.toBe(0)
  expect(refused.stderr).toMatch(message)
  expect(await readdir(folder)).toEqual(['key'])
})

test('init asks for the name, the time zone and the address, and asks again after an answer that cannot be used', async () => {
  const answers = ['Staff', 'Mars', 'Europe/Berlin', 'rollcall.acme.example', 'https://rollcall.acme.example']
  const questions: string[] = []
  const messages: string[] = []
  const prompts = {
    async text(message: string) {
      questions.push(message)
      return answers.shift() ?? ''
    },
    choose: () => Promise.reject(new Error('nothing is chosen')),
    confirm: () => Promise.reject(new Error('nothing is confirmed')),
  }

  const { connection, name, publicUrl } = await connectScim(
    {},
    { prompts, output: { printMessage: (message) => void messages.push(message) } },
  )

  expect(questions).toMatchObject(
    [/Name/, /time zone/, /time zone/, /https address/, /https address/].map((part) => expect.stringMatching(part)),
  )
  expect(messages).toMatchObject(
    [/unknown time zone/, /a scheme and a host/].map((part) => expect.stringMatching(part)),
  )
  expect([name, publicUrl]).toEqual(['staff', 'https://rollcall.acme.example'])
  expect(parse(connectionText(connection)).connections.staff.source).toEqual({
    type: 'scim',
    timeZone: 'Europe/Berlin',
  })
})
