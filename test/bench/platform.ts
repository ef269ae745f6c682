import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { newDatabase, startPlatform } from './place.ts'
import { fillPlatform, newConnection, type Sizes } from './platform-data.ts'
import { bareSync } from './platform-sync.ts'
import { peakMiB } from './report.ts'

/** A measurement: our figure, that of the reference, and their ratio. `limit` bounds the ratio. */
export type Compared = {
  readonly label: string
  readonly ours: number
  readonly reference: number
  readonly unit: string
  readonly ratio: number
  readonly limit: string
}

const seed = fileURLToPath(new URL('../../config/platform-seed.yaml', import.meta.url))
const operatorToken = 'bench'
const rounds = 4
const roundSeconds = 4
const concurrency = 4
const pageTimes = 200
const batchSize = 1000
const batches = 60

/** Measures the platform on PostgreSQL against bare SQL and bare routes on the same server, in turns. */
export async function measurePlatform(server: string, sizes: Sizes): Promise<Compared[]> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const database = opening.use(await newDatabase(server)).url
  report(`filling in ${sizes.identities} identities, ${sizes.assets} assets, ${sizes.controls} controls`)
  const filled = await fillPlatform(database, seed, sizes)
  const copy = opening.use(await newDatabase(server, database)).url
  const keyFile = join(folder, 'key')
  const env = { PLATFORM_OPERATOR_TOKEN: operatorToken }
  const platform = opening.use(await startPlatform({ database, keyFile, env }))
  const key = (await readFile(keyFile, 'utf8')).trim()
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  opening.defer(() => dispatcher.close())
  const client = new pg.Client({ connectionString: database, options: '-c search_path=platform' })
  await client.connect()
  opening.defer(() => client.end())

  const get = (path: string) => call(`${platform.baseUrl}${path}`, { method: 'GET', key, dispatcher })
  const lists = [
    {
      name: 'identities',
      rows: sizes.identities,
      path: `/custom-connections/${filled.connectionId}/hris-user-identities`,
      sql: `select * from hris_user_identities where connection_id = ${filled.connectionId} and deleted_at is null order by created_at, id limit 51`,
    },
    {
      name: 'assets',
      rows: sizes.assets,
      path: '/assets',
      sql: `select * from assets where account_id = ${filled.accountId} order by created_at, id limit 51`,
    },
    {
      name: 'controls',
      rows: sizes.controls,
      path: `/workspaces/${filled.workspaceId}/controls`,
      sql: `select * from controls where account_id = ${filled.accountId} and workspace_id = ${filled.workspaceId} order by created_at, id limit 51`,
    },
  ]

  const results: Compared[] = []
  for (const list of lists) {
    results.push(await compareDepth(list, get))
    results.push(await compareFirstPage(list, { database, get }))
  }
  results.push(...(await compareSync({ platform, copy, dispatcher, accountId: filled.accountId })))
  results.push(...(await compareBatches({ client, filled, baseUrl: platform.baseUrl, key, dispatcher })))
  return results
}

type List = { readonly name: string; readonly rows: number; readonly path: string; readonly sql: string }
type Get = (path: string) => Promise<unknown>

const Page = z.object({ pagination: z.object({ cursor: z.string().optional() }) })

/** A page at nine tenths of the list against its first page. */
async function compareDepth({ name, rows, path }: List, get: Get): Promise<Compared> {
  const depth = Math.floor(rows * 0.9)
  report(`walking to row ${depth} of the ${name}`)
  let cursor = ''
  for (let row = 0; row + 500 <= depth; row += 500) {
    const page = Page.parse(await get(`${path}?size=500${cursor && `&cursor=${cursor}`}`))
    cursor = page.pagination.cursor ?? ''
  }
  const timed = async (address: string) => {
    const began = performance.now()
    await get(address)
    return performance.now() - began
  }
  const first: number[] = []
  const deep: number[] = []
  for (let time = 0; time < pageTimes; time += 1) {
    first.push(await timed(path))
    deep.push(await timed(`${path}?cursor=${cursor}`))
  }
  const [ours, reference] = [mean(deep), mean(first)]
  return {
    label: `${name}: page at row ${depth} against the first`,
    ours,
    reference,
    unit: 'ms',
    ratio: ours / reference,
    limit: '<= 1.3',
  }
}

/** First pages a second against the same SQL behind a bare route. */
async function compareFirstPage(
  { name, path, sql }: List,
  { database, get }: { readonly database: string; readonly get: Get },
): Promise<Compared> {
  report(`first pages of the ${name}`)
  await using bare = await startBare(database, sql)
  const dispatcher = new Agent()
  const ours: number[] = []
  const reference: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const platformRate = await requestsPerSecond(() => get(path))
    const bareRate = await requestsPerSecond(() => call(bare.url, { method: 'GET', key: '', dispatcher }))
    // New processes are slower, which must not distort the ratio.
    if (round === 0) continue
    ours.push(platformRate)
    reference.push(bareRate)
  }
  await dispatcher.close()
  return {
    label: `${name}: first pages`,
    ours: mean(ours),
    reference: mean(reference),
    unit: 'requests/s',
    ratio: mean(ours) / mean(reference),
    limit: '>= 0.6',
  }
}

async function requestsPerSecond(send: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  const until = began + roundSeconds * 1000
  let answered = 0
  const worker = async () => {
    while (performance.now() < until) {
      await send()
      answered += 1
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return answered / ((performance.now() - began) / 1000)
}

/** Batches of people through the API against one statement with the same rows each, for new, changed and unchanged people. */
async function compareBatches({
  client,
  filled,
  baseUrl,
  key,
  dispatcher,
}: {
  readonly client: pg.Client
  readonly filled: { readonly accountId: number }
  readonly baseUrl: string
  readonly key: string
  readonly dispatcher: Agent
}): Promise<Compared[]> {
  const { rows } = await client.query('select min(id) as id from users')
  const owner = { accountId: filled.accountId, userId: Number(rows[0].id) }
  const connections = { ours: await newConnection(client, owner), bare: await newConnection(client, owner) }
  const url = `${baseUrl}/custom-connections/${connections.ours}/hris-user-identities`
  // The first requests of a process are slower. These people are not measured.
  const passes = [
    { name: 'warm-up', from: 1_000_000, title: 'Engineer' },
    { name: 'new', from: 0, title: 'Engineer' },
    { name: 'changed', from: 0, title: 'Director' },
    { name: 'unchanged', from: 0, title: 'Director' },
  ]
  const results: Compared[] = []
  for (const { name, from, title } of passes) {
    report(`batches of ${batchSize} people: ${name}`)
    const ours: number[] = []
    const reference: number[] = []
    for (let batch = 0; batch < batches; batch += 1) {
      const text = JSON.stringify(people(from + batch * batchSize, title))
      const began = performance.now()
      await post(url, { key, dispatcher, body: text })
      const between = performance.now()
      await client.query(bareUpsert, [connections.bare, text])
      ours.push(between - began)
      reference.push(performance.now() - between)
    }
    if (name === 'warm-up') continue
    // A checkpoint of the server takes a second and hits a batch by chance, so the median batch is used.
    const perSecond = (times: readonly number[]) => batchSize / (median(times) / 1000)
    results.push({
      label: `batch upsert: ${name} people`,
      ours: perSecond(ours),
      reference: perSecond(reference),
      unit: 'people/s',
      ratio: median(reference) / median(ours),
      limit: '>= 0.6',
    })
  }
  return results
}

function people(from: number, jobTitle: string) {
  return Array.from({ length: batchSize }, (_, index) => {
    const n = from + index
    return {
      identityId: `B${n}`,
      email: `batch${n}@acme.example`,
      firstName: `Given${n % 997}`,
      lastName: `Family${n % 991}`,
      jobTitle,
      managerId: `B${Math.floor(n / 10)}`,
      managerName: 'Somebody Else',
      startedAt: '2020-01-01T00:00:00.000Z',
      isContractor: n % 10 === 0,
    }
  })
}

const bareUpsert = `
  insert into hris_user_identities as known (connection_id, identity_id, email, first_name, last_name, job_title, manager_id, manager_name,
    started_at, is_contractor, created_at, updated_at)
  select $1, "identityId", email, "firstName", "lastName", "jobTitle", "managerId", "managerName", "startedAt", "isContractor", now(), now()
  from json_to_recordset($2::json) as person ("identityId" text, email text, "firstName" text, "lastName" text, "jobTitle" text,
    "managerId" text, "managerName" text, "startedAt" timestamptz, "isContractor" boolean)
  on conflict (connection_id, identity_id) do update
  set email = excluded.email, first_name = excluded.first_name, last_name = excluded.last_name, job_title = excluded.job_title,
    manager_id = excluded.manager_id, manager_name = excluded.manager_name, started_at = excluded.started_at,
    is_contractor = excluded.is_contractor, updated_at = excluded.updated_at`

/** The first identity sync of everybody against bare statements with the same result in a copy of the database, and a sync without changes. */
async function compareSync({
  platform,
  copy,
  dispatcher,
  accountId,
}: {
  readonly platform: { readonly operatorUrl: string; readonly pid: number }
  readonly copy: string
  readonly dispatcher: Agent
  readonly accountId: number
}): Promise<Compared[]> {
  const before = await peakMiB(platform.pid)
  const sync = async (name: string) => {
    report(`identity sync: ${name}`)
    const began = performance.now()
    const body = JSON.stringify({ account: 'Acme' })
    await call(`${platform.operatorUrl}/identity-syncs`, { method: 'POST', key: operatorToken, dispatcher, body })
    return (performance.now() - began) / 1000
  }
  report('identity sync: bare statements')
  const reference = await bareSync(copy, accountId)
  const first = await sync('first')
  const second = await sync('unchanged')
  const after = await peakMiB(platform.pid)
  const against = (label: string, ours: number, to: number, unit: string, limit: string) => {
    return { label, ours, reference: to, unit, ratio: ours / to, limit }
  }
  return [
    against('identity sync: everybody new', first, reference, 's', '<= 3'),
    against('identity sync: nothing new', second, reference, 's', '<= 3'),
    against('memory of the platform after the syncs against before', after, before, 'MiB', 'bounded'),
  ]
}

/** Sends a batch and discards the answer, because the work of a client is not measured. */
async function post(url: string, { key, dispatcher, body }: { key: string; dispatcher: Agent; body: string }) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await request(url, { method: 'POST', headers, dispatcher, body })
  await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER })
  if (answer.statusCode >= 300) throw new Error(`${url} answers ${answer.statusCode}`)
}

async function call(
  url: string,
  {
    method,
    key,
    dispatcher,
    body,
  }: {
    readonly method: 'GET' | 'POST'
    readonly key: string
    readonly dispatcher: Agent
    readonly body?: string
  },
): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) }
  const answer = await request(url, { method, headers, dispatcher, ...(body !== undefined && { body }) })
  if (answer.statusCode >= 300) throw new Error(`${url} answers ${answer.statusCode}: ${await answer.body.text()}`)
  return answer.body.json()
}

async function startBare(database: string, statement: string) {
  const script = fileURLToPath(new URL('task-list.ts', import.meta.url))
  const child = spawn(process.execPath, [script, database, statement], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const { value, done } = await createInterface(child.stdout)[Symbol.asyncIterator]().next()
  if (done) throw new Error('the bare route ended before it served')
  return {
    url: z.object({ url: z.string() }).parse(JSON.parse(value)).url,
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

function report(step: string): void {
  process.stderr.write(`${step} …\n`)
}
