import { afterAll, beforeAll, expect, test } from 'vitest'
import { localControl } from '../../../src/cli/session/command-context.ts'
import { type Caller, machineCaller } from '../../../src/contract/control/access.ts'
import type { BlockedPerson, Problem } from '../../../src/contract/control/shapes.ts'
import { deliveryFailures } from '../../../src/contract/failures.ts'
import type { ConnectionSchedule } from '../../../src/daemon/schedules/schedules.ts'
import { readEntry } from '../../../src/store/audit/trail.ts'
import { quietAlerts } from '../../helpers/alert-settings.ts'
import { reach, refusing, withWrongKey } from '../../helpers/reach.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost, type World, without } from '../../helpers/world.ts'

const nightly: ConnectionSchedule = {
  connection: 'acme',
  purpose: 'read',
  schedule: { cron: '0 2 * * *', timeZone: 'UTC' },
}
const weekly: ConnectionSchedule = {
  connection: 'acme',
  purpose: 'verify',
  schedule: { cron: '0 4 * * 0', timeZone: 'UTC' },
}

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** A world with the control API. */
async function open(...schedules: readonly ConnectionSchedule[]) {
  return await openWith({ schedules })
}

type Opening = Partial<Parameters<typeof openWorld>[0]> & { readonly schedules?: readonly ConnectionSchedule[] }

async function openWith({ schedules = [], ...more }: Opening) {
  const { client } = await host.tenant()
  const world = await openWorld({ client, ...more })
  const about = { version: '1.2.3', daemon: null, configuration: '', database: '', queue: '', platform: '' }
  const { signal } = new AbortController()
  const audit = {
    trouble: () => null,
    seal: () => Promise.reject(new Error('no key here')),
    verify: () => Promise.reject(new Error('no key here')),
    replaceKey: () => Promise.reject(new Error('no key here')),
  }
  const monitored = { connections: ['acme'], sources: [], maxLeaverHours: new Map<string, number>() }
  const around = { schedules, alerts: quietAlerts, monitored }
  const controlOf = (caller: Caller) => localControl({ sync: world.sync, caller, audit, ...around, about, signal })
  const control = controlOf(machineCaller('ana'))
  return {
    world,
    sound: client,
    control,
    controlOf,
    connectionStatus: async () => (await control.status({})).connections[0],
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

test('problems come page by page, and each page says where the next one begins', async () => {
  await using opened = await open()
  const { world, control } = opened
  reach(world, withWrongKey(host))
  await world.night(staff(5))

  const pages: string[][] = []
  let after: string | null | undefined
  do {
    const page: { data: Problem[]; next: string | null } = await control.listProblems({
      query: { limit: 2, ...(after && { after }) },
    })
    pages.push(page.data.map(({ identityId }) => identityId))
    after = page.next
  } while (after)

  expect(pages).toEqual([['E0001', 'E0002'], ['E0003', 'E0004'], ['E0005']])
})

test('a problem has its age, and the time of its next attempt', async () => {
  await using opened = await open(nightly, weekly)
  const { world, sound, control } = opened
  reach(world, refusing(sound, 'E0002'))
  await world.night(staff(3))
  const again: (string | null | undefined)[] = []

  world.clock.now = new Date(world.clock.now.getTime() + 90_000)
  const { data } = await control.listProblems({ query: {} })
  for (const instant of ['2026-11-20T12:00:00Z', '2026-11-22T03:00:00Z']) {
    world.clock.now = new Date(instant)
    again.push((await control.listProblems({ query: {} })).data[0]?.nextAt)
  }

  expect(data).toMatchObject([{ identityId: 'E0002', state: 'refused', code: 'item_refused', ageSeconds: 90 }])
  expect(again).toEqual(['2026-11-21T02:00:00.000Z', '2026-11-22T04:00:00.000Z'])
})

test('a refused person of a connection without a schedule waits for a run on request', async () => {
  await using opened = await open()
  const { world, sound, control } = opened
  reach(world, refusing(sound, 'E0002'))

  await world.night(staff(3))

  expect((await control.listProblems({ query: {} })).data).toMatchObject([{ state: 'refused', nextAt: null }])
})

test('the status counts refused and undeliverable people separately, and the leavers among them', async () => {
  await using opened = await open(nightly, weekly)
  const { world, sound, connectionStatus } = opened
  reach(world, refusing(sound, 'E0002'))
  await world.night(staff(5))
  reach(world, withWrongKey(host))
  await world.night(without(staff(6), 'E0003'), { asOf: '2026-11-21T01:00:00.000Z' })

  const status = await connectionStatus()

  // The run that waits behind the block retries the refused people.
  expect(status).toMatchObject({
    problems: { refused: { people: 0, leavers: 0 }, undelivered: { people: 3, leavers: 1 } },
    blocked: { status: 401, code: 'key_refused', probeAt: expect.stringMatching(/Z$/) },
    nextAt: '2026-11-21T02:00:00.000Z',
    nextVerifyAt: '2026-11-22T04:00:00.000Z',
  })
})

test('a block is lifted on request, and the due changes behind it are delivered', async () => {
  await using opened = await open()
  const { world, sound, control, connectionStatus } = opened
  reach(world, withWrongKey(host))
  await world.night(staff(5))
  reach(world, sound)

  const answer = await control.unblockConnection({ params: { connection: 'acme' }, body: { by: 'ana' } })
  await world.drain()
  const again = await control.unblockConnection({ params: { connection: 'acme' }, body: { by: 'ana' } })

  expect([answer, again]).toEqual([
    { wasBlocked: true, due: 5 },
    { wasBlocked: false, due: 0 },
  ])
  expect(world.events).toContainEqual({ event: 'connection.unblocked', connection: 'acme', by: 'ana' })
  expect(await connectionStatus()).toMatchObject({ blocked: null, people: { due: 0 } })
  expect((await peopleOn(sound)).size).toBe(5)
})

test('every answer of the platform is explained', async () => {
  await using opened = await open()

  const { data } = await opened.control.listFailures({})

  expect(data.map(({ code }) => code)).toEqual(Object.keys(deliveryFailures))
  expect(data.find(({ code }) => code === 'key_refused')).toMatchObject({ action: 'block', uncertain: false })
})

test('blocked people are listed page by page with their age, possible leavers first', async () => {
  await using opened = await open()
  const { world, control, connectionStatus } = opened
  const unreadable = { leavingDate: '31/02/2025', status: '' }
  const broken = [
    { id: 'E0004', ...unreadable },
    { id: 'E/5', ...unreadable },
    ...['E0001', 'E0002'].map((id) => ({ id, email: 'DISABLED' })),
  ]
  const people = [...staff(4), { id: 'E/5', email: 'e5@acme.example', status: 'Active' }]
  await world.night(change(people, ...broken))
  world.clock.now = new Date(world.clock.now.getTime() + 90_000)

  const pages: BlockedPerson[][] = []
  let after: string | null | undefined
  do {
    const page: { data: BlockedPerson[]; next: string | null } = await control.listBlockedPeople({
      query: { connection: 'acme', limit: 1, ...(after && { after }) },
    })
    pages.push(page.data)
    after = page.next
  } while (after)

  expect(pages.map(([one]) => one?.identityId)).toEqual(['E/5', 'E0004', 'E0001', 'E0002', undefined])
  expect(pages[0]).toMatchObject([{ leaver: true, column: 'Leaving Date', accepted: true, ageSeconds: 90 }])
  expect(JSON.stringify(pages)).not.toContain('DISABLED')
  expect(await connectionStatus()).toMatchObject({ blockedPeople: { people: 4, leavers: 2, rows: 0 } })
})

test('a caller who asks for values gets names page by page, and the audit trail records who looked', async () => {
  await using opened = await open()
  const { world, control } = opened
  reach(world, withWrongKey(host))
  await world.night(
    change(staff(5), { id: 'E0002', first: '' }, { id: 'E0004', leavingDate: '31/02/2025', status: '' }),
  )
  const problems: unknown[] = []
  const blockedPeople: unknown[] = []
  const query = { values: true, limit: 2 }

  for (let after: string | null | undefined; after !== null; ) {
    const page: Page<Problem> = await control.listProblems({ query: { ...query, ...(after && { after }) } })
    problems.push(page.data.map(({ identityId, name }) => [identityId, name]))
    after = page.next
  }
  for (let after: string | null | undefined; after !== null; ) {
    const page: Page<BlockedPerson> = await control.listBlockedPeople({ query: { ...query, ...(after && { after }) } })
    blockedPeople.push(page.data.map(({ identityId, name }) => [identityId, name]))
    after = page.next
  }

  expect(problems).toEqual([
    [
      ['E0001', 'Person 1'],
      ['E0002', null],
    ],
    [
      ['E0003', 'Person 3'],
      ['E0004', 'Person 4'],
    ],
    [['E0005', 'Person 5']],
  ])
  expect(blockedPeople).toEqual([[['E0004', 'Person 4']]])
  expect(await looks(world)).toMatchObject([
    { act: 'values.seen', by: 'ana', details: { operation: 'listProblems' } },
    { act: 'values.seen', by: 'ana', details: { operation: 'listBlockedPeople' } },
  ])
})

test('names are returned only with values, which a viewer may not request', async () => {
  await using opened = await open()
  const { world, sound, controlOf } = opened
  reach(world, refusing(sound, 'E0002'))
  await world.night(change(staff(3), { id: 'E0003', email: 'DISABLED' }))
  const viewer = controlOf({ name: 'vera', role: 'viewer', via: 'token', principal: 'token:vera' })

  const keys = [await viewer.listProblems({ query: {} }), await viewer.listBlockedPeople({ query: {} })]
  const answers = [
    viewer.listProblems({ query: { values: true } }),
    viewer.listBlockedPeople({ query: { values: true } }),
  ]

  expect(keys.map(({ data }) => data.map(({ identityId }) => identityId))).toEqual([['E0002'], ['E0003']])
  expect(JSON.stringify(keys)).not.toMatch(/"name"|Person/)
  await Promise.all(answers.map((answer) => expect(answer).rejects.toMatchObject({ code: 'forbidden' })))
  expect(await looks(world)).toMatchObject([{ act: 'access.refused' }, { act: 'access.refused' }])
})

type Page<T> = { readonly data: readonly T[]; readonly next: string | null }

/** The audit entries about callers who saw values or were refused them. */
async function looks({ sync }: World): Promise<unknown[]> {
  const acts = await sync.store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  return acts.map(({ entry }) => readEntry(entry)).filter((entry) => /seen|access/.test(entry?.act ?? ''))
}

test('problems and blocks of an unknown connection are not found', async () => {
  await using opened = await open()
  const { control } = opened

  const answers = [
    control.listProblems({ query: { connection: 'other' } }),
    control.listBlockedPeople({ query: { connection: 'other' } }),
    control.unblockConnection({ params: { connection: 'other' }, body: { by: 'ana' } }),
  ]

  await Promise.all(answers.map((answer) => expect(answer).rejects.toMatchObject({ code: 'not_found' })))
})
