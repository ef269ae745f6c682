import { Mapping } from '../../src/identity/mapping/mapping.ts'
import { requestRun } from '../../src/sync/sync.ts'
import { openConsole } from '../helpers/console.ts'
import { between, change, type Host, openWorld, staff } from '../helpers/world.ts'

const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: 'Email',
    firstName: 'First Name',
    jobTitle: 'Job Title',
    startedAt: { column: 'Start Date' },
    separatedAt: { column: 'Leaving Date' },
  },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
})

const refused = 'E0007'
const nightly = { cron: '0 2 * * *', timeZone: 'Europe/Berlin' }

/**
 * A company of this many people with a console. All were delivered except one whom the platform refuses. A row of the second night
 * cannot be read. On the third night twelve leave at once, so that the plan is held.
 */
export async function openCompany(host: Host, { people = 40, twoPeople = false } = {}) {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const approvals = { expireHours: 72, twoPeople: false }
  const world = opening.use(await openWorld({ client, feed: { mapping }, connection: { approvals } }))
  between(world, ({ updateHrisUserIdentity: update }) => ({
    updateHrisUserIdentity: async (input) => {
      if (String(input.params.userIdentityId).includes(refused))
        return {
          status: 400 as const,
          error: {
            statusCode: 400,
            message: 'startedAt: must lie before the last day',
            code: 14003,
            name: 'InvalidInput',
          },
          headers: {},
          requestId: null,
        } as never
      return await update(input)
    },
  }))
  const first = staff(people)
  const arrival = await world.night(first)
  const second = change(
    first,
    { id: 'E0003', title: 'Lead', leavingDate: '' },
    { id: 'E0004', leavingDate: '31.02.2026' },
    { id: 'E0005', leavingDate: '2026-11-19' },
    { id: refused, leavingDate: '2026-11-18' },
  )
  const finished = await world.night(second, { asOf: '2026-11-20T02:00:00.000Z' })
  const third = second.map((person, at) => (at >= 20 && at < 32 ? { ...person, leavingDate: '2026-11-20' } : person))
  world.clock.now = new Date('2026-11-21T03:00:00.000Z')
  world.setExport(third, '2026-11-21T01:00:00.000Z')
  approvals.twoPeople = twoPeople
  const { id } = await requestRun(world.sync, {
    connection: 'acme',
    trigger: 'operator',
    by: 'ben',
    principal: 'token:ben',
  })
  await world.drain()
  const held = await world.runOf(id)
  const console = opening.use(
    await openConsole(world, { schedules: [{ connection: 'acme', purpose: 'read', schedule: nightly }] }),
  )
  const opened = opening.move()
  return {
    world,
    client,
    console,
    arrival,
    settled: finished,
    held,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

export type Company = Awaited<ReturnType<typeof openCompany>>
