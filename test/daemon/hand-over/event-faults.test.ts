import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readHandOver } from '../../../src/daemon/hand-over/read.ts'
import { addEvents } from '../../../src/store/inbox/inbox.ts'
import { dismissEvents, retryEvents } from '../../../src/store/inbox/review.ts'
import { claimMail, closeMail, hasNewFaultsForHr } from '../../../src/store/rejects/hand-over.ts'
import { rosterEntry } from '../../../src/store/roster/roster.ts'
import { type HrEvent, later, receive, terminated, updated, webhookFeed } from '../../helpers/events.ts'
import { type Host, openWorld, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const at = '2026-11-20T02:10:00.000Z'

/** A company whose webhook has sent these events after its first export. */
async function open(...events: readonly HrEvent[]) {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client, webhook: webhookFeed() }))
  await world.night(staff(20))
  const received = world.clock.now.toISOString()
  await receive(world, ...events)
  await later(world, 6)
  const { db } = world.sync.store
  const opened = opening.move()
  return {
    world,
    db,
    received,
    read: async () =>
      await readHandOver(db, { connections: ['acme'], leaders: new Map(), now: world.clock.now, addNames: null }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

describe('events that cannot be read', () => {
  test('are in the list for HR with key, column and what to write instead', async () => {
    await using opened = await open(
      updated('E0004', 'Lead', at, { start: '2026-02-31' }),
      updated('E0005', 'Lead', at, { email: 'DISABLED' }),
      updated('E0006', 'Lead', at),
    )
    const { list } = await opened.read()

    const shown = list.groups.map(({ column, cause, problem, remedy, rows }) => ({
      ...{ column, cause, problem, remedy },
      rows: rows.map(({ identityId, source, line }) => [identityId, source, line]),
    }))
    expect(shown).toHaveLength(2)
    expect(shown).toEqual(
      expect.arrayContaining([
        {
          column: 'employee.start',
          cause: 'impossibleDate',
          problem: 'the calendar has no such day, in an event',
          remedy: expect.stringMatching(/^Write a day that exists, as .*Your system then sends a new event/),
          rows: [['E0004', 'event 1', 1]],
        },
        {
          column: 'employee.email',
          cause: 'noEmail',
          problem: 'the field holds no e-mail address, in an event',
          remedy: expect.stringMatching(/^Write one address such as name@example\.com/),
          rows: [['E0005', 'event 2', 1]],
        },
      ]),
    )
    expect(JSON.stringify(list)).not.toMatch(/DISABLED|2026-02-31/)
  })

  test('are in the list though the rest of the event applies, under the id of their sender', async () => {
    await using opened = await open()
    const { world, db, read } = opened
    const body = Buffer.from(
      JSON.stringify(updated('E0004', 'Lead', '2026-11-20T03:30:00.900Z', { email: 'DISABLED' })),
    )
    world.clock.now = new Date('2026-11-20T03:30:01.000Z')
    const signedAt = new Date('2026-11-20T03:30:00.000Z')
    const event = { connection: 'acme', key: 'one', eventId: 'msg_1', signedAt, receivedAt: world.clock.now, body }
    await addEvents(db, [{ ...event, isTest: false }])
    await later(world, 6)

    expect((await read()).faults).toMatchObject([{ identityId: 'E0004', source: 'event msg_1', event: '1' }])
  })

  test('are in the list though the clock of their sender is ahead', async () => {
    await using opened = await open(updated('E0004', 'Lead', '2026-11-20T03:01:20.000Z', { email: 'DISABLED' }))

    const known = await rosterEntry(opened.db, { connection: 'acme', identityId: 'E0004' })
    expect([known?.asOf, opened.received]).toEqual(['2026-11-20T03:01:20.000Z', '2026-11-20T03:01:00.000Z'])
    expect((await opened.read()).faults).toMatchObject([{ identityId: 'E0004', column: 'employee.email' }])
  })

  test('leave the list once an operator dismisses them, or an export states something newer', async () => {
    await using opened = await open(
      updated('E0004', 'Lead', at, { start: '2026-02-31' }),
      updated('', 'Lead', at),
      terminated('', '2026-11-19', at),
    )
    const { world, db, read } = opened
    const first = (await read()).faults.map(({ event }) => event)
    world.clock.now = new Date('2026-11-21T03:00:00.000Z')
    await world.night(staff(20), { asOf: '2026-11-21T01:00:00.000Z' })
    const newer = (await read()).faults.map(({ event }) => event)
    await dismissEvents(db, { connection: 'acme', ids: newer.flatMap((event) => event ?? []), by: 'ana' })

    expect(first.toSorted()).toEqual(['1', '2', '3'])
    expect(newer.toSorted()).toEqual(['2', '3'])
    expect((await read()).faults).toEqual([])
  })

  test('are new until a mail has listed them', async () => {
    await using opened = await open(updated('E0004', 'Lead', at, { start: '2026-02-31' }))
    const { world, db, read } = opened
    const { now } = world.clock
    const all = { connections: ['acme'], now }
    await claimMail(db, { slot: '2026-11-19T07:00', now })
    const claim = await claimMail(db, { slot: '2026-11-20T07:00', now })
    const { faults } = await read()
    const before = await hasNewFaultsForHr(db, all)
    if (claim) await closeMail(db, claim, { faults, values: false, now })

    expect([before, await hasNewFaultsForHr(db, all)]).toEqual([true, false])
    expect((await read()).faults).toMatchObject([{ event: '1', isNew: false }])
  })

  test('are new again once they are read again, as something else may be wrong then', async () => {
    await using opened = await open(updated('E0004', 'Lead', at, { start: '2026-02-31' }))
    const { world, db, read } = opened
    await db.updateTable('inbox').set({ mailed_at: world.clock.now }).execute()
    const before = (await read()).faults.map(({ isNew }) => isNew)
    await retryEvents(db, { connection: 'acme' })
    await later(world, 6)

    expect([before, (await read()).faults.map(({ isNew }) => isNew)]).toEqual([[false], [true]])
  })
})
