import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import tls from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { byPath } from '../../src/daemon/proposal/recipe-connection.ts'
import { call } from '../helpers/called.ts'
import { type EmptyDaemon, openEmptyDaemon } from '../helpers/first-visit.ts'
import { credentials } from '../helpers/hr-systems/credentials.ts'
import { createPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'
import {
  type Answer,
  type Certificates,
  type HrServer,
  json,
  makeCertificates,
  startHrServer,
} from '../helpers/sources/hr-server.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

const { token, clientId, clientSecret } = credentials
const users = ['ana', 'ben', 'cleo'].map((name) => ({ id: name, active: true, userName: `${name}@example.com` }))
const html: Answer = (_request, response) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>')

let host: Host
let tenant: Awaited<ReturnType<Host['tenant']>>
let empty: EmptyDaemon
let made: Certificates
let database: TestDatabase

beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
  empty = await openEmptyDaemon({ baseUrl: host.platform.baseUrl })
  made = await makeCertificates(empty.folder)
  // The commands must not find the daemon.
  database = await createPostgresDatabase()
  await writeFile(join(empty.folder, 'other-database'), database.at)
  await writeFile(join(empty.folder, 'key'), tenant.key)
  await writeFile(join(empty.folder, 'hr.secret'), `${token}\n`)
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await empty[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

/** What a person gives for a list, and the path of the secret in it. */
type ListGiven = {
  readonly recipe: string
  readonly secretAt: string
  readonly texts: Readonly<Record<string, string>>
  readonly parameters: Readonly<Record<string, string>>
  readonly settings: Readonly<Record<string, unknown>>
}

function scimList({ url }: HrServer, settings: object = {}): ListGiven {
  const more = { url: `${url}/scim/Users`, allowPrivate: true, pages: 'single', ...settings }
  return { recipe: 'scim', secretAt: 'bearer', texts: {}, parameters: { host: 'hr.example.com' }, settings: more }
}

function personioList({ url }: HrServer): ListGiven {
  const settings = {
    url: `${url}/v2/persons`,
    'oauth2.tokenUrl': `${url}/token`,
    'each.0.url': `${url}/{id}/employments`,
  }
  return {
    recipe: 'personio-v2-api',
    secretAt: 'oauth2.clientSecret',
    texts: { 'oauth2.clientId': clientId },
    parameters: {},
    settings: { ...settings, allowPrivate: true },
  }
}

/** What `init`, `check` and `sync` say of a list. */
async function printedInTerminal({ recipe, secretAt, texts, parameters, settings }: ListGiven) {
  const given = [
    ...Object.entries(parameters).flatMap(([name, value]) => ['--parameter', `${name}=${value}`]),
    ...Object.entries(texts).flatMap(([path, value]) => ['--credential', `${path}=${value}`]),
    ...Object.entries(settings).flatMap(([path, value]) => ['--set', `${path}=${value}`]),
  ]
  const platform = ['--platform-url', host.platform.baseUrl, '--key-file', join(empty.folder, 'key')]
  const secret = ['--credential', `${secretAt}=${join(empty.folder, 'hr.secret')}`]
  const init = await call(
    ['init', '--yes', '--recipe', recipe, ...platform, '--out', join(empty.folder, 'new.yaml'), ...given, ...secret],
    { cwd: empty.folder },
  )
  const source = { preset: recipe, parameters, ...byPath({ ...texts, ...settings, [secretAt]: '${file:hr.secret}' }) }
  const connections = { hr: { target: { name: 'HR' }, source: { ...source, timeZone: 'UTC' } } }
  return [init, ...(await runCommands(connections))].map(({ exit, stdout, stderr }) => ({
    exit,
    text: `${stdout}\n${stderr}`,
  }))
}

/** Ends of `check` and `sync`. */
async function runCommands(connections: object) {
  const file = join(empty.folder, 'bad.yaml')
  const config = {
    platform: { baseUrl: host.platform.baseUrl, apiKey: '${file:key}' },
    database: '${file:other-database}',
    dataDir: './other-data',
    connections,
  }
  await writeFile(file, JSON.stringify(config))
  return [await call(['check', '--config', file]), await call(['sync', '--config', file])]
}

/** What the console says of a list, and what the log does. */
async function shownInConsole({ recipe, secretAt, texts, parameters, settings }: ListGiven) {
  const given = { ...texts, [secretAt]: recipe === 'scim' ? token : clientSecret }
  const request = { recipe, name: 'HR', timeZone: 'UTC', parameters, credentials: given, settings }
  const { body } = await empty.post('/first-visit/lists', request)
  const logged = empty.events.filter(({ event }) => event === 'first_visit.unread').at(-1)
  return [String(body.message), JSON.stringify(logged)]
}

/** `answer`: of the system. `settings`: further ones. `sentence`: the reason and what helps. */
type BadList = {
  readonly what: string
  readonly answer: Answer
  readonly settings?: object
  readonly sentence: RegExp
}

const list = { totalResults: 3, Resources: users }
const bad: readonly BadList[] = [
  {
    what: 'a wrong pointer',
    answer: json(list),
    settings: { records: '/Users' },
    sentence: /expected a list of records at \/Users, found nothing: check records/,
  },
  {
    what: 'a wrong total',
    answer: json({ ...list, totalResults: 4 }),
    sentence: /\/totalResults counts 4 records, and 3 were read.*: ask for all records at once/,
  },
  {
    what: 'refused credentials',
    answer: (_request, response) => response.writeHead(401).end(),
    sentence: /does not accept the credentials \(status 401\): check them, and whether they have expired/,
  },
  {
    what: 'a list that is a single object',
    answer: json({ totalResults: 1, Resources: users[0] }),
    sentence: /found a single object: let records point to the list in it; if it is one person/,
  },
  {
    what: 'a page that is not JSON',
    answer: (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('Sorry'),
    sentence: /is not valid JSON: it was cut off, or is something else/,
  },
  {
    what: 'a page that is cut off',
    answer: (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(list).slice(0, 90)),
    sentence: /is not valid JSON.*: it was cut off, or is something else/,
  },
]

/** Expects the sentence wherever somebody meets the list, and that nobody was sent. */
async function expectSentence(sentence: RegExp, { terminal, console }: { terminal: ListGiven; console: ListGiven }) {
  const [init, check, sync] = await printedInTerminal(terminal)
  const inConsole = await shownInConsole(console)

  expect([init?.exit, check?.exit, sync?.exit]).toEqual([66, 66, 66])
  for (const text of [init?.text, check?.text, sync?.text, ...inConsole]) expect(text).toMatch(sentence)
  expect(JSON.stringify([init, check, sync, inConsole])).not.toContain(token)
  expect([...(await peopleOn(tenant.client)).keys()]).toEqual([])
}

test.each(bad)(
  '$what is said with what helps by init, check, sync, console and log, and nobody is sent',
  async (one) => {
    await using server = await startHrServer(one.answer)
    const given = scimList(server, one.settings)

    await expectSentence(one.sentence, { terminal: given, console: given })
  },
)

test('so is a token endpoint that answers HTML', async () => {
  await using server = await startHrServer(html)
  const given = personioList(server)

  await expectSentence(/\/token answers with text\/html, a login page perhaps: check the address/, {
    terminal: given,
    console: given,
  })
})

test('so is an expired certificate', async () => {
  await using server = await startHrServer(json(list), made.expired)
  const known = tls.getCACertificates()
  using trusting = new DisposableStack()
  trusting.defer(() => tls.setDefaultCACertificates(known))
  tls.setDefaultCACertificates([...known, String(made.server.ca)])

  await expectSentence(/shows a certificate that has expired \(CERT_HAS_EXPIRED\): let its administrator renew it/, {
    terminal: scimList(server, { ca: 'ca.pem' }),
    console: scimList(server),
  })
})

test.each<[string, Answer]>([
  ['is refused', (_request, response) => response.writeHead(403).end()],
  ['leads elsewhere', (_request, response) => response.writeHead(302, { location: 'https://other.example/' }).end()],
  ['answers HTML', html],
  ['holds a single object', json({ Resources: users[0] })],
  [
    'fails at its second page',
    (request, response) => {
      if (request.url?.includes('page=2')) response.writeHead(404).end()
      else json({ Resources: users, next: '?page=2' })(request, response)
    },
  ],
  [
    'leads back to itself',
    (request, response) => json({ Resources: [{ id: request.url }], next: '?page=2' })(request, response),
  ],
])('a secret part of an address appears nowhere if the list %s', async (_how, answer) => {
  await using server = await startHrServer(answer)
  const source = {
    ...{ type: 'http', mode: 'snapshot', format: 'json', records: '/Resources', next: '/next', allowPrivate: true },
    url: `${server.url}/feeds/\${file:hr.secret}/people`,
    fields: { identityId: 'id', email: 'userName' },
  }

  const ended = await runCommands({ feed: { target: { name: 'Feed' }, source } })

  expect(ended.map(({ exit }) => exit)).toEqual([66, 66])
  expect(ended.map(({ stdout, stderr }) => `${stdout}${stderr}`.includes('/feeds/${file:hr.secret}/people'))).toEqual([
    true,
    true,
  ])
  expect(JSON.stringify(ended)).not.toContain(token)
})
