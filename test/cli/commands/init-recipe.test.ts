import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { connectRecipe } from '../../../src/cli/init/recipe.ts'
import { plain } from '../../../src/cli/render/text.ts'
import { type Prompts, Stopped } from '../../../src/cli/session/prompts.ts'
import { call } from '../../helpers/called.ts'
import { type HrServer, startHrServer } from '../../helpers/sources/hr-server.ts'
import { type Host, startHost } from '../../helpers/world.ts'

const token = 'token-of-the-list'

let host: Host
let hr: HrServer
let folder = ''

/** A SCIM list of three users in one response; one user is deactivated. */
beforeAll(async () => {
  host = await startHost()
  folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  await writeFile(join(folder, 'key'), `${(await host.tenant()).key}\n`)
  await writeFile(join(folder, 'hr.token'), `${token}\n`)
  await writeFile(join(folder, 'wrong.token'), 'another\n')
  const users = ['ana', 'ben', 'cleo'].map((name, at) => ({
    id: `u${at + 1}`,
    active: at < 2,
    name: { givenName: name, familyName: 'Berg' },
    title: 'Clerk',
    emails: [{ type: 'work', value: `${name}@example.com` }],
  }))
  hr = await startHrServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://hr')
    const isAllowed = request.headers.authorization === `Bearer ${token}`
    response.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' })
    const start = Number(url.searchParams.get('startIndex') ?? '1') - 1
    response.end(JSON.stringify(isAllowed ? { totalResults: 3, Resources: users.slice(start, start + 3) } : {}))
  })
})
afterAll(async () => {
  await hr[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
  await host[Symbol.asyncDispose]()
})

function localSettings(): readonly string[] {
  return [
    '--set',
    `url=${hr.url}/scim/Users`,
    '--set',
    'allowPrivate=true',
    '--set',
    'insecure=true',
    '--set',
    'pages=single',
  ]
}

function init(out: string, ...args: string[]) {
  const platform = ['--platform-url', host.platform.baseUrl, '--key-file', join(folder, 'key')]
  return call(['init', '--yes', ...platform, '--out', join(folder, out), '--time-zone', 'UTC', ...args])
}

const scim = ['--recipe', 'scim', '--parameter', 'host=hr.example.com']

describe('a configuration of a recipe', () => {
  test('is written once its list was read, holds no secret, and is what a plan is made with', async () => {
    const written = await init(
      'scim.yaml',
      ...scim,
      '--credential',
      `bearer=${join(folder, 'hr.token')}`,
      ...localSettings(),
    )
    const text = await readFile(join(folder, 'scim.yaml'), 'utf8')
    const plan = await call(['plan', '--json', '--config', join(folder, 'scim.yaml')])

    expect(written).toMatchObject({ exit: 0, stdout: expect.stringContaining('3 people, 1 of them have left already') })
    expect(written.stdout).toMatch(/u1 +ana@example\.com +ana Berg +Clerk\n/)
    expect(written.stdout).toMatch(/u3 +cleo@example\.com +cleo Berg +Clerk +has left\n/)
    expect(parse(text).connections.hr.source).toEqual({
      preset: 'scim',
      parameters: { host: 'hr.example.com' },
      bearer: `\${file:hr.token}`,
      url: `${hr.url}/scim/Users`,
      allowPrivate: true,
      insecure: true,
      pages: 'single',
      timeZone: 'UTC',
    })
    expect(text + written.stdout + written.stderr).not.toContain(token)
    expect(plan.exit).toBe(0)
    expect(JSON.parse(plan.stdout)).toMatchObject({ records: 3, counts: { rejected: 0 } })
  })

  test('is described to a program without people, unless it asks for them', async () => {
    const args = [
      ...scim,
      '--credential',
      `bearer=${join(folder, 'hr.token')}`,
      ...localSettings(),
      '--json',
      '--replace',
    ]

    const bare = await init('json.yaml', ...args)
    const full = await init('json.yaml', ...args, '--show-values')

    expect(JSON.parse(bare.stdout)).toMatchObject({
      recipe: 'scim',
      list: { records: 3, leavers: 1, people: [], end: expect.any(String) },
    })
    expect(JSON.parse(full.stdout).list.people[0]).toEqual({
      identityId: 'u1',
      email: 'ana@example.com',
      name: 'ana Berg',
      jobTitle: 'Clerk',
      leavingDate: null,
      hasLeft: false,
    })
  })

  test.each([
    ['an unknown recipe', ['--recipe', 'scm'], 'there is no recipe "scm": did you mean "scim"?'],
    [
      'a missing parameter',
      ['--recipe', 'scim'],
      'give the host of the SCIM address with --parameter host=hr.example.com',
    ],
    [
      'a parameter of another form',
      ['--recipe', 'scim', '--parameter', 'host=a/b'],
      "parameters.host: is no host of the SCIM address such as 'hr.example.com'",
    ],
    [
      'an unknown parameter',
      [...scim, '--parameter', 'pth=v2'],
      'the recipe has no "pth" for --parameter: did you mean "path"?',
    ],
    ['a missing credential', scim, 'give the file of the bearer token with --credential bearer=bearer.secret'],
    [
      'an unknown credential',
      [...scim, '--credential', 'token=x'],
      'the recipe has no "token" for --credential: it asks for bearer',
    ],
    [
      'a file of a secret that is not there',
      [...scim, '--credential', 'bearer=none.token'],
      'cannot read the file of the bearer token (ENOENT): write the content into a file',
    ],
    [
      'an option about exports',
      [...scim, '--source', 'x.csv'],
      '--recipe reads a list by API and cannot be used with --source',
    ],
    ['no value', ['--recipe', 'scim', '--parameter', 'host'], '--parameter takes NAME=VALUE'],
    ['a setting that is no YAML', [...scim, '--set', 'headers=[a'], '--set headers: [a is no YAML'],
  ])('is refused with %s', async (_what, args, sentence) => {
    const refused = await init('refused.yaml', ...args)

    expect(refused).toMatchObject({ exit: 2, stderr: expect.stringContaining(sentence) })
    await expect(readFile(join(folder, 'refused.yaml'))).rejects.toThrow('ENOENT')
  })

  test('is not written where a secret is given instead of its file, and the secret is not printed', async () => {
    const refused = await init('refused.yaml', ...scim, '--credential', `bearer=${token}`, ...localSettings())

    expect(refused).toMatchObject({ exit: 2, stderr: expect.stringContaining('file of the bearer token') })
    expect(refused.stdout + refused.stderr).not.toContain(token)
  })

  test('is not written where the credentials are refused', async () => {
    const refused = await init(
      'refused.yaml',
      ...scim,
      '--credential',
      `bearer=${join(folder, 'wrong.token')}`,
      ...localSettings(),
    )

    expect(refused).toMatchObject({ exit: 66, stderr: expect.stringMatching(/401/) })
    await expect(readFile(join(folder, 'refused.yaml'))).rejects.toThrow('ENOENT')
  })
})

/** Prompts that return the given answers and confirmations in order. Without any left: the default, and no. */
function person(answers: string[], confirmations: boolean[]) {
  const shown: string[] = []
  const show = (text: string) => void shown.push(text)
  const prompts: Prompts = {
    async text(message, usual) {
      show(message)
      return answers.shift() || usual
    },
    choose: () => Promise.reject(new Error('nothing is chosen')),
    async confirm(message) {
      show(message)
      return confirmations.shift() ?? false
    },
  }
  const output = {
    json: false,
    quiet: false,
    paint: plain,
    mayShowValues: () => true,
    printPart: show,
    printMessage: show,
    printResult: () => {},
  }
  return { shown, asking: { prompts, output, signal: AbortSignal.timeout(20_000), file: join(folder, 'asked.yaml') } }
}

describe('a person at the terminal', () => {
  const options = {
    recipe: 'scim',
    parameter: [],
    credential: [],
    set: [] as readonly string[],
    timeZone: 'UTC',
    name: 'HR',
  }

  test('is asked for what the recipe needs until the list can be read', async () => {
    const address = 'hr.example.com'
    const tokens = ['wrong.token', 'hr.token'].map((name) => join(folder, name))
    // An empty answer accepts the default. The time zone is unknown and asked again; the host has an example but no default, so neither ''
    // nor 'not a host' is taken. In the second round, after the wrong token, the defaults are the previous answers.
    const first = ['Mars/Base', 'UTC', '', 'not a host', address, '', '', tokens[0] ?? '']
    const { shown, asking } = person([...first, '', '', '', tokens[1] ?? ''], [true, true])

    const { connection } = await connectRecipe(
      { ...options, timeZone: undefined, set: localSettings().filter((word) => word !== '--set') },
      asking,
    )

    const text = shown.join('\n')
    expect(text).toContain('unknown time zone "Mars/Base": write an IANA name such as Europe/Berlin')
    expect(text).toContain('Any system with a SCIM 2.0 list of users, in the HR system:\n  1.  Create a token')
    expect(text).toContain('Host of the SCIM address? (such as hr.example.com)')
    expect(text).toContain('an answer is needed here')
    expect(text).toContain('parameters.host: is no host of the SCIM address')
    expect(text).toContain('File of the bearer token? (The system shows it once, when the token is created)')
    expect(text).toMatch(/401[\s\S]*Give it again, and try once more\?[\s\S]*3 people, 1 of them/)
    expect(shown.at(-1)).toBe('Are these your people?')
    expect(connection.connections).toMatchObject({
      hr: { source: { bearer: `\${file:hr.token}`, parameters: { host: address }, timeZone: 'UTC' } },
    })
  })

  test('who does not know the people stops, and nothing was written', async () => {
    const { asking } = person(['hr.example.com', '', '', join(folder, 'hr.token')], [false])

    const stopped = connectRecipe({ ...options, set: localSettings().filter((word) => word !== '--set') }, asking)

    await expect(stopped).rejects.toBeInstanceOf(Stopped)
    await expect(readFile(join(folder, 'asked.yaml'))).rejects.toThrow('ENOENT')
  })
})
