import { createHash } from 'node:crypto'
import { WebhookSettings } from '../../src/connectors/webhook/settings.ts'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import { addEvents } from '../../src/store/inbox/inbox.ts'
import { ensureConnection, listRuns, type Run } from '../../src/store/runs/runs.ts'
import type { WebhookFeed } from '../../src/sync/context/context.ts'
import { requestEventRuns } from '../../src/sync/sync.ts'
import type { World } from './world.ts'

/** The webhook of the imaginary HR system: one person an event, with its own time. */
export function webhookFeed(settings: Partial<WebhookSettings> = {}): WebhookFeed {
  return {
    settings: {
      ...WebhookSettings.parse({ recipe: 'standard-webhooks', secrets: ['whsec_dGVzdA=='], time: '/at' }),
      ...settings,
    },
    mapping: Mapping.parse({
      fields: {
        identityId: 'employee.id',
        email: { column: 'employee.email', onBlank: 'keep' },
        firstName: 'employee.first',
        jobTitle: 'employee.title',
        startedAt: 'employee.start',
        separatedAt: 'employee.left',
      },
      action: { column: 'type', join: ['hired'], change: ['updated'], leave: ['terminated'], retract: ['purged'] },
    }),
    traps: [],
    absence: 'separate',
    graceRuns: 1,
    timeZone: 'UTC',
    future: 'defer',
  }
}

export type HrEvent = {
  readonly type: 'hired' | 'updated' | 'terminated' | 'purged'
  readonly at: string
  readonly employee: Readonly<Record<string, string | null>>
}

/** What the receiver does with events whose signature was good. */
export async function receive(world: World, ...events: readonly (HrEvent | string)[]): Promise<void> {
  const { db } = world.sync.store
  await ensureConnection(db, world.connection.name)
  await addEvents(
    db,
    events.map((event) => {
      const body = Buffer.from(typeof event === 'string' ? event : JSON.stringify(event))
      const key = createHash('sha256').update(body).digest('hex')
      const receivedAt = world.clock.now
      return { connection: world.connection.name, key, eventId: null, signedAt: null, receivedAt, body, isTest: false }
    }),
  )
}

export function terminated(id: string, leavingDate: string, at: string): HrEvent {
  return { type: 'terminated', at, employee: { id, left: leavingDate } }
}

export function updated(id: string, title: string, at: string, others: HrEvent['employee'] = {}): HrEvent {
  return { type: 'updated', at, employee: { id, title, ...others } }
}

/** Lets the clock run on, and has the events that wait planned and delivered. */
export async function later(world: World, seconds: number): Promise<void> {
  world.clock.now = new Date(world.clock.now.getTime() + seconds * 1000)
  await requestEventRuns(world.sync)
  await world.drain()
}

/** The newest run of events that waits for a person. */
export async function heldRun(world: World): Promise<Run> {
  const runs = await listRuns(world.sync.store.db, { connection: world.connection.name, limit: 20 })
  const held = runs.find(({ state, feed }) => state === 'held' && feed === 'webhook')
  if (!held) throw new Error('no run of events is held')
  return held
}

export async function lastRun(world: World): Promise<Run> {
  const [run] = await listRuns(world.sync.store.db, { connection: world.connection.name, limit: 1 })
  if (!run) throw new Error('no run')
  return run
}
