import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CrashDaemon, DaemonEvent } from '../helpers/crash/crashes.ts'
import { openStory, type Story, sizes } from '../helpers/crash/story.ts'
import { createDice, type Dice } from '../helpers/dice.ts'
import { seed } from '../helpers/seed.ts'
import { isFull } from '../helpers/tier.ts'
import { reportTrials } from '../helpers/trials.ts'
import { type Host, startHost } from '../helpers/world.ts'

const kills = Number(process.env.ROLLCALL_CRASHES ?? (isFull ? 200 : 5))

const redisDatabase = 8
/**
 * The embedded database takes longest to open, and takes part in fewer of many kills. The small form has PostgreSQL alone: kill.test.ts
 * has the embedded database, crash-steps.test.ts Redis.
 */
const shares = isFull ? [0.2, 0.4, 0.4] : [0, 1, 0]
const tested = sizes(redisDatabase).map((size, i) => ({ ...size, kills: Math.round(kills * (shares[i] ?? 0)) }))
/** For a life and what is asked of it on a slow machine. */
const msPerKill = 10_000
const msBesides = 300_000

/** What a daemon was about after it had told an event; of others nothing new is known. */
const stages: Readonly<Record<string, string>> = {
  'daemon.started': 'at rest',
  'run.requested': 'starting a run',
  'run.started': 'reading',
  'run.read': 'planning',
  'run.prepared': 'accepting',
  'run.committed': 'enqueueing',
  'deliveries.enqueued': 'taking up jobs',
  'step.stored': 'correcting',
  'request.begun': 'sending',
  'request.ended': 'recording',
  'outcomes.recorded': 'settling',
  'delivery.sent': 'taking up jobs',
  'run.finished': 'at rest',
  'run.unchanged': 'at rest',
  'run.held': 'at rest',
  'value.classified': 'classing a status',
  'run.approved': 'enqueueing',
}

/** What is told on the way to a plan and its jobs. */
const toPlan = [
  'run.requested',
  'run.started',
  'run.read',
  'run.prepared',
  'run.committed',
  'deliveries.enqueued',
] as const

/** A plan that is held gives way to a newer one. */
const wellEnded: readonly string[] = ['finished', 'unchanged', 'superseded']

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

describe.each(tested.filter((size) => size.kills > 0))(
  'a daemon that is killed $kills times at random, $name',
  (size) => {
    test('loses nobody', { timeout: msBesides + size.kills * msPerKill }, async ({ task }) => {
      const dice = createDice(`${seed} ${size.name}`)
      await using story = await openStory(host, size)
      const usual = await ordinaryLife(story, dice)
      const fallen: string[] = []

      for (let life = 1; life <= size.kills; life++) {
        const { stage, findings } = await shortLife(story, dice, usual)
        fallen.push(stage)
        expect({ seed, life, findings }).toEqual({ seed, life, findings: [] })
      }
      const { states, end } = await lastLife(story, dice)

      expect({ end, failed: states.filter((state) => !wellEnded.includes(state)) }).toEqual({
        end: 0,
        failed: [],
      })
      expect({ seed, findings: await story.account() }).toEqual({ seed, findings: [] })
      reportTrials(task, {
        subject: `a daemon killed at random, ${size.name}`,
        times: `${size.kills} kills in ${story.hr.nights.length} nights (seed ${seed})`,
        result: `nobody lost; killed while ${countByStage(fallen)}`,
      })
    })
  },
)

/** How long a daemon takes to serve, and how many events it tells until its work is done. */
type Usual = { readonly openingMs: number; readonly events: number }

async function ordinaryLife(story: Story, dice: Dice): Promise<Usual> {
  await (await story.daemon()).kill()
  const startedMs = performance.now()
  const daemon = await story.daemon()
  const openingMs = Math.round(performance.now() - startedMs)
  await story.night(dice)
  await story.requestRun(daemon)
  await daemon.atRest()
  const events = daemon.events.length
  await daemon.kill()
  return { openingMs, events }
}

/** A daemon goes on with what the last one left or finds a new export, and is killed before long. */
async function shortLife(story: Story, dice: Dice, usual: Usual): Promise<{ stage: string; findings: string[] }> {
  const findings: string[] = []
  if (dice.chance(1 / 3)) await story.night(dice, { unlisted: dice.chance(1 / 2) })
  const daemon = story.next()
  const working = work(daemon).catch((error: unknown) => {
    // Whatever it is asked when it is gone fails.
    if (daemon.lives) throw error
  })

  await Promise.race([randomMoment(daemon, dice, usual), working])
  await daemon.kill()
  await working
  return { stage: stageOf(daemon.events), findings }

  async function work({ start, atRest }: CrashDaemon): Promise<void> {
    await start()
    if (!story.hasRequestedRun) await story.requestRun(daemon)
    while (findings.length === 0) {
      await atRest()
      findings.push(...(await story.findings(daemon)))
      if (await decides(daemon)) continue
      await story.night(dice, { unlisted: dice.chance(1 / 2) })
      await story.requestRun(daemon)
    }
  }

  /** Whether somebody does something about a plan that is held. */
  async function decides(running: CrashDaemon): Promise<boolean> {
    const causes = await story.heldFor(running)
    if (causes.length === 0 || dice.chance(1 / 4)) return false
    if (!causes.includes('unlistedValues') || dice.chance(1 / 3)) {
      await story.approve(running)
    } else {
      await story.classifyStatuses(running)
      await story.requestRun(running)
    }
    return true
  }
}

/** While the daemon opens its parts, on the way to a plan, which is short, or anywhere in the work of a night. */
async function randomMoment(daemon: CrashDaemon, dice: Dice, { openingMs, events }: Usual): Promise<void> {
  if (dice.chance(1 / 8)) return await sleep(dice.integer(0, openingMs))
  if (dice.chance(1 / 3)) await daemon.waitForEvent(dice.pick(toPlan))
  else await daemon.waitForEventCount(dice.integer(1, events))
  await sleep(dice.integer(0, 20))
}

async function lastLife(story: Story, dice: Dice) {
  await story.tidyNight(dice)
  const daemon = await story.daemon()
  await story.requestRun(daemon)
  await daemon.atRest()
  const control = await daemon.control()
  const { data } = await control.listRuns({ query: { limit: 1000 } })
  return { states: data.map(({ state }) => state), end: await daemon.kill('SIGTERM') }
}

function stageOf(events: readonly DaemonEvent[]): string {
  const times = (name: string) => events.filter(({ event }) => event === name).length
  if (times('request.begun') > times('request.ended')) return 'sending'
  const last = events.findLast(({ event }) => event in stages)
  return last ? (stages[last.event] ?? '') : 'opening'
}

function countByStage(fallen: readonly string[]): string {
  const counts = Map.groupBy(fallen, (stage) => stage)
  return [...counts].map(([stage, all]) => `${stage} ${all.length}`).join(', ')
}
