import { deliveryOperations } from '../../src/contract/platform/delivery-operations.ts'
import { Failure } from '../../src/errors.ts'
import { createClient } from '../../src/http/client/client.ts'
import { requestRun } from '../../src/sync/sync.ts'
import { acceptedExports, judge } from './crash/judge.ts'
import { createDice, type Dice } from './dice.ts'
import { faults, refusedItem, resultChanges } from './faults/faults.ts'
import { type Fault, type FaultProxy, type Line, pass, startFaultProxy } from './faults/proxy.ts'
import { noLimits } from './guards/no-limits.ts'
import { createHr, type Hr } from './model/hr-model.ts'
import { type Host, openWorld, type World } from './world.ts'

export type Scenario = {
  readonly seed: number
  readonly nights: number
  readonly people: number
  /** How large a share of the requests goes wrong. */
  readonly faultRate: number
}

export type Ended = {
  /** What the judge found in the end; nothing is right. */
  readonly findings: readonly string[]
  /** How many requests fared how. */
  readonly faults: ReadonlyMap<string, number>
}

const firstDay = Temporal.PlainDate.from('2026-11-20')
const hour = 60 * 60_000
/** With the longest wait between two attempts, an hour, this many moves of the clock are more than anything takes. */
const mostMoves = 60
const restless = ['waiting', 'reading', 'planned', 'delivering'] as const

/** What a request can meet, in fair proportions: what leaves open whether it was applied comes oftenest. */
const misfortunes: readonly [Fault, ...Fault[]] = [
  faults.resetBefore,
  faults.resetAfter,
  faults.resetAfter,
  faults.resetAfter,
  faults.half('length'),
  faults.half('chunked'),
  faults.truncated,
  faults.html({ status: 200 }),
  faults.html({ status: 200, forwarded: true }),
  faults.html({ status: 502 }),
  faults.answer({ status: 500, forwarded: true }),
  faults.answer({ status: 503, headers: { 'retry-after': '120' } }),
  faults.answer({ status: 504, forwarded: true }),
  faults.answer({ status: 408 }),
  faults.answer({ status: 429, headers: { 'retry-after': '7' } }),
  faults.answer({ status: 429 }),
  faults.answer({ status: 400 }),
  faults.answer({ status: 413 }),
  faults.answer({ status: 401 }),
  faults.answer({ status: 404 }),
  faults.results('reversed', resultChanges.reversed),
  faults.results('shortened', resultChanges.shortened),
  faults.results('lengthened', resultChanges.lengthened),
  faults.results('empty', resultChanges.empty),
  faults.results('without data', resultChanges['without data']),
  faults.results('with a 400', refusedItem(0, 400)),
  faults.results('with a 500', refusedItem(1, 500)),
  faults.delayed(5),
]
/** Slow to go through, and so drawn less often. */
const hangs: readonly [Fault, ...Fault[]] = [
  faults.hang({ forwarded: false }),
  faults.hang({ forwarded: true }),
  faults.hangInBody,
]
const lines: readonly [Line, ...Line[]] = ['up', 'up', 'up', 'up', 'refused', 'reset']

/**
 * A company over several nights, on a platform and a way to it that fail as the seed has it. In the end all is well again, one
 * last export comes, and the judge compares.
 */
export async function runScenario(host: Host, at: string, scenario: Scenario): Promise<Ended> {
  const { seed, nights, people, faultRate } = scenario
  await using proxy = await startFaultProxy({ target: host.platform.baseUrl })
  const { key, client } = await host.tenant()
  const clientWaiting = (timeoutMs: number) =>
    createClient(deliveryOperations, { baseUrl: proxy.baseUrl, bearer: key, timeoutMs })
  await using world = await openWorld({
    at,
    client: clientWaiting(400),
    connection: { guards: noLimits, delivery: deliveryOf(createDice(`${seed}/delivery`)) },
  })
  waitByClock(world)
  const hr = createHr(people)
  const dice = createDice(seed)

  for (let night = 0; night < nights; night++) {
    // The first night is calm enough to have somebody whom the others can go wrong with.
    proxy.fault(drawn(createDice(`${seed}/faults/${night}`), night === 0 ? faultRate / 4 : faultRate))
    if (night > 0) live(hr, dice, night)
    await askForRun(world, hr, { night, dice })
    for (let moves = dice.integer(2, 8); moves > 0; moves--) await moveOn(world, proxy, dice)
  }

  await proxy.heal()
  Object.assign(world.sync, { platform: { ...world.sync.platform, client: clientWaiting(30_000) } })
  await comeToRest(world)
  await askForRun(world, hr, { night: nights + 3, dice })
  await comeToRest(world)
  const { db } = world.sync.store
  const accepted = hr.nightsOf(await acceptedExports(db))
  const unheard = accepted.at(-1) === hr.nights.at(-1) ? [] : ['the last export was not accepted']
  const findings = await judge({ client, expected: hr.expected(accepted), db })
  return {
    findings: [...unheard, ...findings],
    faults: new Map([...Map.groupBy(proxy.requests, ({ fault }) => fault)].map(([name, all]) => [name, all.length])),
  }
}

function deliveryOf(dice: Dice) {
  return { batchSize: dice.integer(2, 8), batchBytes: 1_000_000, updateWave: dice.pick([2, 100, 100]) }
}

/** What the platform asks for is waited for by the world's clock, and not by the pace, whose time is real. */
function waitByClock({ sync }: World): void {
  const { platform } = sync
  Object.assign(sync, { platform: { ...platform, rateLimiter: { ...platform.rateLimiter, pause: async () => {} } } })
}

function drawn(dice: Dice, faultRate: number) {
  return (): Fault => {
    if (!dice.chance(faultRate)) return pass
    return dice.chance(0.04) ? dice.pick(hangs) : dice.pick(misfortunes)
  }
}

/** What happens in the company on a day. Nobody is met twice. */
function live(hr: Hr, dice: Dice, night: number): void {
  const today = firstDay.add({ days: night })
  const known = [...hr.people.values()]
  // An export whose last employee is missing looks cut off.
  const free = known.slice(0, -1)
  for (let count = dice.integer(3, Math.max(4, Math.floor(known.length / 3))); count > 0; count--) {
    const [person] = free.splice(dice.integer(0, free.length - 1), 1)
    if (!person) return
    const past = today.subtract({ days: dice.integer(2, 300) }).toString()
    const happened = dice.pick(['move', 'leave', 'leave silently', 'vanish'])
    if (!person.listed || person.status === 'Inactive') {
      if (person.leavingDate && dice.chance(0.6)) hr.correct(person.id, past)
      else hr.comeBack(person.id, today.toString())
    } else if (happened === 'move') hr.change(person.id, { title: `Title ${night}`, first: `First ${night}` })
    else if (happened === 'leave') hr.leave(person.id, past)
    else if (happened === 'leave silently') hr.leave(person.id)
    else hr.vanish(person.id)
  }
  for (let joiners = dice.integer(0, 3); joiners > 0; joiners--) {
    hr.hire(`N${night}-${joiners}`, { start: today.toString() })
  }
}

async function askForRun(world: World, hr: Hr, { night, dice }: { night: number; dice: Dice }): Promise<void> {
  const day = firstDay.add({ days: night })
  const { rows, asOf } = hr.night(`${day}T01:00:00.000Z`)
  world.clock.now = new Date(Math.max(world.clock.now.getTime(), Date.parse(`${day}T03:00:00.000Z`)))
  world.setExport(rows, asOf)
  const options = dice.chance(0.2) ? { verify: true } : dice.chance(0.1) ? { full: true } : {}
  await requestRun(world.sync, { connection: world.connection.name, trigger: 'schedule', options })
  failOnBugs(await world.drain())
}

/** Some time goes by; now and then the queue loses everything, or the way to the platform is cut for a while. */
async function moveOn(world: World, proxy: FaultProxy, dice: Dice): Promise<void> {
  world.clock.now = new Date(world.clock.now.getTime() + dice.integer(5, 90) * 60_000)
  if (dice.chance(0.1)) world.jobs.length = 0
  await proxy.line(dice.pick(lines))
  failOnBugs(await world.minute())
  await proxy.line('up')
}

async function comeToRest(world: World): Promise<void> {
  const { db } = world.sync.store
  for (let moves = 0; moves < mostMoves; moves++) {
    const open = await db.selectFrom('runs').select('id').where('state', 'in', restless).limit(1).executeTakeFirst()
    if (!open) return
    world.clock.now = new Date(world.clock.now.getTime() + hour + 60_000)
    failOnBugs(await world.minute())
  }
}

function failOnBugs(failures: readonly unknown[]): void {
  for (const failure of failures) if (!(failure instanceof Failure)) throw failure
}
