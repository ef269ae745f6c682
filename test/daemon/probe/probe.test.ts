import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { deliveryOperations } from '../../../src/contract/platform/delivery-operations.ts'
import type { IdentityRecord, ItemResult } from '../../../src/contract/platform/hris-user-identities.ts'
import { assumptions } from '../../../src/daemon/probe/assumptions.ts'
import type { CheckResult } from '../../../src/daemon/probe/check-result.ts'
import { probePlatform } from '../../../src/daemon/probe/probe.ts'
import { createClient } from '../../../src/http/client/client.ts'
import { createRateLimiter } from '../../../src/sync/rate-limit/rate-limiter.ts'
import { faults, resultChanges } from '../../helpers/faults/faults.ts'
import { type Fault, type FaultProxy, type ReceivedRequest, startFaultProxy } from '../../helpers/faults/proxy.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { openWorkplace } from '../../helpers/workplace.ts'
import { bodyOf, openTestPlatform, type TestAccount, type TestPlatform } from '../../platform/helpers/platforms.ts'

let at: TestPlatform
let proxy: FaultProxy
let account: TestAccount
beforeAll(async () => {
  at = await openTestPlatform(createPostgresDatabase)
  proxy = await startFaultProxy({ target: at.platform.baseUrl })
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await at[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await proxy.heal()
  proxy.forget()
  account = await at.newAccount()
})

async function keyOf(granted: string[] | 'all'): Promise<string> {
  const body = { account: account.name, name: 'probe', permissions: granted }
  return (await at.operator.createKey({ body })).key
}

type ProbeSettings = {
  readonly bearer?: string
  readonly agrees?: boolean
  readonly signal?: AbortSignal
  consents?: (readonly number[])[]
}

/** The results of a probe of the platform behind the proxy. Throws what the probe throws when it is stopped. */
async function* probing({
  bearer,
  agrees = true,
  signal = new AbortController().signal,
  consents = [],
}: ProbeSettings = {}) {
  const { baseUrl } = proxy
  const client = createClient(deliveryOperations, { baseUrl, bearer: bearer ?? (await keyOf('all')), timeoutMs: 5000 })
  const rateLimiter = createRateLimiter({ pool: null, platform: baseUrl, requestsPerMinute: 100_000, inFlight: 2 })
  yield* probePlatform(
    { client, baseUrl, rateLimiter, inFlight: 2 },
    {
      signal,
      agrees: async (leftovers) => {
        consents.push(leftovers)
        return agrees
      },
    },
  )
}

async function probed(settings: ProbeSettings = {}): Promise<CheckResult[]> {
  return await Array.fromAsync(probing(settings))
}

/** The connections that the account has. */
async function connections() {
  return bodyOf(await account.client.listCustomConnections({ query: {} }), 200).data
}

function unmet(checks: readonly CheckResult[]): string[] {
  return checks.flatMap(({ level, name, message }) => (level === 'ok' ? [] : [`${level} ${name}: ${message}`]))
}

const isBatch = ({ operation, identityIds }: ReceivedRequest) =>
  operation === 'upsertHrisUserIdentities' && identityIds.length > 0

/** Does something before the platform gets the request. */
function doBefore(work: (request: ReceivedRequest) => Promise<unknown>): Fault {
  return {
    name: 'do before',
    async play(exchange) {
      await work(exchange.request)
      await faults.pass.play(exchange)
    },
  }
}

/** Changes the body of the platform's answer. */
function changed<T>(change: (body: T) => T): Fault {
  return {
    name: 'changed',
    async play({ forward, reply }) {
      const answer = await forward()
      reply({ ...answer, body: Buffer.from(JSON.stringify(change(JSON.parse(answer.body.toString('utf8'))))) })
    },
  }
}

test('a platform that keeps its contract meets every assumption, and keeps nothing of the probe', async () => {
  const checks = await probed()

  expect(unmet(checks)).toEqual([])
  expect(checks.map(({ name }) => name)).toEqual(['probe', 'probe', ...assumptions.map(({ name }) => name), 'probe'])
  expect(await connections()).toEqual([])
})

test('the page on the contract has every assumption', async () => {
  const page = (await readFile(new URL('../../../docs/platform-contract.md', import.meta.url), 'utf8')).toLowerCase()

  const missing = assumptions.filter(({ name }) => !page.includes(name.toLowerCase()))

  expect(missing.map(({ name }) => name)).toEqual([])
})

test('without consent nothing is changed', async () => {
  const checks = await probed({ agrees: false })

  expect(checks.map(({ message }) => message)).toContain('nothing was tried, and nothing was changed')
  expect(proxy.requests.filter(({ applied }) => applied !== null && applied < 300 && applied !== 200)).toEqual([])
  expect(await connections()).toEqual([])
})

test('detects results in another order', async () => {
  proxy.fault((request) => (isBatch(request) ? faults.results('reversed', resultChanges.reversed) : faults.pass))

  const checks = await probed()

  expect(unmet(checks)).toEqual([
    'failed the results come in the order of the batch: no: a bad one and a good one are answered 200, 400. So the refusal of one person may be attributed to another',
  ])
  expect(checks.find(({ level }) => level === 'failed')?.code).toBe('contract_differs')
  expect(await connections()).toEqual([])
})

test('detects results that are sorted by their success', async () => {
  const sorted = (results: readonly ItemResult[]) => results.toSorted((a, b) => b.statusCode - a.statusCode)
  proxy.fault((request) => (isBatch(request) ? faults.results('sorted', sorted) : faults.pass))

  expect(unmet(await probed())).toEqual([expect.stringContaining('a good one and a bad one are answered 400, 200')])
})

test('detects a leaving date that can be written twice', async () => {
  const clearFirst = doBefore(async ({ body, path }) => {
    const [{ separatedAt = null, identityId }] = body as [Pick<IdentityRecord, 'identityId' | 'separatedAt'>]
    if (separatedAt === null) return
    const connectionId = Number(path.split('/')[2])
    await account.client.upsertHrisUserIdentities({
      params: { connectionId },
      body: [{ identityId, separatedAt: null }],
    })
  })
  proxy.fault((request) => (isBatch(request) ? clearFirst : faults.pass))

  expect(unmet(await probed())).toEqual([
    'failed a leaving date is written once: no: after 2020-02-29 the platform holds 2020-02-29. So corrections arrive all the same, with one request more than they need',
  ])
  expect(await connections()).toEqual([])
})

test('fails a platform that lists no leavers, and only warns if it cannot update one person', async () => {
  type List = { data: { separatedAt: string | null }[] }
  const withoutLeavers = changed<List>((list) => ({
    ...list,
    data: list.data.filter(({ separatedAt }) => separatedAt === null),
  }))
  proxy.fault(({ operation, path }) => {
    if (operation === 'updateHrisUserIdentity' && !path.includes('/0/')) return faults.answer({ status: 404 })
    return operation === 'listHrisUserIdentities' && !path.includes('/0/') ? withoutLeavers : faults.pass
  })

  expect(unmet(await probed())).toEqual([
    expect.stringMatching(/^failed a leaving date is stored and listed: no: the person is not listed/),
    expect.stringMatching(/^failed a leaving date is written once: no: the person is not listed/),
    expect.stringMatching(/^failed a cleared date can be set again: no: the person is not listed/),
    expect.stringMatching(/^warning one person can be updated \(PUT\): warning: no: the platform answers 404/),
    // The person left before the removal, and comes back as a leaver.
    expect.stringMatching(/^failed sending a removed person brings the record back: no: the person is not listed/),
  ])
})

test('detects that paths do not accept keys', async () => {
  proxy.fault(({ operation, path }) =>
    operation === 'getHrisUserIdentity' && !path.includes('/0/') ? faults.answer({ status: 404 }) : faults.pass,
  )

  expect(unmet(await probed())).toEqual([
    expect.stringMatching(/^failed a path names a person by "identity-id:" and the key: no: the key .* answers 404/),
  ])
})

const permissions = [
  'custom-connections-get',
  'custom-connections-post',
  'custom-connections-delete',
  'user-identities-hris-get',
  'user-identity-hris-get',
  'user-identity-hris-post',
  'user-identity-hris-put',
  'user-identity-hris-delete',
]

test.each([
  ['a key that the platform does not know', null, /answers 401/],
  [
    'a key that may not create connections',
    'custom-connections-post',
    /^the key lacks custom-connections-post or custom-connections-data-post \(create the connection, if it is missing\)/,
  ],
  [
    'a key that may not remove connections',
    'custom-connections-delete',
    /^the key lacks custom-connections-delete \(remove the connection of a probe\): .* has changed nothing$/,
  ],
] as const)('%s ends the probe before anything is changed', async (_what, lacking, message) => {
  const consents: (readonly number[])[] = []
  const bearer = lacking === null ? 'no-key' : await keyOf(permissions.filter((one) => one !== lacking))

  const checks = await probed({ bearer, consents })

  expect(checks).toEqual([{ name: 'probe', level: 'failed', code: 'blocked', message: expect.stringMatching(message) }])
  expect(consents).toEqual([])
  expect(await connections()).toEqual([])
})

test('a platform that is down ends the probe', async () => {
  await proxy.line('refused')

  const checks = await probed({ bearer: 'key' })

  expect(checks).toMatchObject([{ name: 'probe', level: 'failed', code: 'platform_unreachable' }])
})

test('everything that the probe created is removed when the platform fails halfway', async () => {
  proxy.fault((request) => (isBatch(request) ? faults.answer({ status: 500 }) : faults.pass))

  const checks = await probed()

  expect(unmet(checks)).toEqual([`failed a batch creates a person: ${proxy.baseUrl}: the platform answers 500`])
  expect(checks.at(-1)?.message).toMatch(/^connection \d+ and its person are removed$/)
  expect(await connections()).toEqual([])
})

test('a connection is removed also if the answer to its creation was lost', async () => {
  const isCreation = ({ operation, body }: ReceivedRequest) =>
    operation === 'createCustomConnection' && 'name' in (body as object)
  proxy.fault((seen) => (isCreation(seen) ? faults.resetAfter : faults.pass))

  const checks = await probed()

  expect(checks.map(({ level }) => level)).toEqual(['ok', 'failed', 'ok'])
  expect(proxy.requests.find(({ fault }) => fault === 'reset after')?.applied).toBe(201)
  expect(await connections()).toEqual([])
})

test('a stop in the middle waits for the current change, removes what the probe created, and is thrown', async () => {
  const controller = new AbortController()
  const held = proxy.hold((request) => isBatch(request) && request.identityIds.length === 2)
  const results: CheckResult[] = []
  const probe = (async () => {
    for await (const check of probing({ signal: controller.signal })) results.push(check)
  })()

  const { release } = await held
  controller.abort(new Error('stopped by a person'))
  release()

  await expect(probe).rejects.toThrow('stopped by a person')
  expect(results.at(-1)).toMatchObject({ name: 'probe', level: 'ok', message: expect.stringContaining('are removed') })
  expect(await connections()).toEqual([])
})

test('the probe removes everything if its caller stops reading the results', async () => {
  for await (const { message } of probing()) if (message.startsWith('made connection')) break

  expect(await connections()).toEqual([])
})

test('the probe reports what it could not remove, and the next probe finds and removes it', async () => {
  proxy.fault(({ operation, path }) =>
    operation === 'deleteCustomConnection' && !path.endsWith('/0') ? faults.answer({ status: 503 }) : faults.pass,
  )
  const first = await probed()
  const [leftover] = await connections()
  await proxy.heal()
  const consents: (readonly number[])[] = []

  const second = await probed({ consents })

  expect(first.at(-1)).toMatchObject({
    level: 'failed',
    code: 'platform_unreachable',
    message: expect.stringMatching(
      /^the connection of the probe may still be there: .* 503\. The next probe removes it$/,
    ),
  })
  expect(consents).toEqual([[leftover?.id]])
  expect(second[1]?.message).toBe(`removed what an earlier probe left behind: connection ${leftover?.id}`)
  expect(unmet(second)).toEqual([])
  expect(await connections()).toEqual([])
})

test('a connection of the same name that holds other people is not touched', async () => {
  const { id } = bodyOf(
    await account.client.createCustomConnection({ body: { name: 'Rollcall probe', providerTypes: ['HRIS'] } }),
    201,
  )
  await account.client.upsertHrisUserIdentities({ params: { connectionId: id }, body: [{ identityId: '1' }] })

  const checks = await probed()

  expect(checks).toMatchObject([
    { level: 'failed', code: 'conflict', message: expect.stringContaining(`connection ${id}`) },
  ])
  expect(await connections()).toMatchObject([{ id }])
})

test('the command requires --yes without a terminal, and exits with 0, or with 70 if an assumption does not hold', async () => {
  await using work = await openWorkplace({ baseUrl: proxy.baseUrl, key: await keyOf('all') }, { hasStore: true })
  await work.drop('people.csv', 'Employee ID,Email\n1,ana@acme.example\n')

  const withoutYes = await work.run('check', '--probe')
  const good = await work.run('check', '--probe', '--yes')
  proxy.fault((request) => (isBatch(request) ? faults.results('reversed', resultChanges.reversed) : faults.pass))
  const bad = await work.json<{ ok: boolean; checks: CheckResult[] }>('check', '--probe', '--yes')

  expect(withoutYes).toEqual({ exit: 2, stdout: '', stderr: expect.stringContaining('add --yes to agree') })
  expect(good).toMatchObject({ exit: 0, stderr: '' })
  expect(good.stdout).toContain('✔ a leaving date is written once: after 2020-02-29 the platform holds 2020-01-31\n')
  expect(bad).toMatchObject({ exit: 70, document: { ok: false } })
  expect(unmet(bad.document.checks)).toEqual([expect.stringContaining('in the order of the batch')])
  expect(await connections()).toEqual([])
})

test('the command does not probe a platform that refuses the key', async () => {
  await using work = await openWorkplace({ baseUrl: proxy.baseUrl, key: 'no-key' }, { hasStore: true })
  await work.drop('people.csv', 'Employee ID,Email\n1,ana@acme.example\n')

  const { exit, stderr } = await work.run('check', '--probe', '--yes')

  expect(exit).toBe(77)
  expect(stderr).toBe('- no probe: the platform first has to answer and accept the key\n')
})
