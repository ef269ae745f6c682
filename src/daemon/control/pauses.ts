import type { Pause, PauseState, pauseOperations } from '../../contract/control/pauses.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { addPause, endPause, pauseOf, type Pause as StoredPause } from '../../store/connections/pauses.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import type { ConnectionSchedule } from '../schedules/schedules.ts'
import type { WithActor } from './with-permissions.ts'

type PauseContext = { readonly sync: SyncContext; readonly schedules: readonly ConnectionSchedule[] }

/** Maximum length of a pause: for longer, the connection is taken out of the configuration instead. */
const maxDays = 366

/** Handlers of the operations about paused connections, which read nothing new by themselves. */
export const pauseHandlers: Handlers<typeof pauseOperations, PauseContext & WithActor> = {
  async getPause(ctx, { params: { connection } }) {
    requireConnection(ctx, connection)
    return { status: 200, body: await stateOf(ctx, connection) }
  },

  async pauseConnection({ actor: { by }, ...ctx }, { params: { connection }, body: { until, reason } }) {
    requireConnection(ctx, connection)
    refuseLinked(ctx, connection)
    const now = ctx.sync.now()
    const end = until === undefined ? null : endAt(until, zoneOf(ctx, connection), now)
    await ctx.sync.store.db.transaction().execute(async (tx) => {
      await ensureConnection(tx, connection)
      await addPause(tx, { connection, until: end, reason, by, now })
      const details = { until: end?.toISOString() ?? null, reason }
      await recordAuditEntry(tx, { act: 'connection.paused', connection, by, details, now })
    })
    ctx.sync.events.connectionPaused({ connection, by, until: end?.toISOString() ?? null })
    return { status: 200, body: await stateOf(ctx, connection) }
  },

  async resumeConnection({ actor: { by }, ...ctx }, { params: { connection } }) {
    requireConnection(ctx, connection)
    const now = ctx.sync.now()
    await ctx.sync.store.db.transaction().execute(async (tx) => {
      if (!(await endPause(tx, { connection, now })))
        throw new Failure('conflict', `connection "${connection}" is not paused`)
      await recordAuditEntry(tx, { act: 'connection.resumed', connection, by, now })
    })
    ctx.sync.events.connectionResumed({ connection, by })
    return { status: 200, body: { connection, paused: null } }
  },
}

/** A pause as the control API shows it. */
export function pauseView({ since, until, ...pause }: StoredPause): Pause {
  return { since: since.toISOString(), until: until?.toISOString() ?? null, ...pause }
}

async function stateOf({ sync }: PauseContext, connection: string): Promise<PauseState> {
  const pause = await pauseOf(sync.store.db, { connection, now: sync.now() })
  return { connection, paused: pause && pauseView(pause) }
}

function requireConnection({ sync }: PauseContext, connection: string): void {
  if (!sync.connections.has(connection))
    throw new Failure('not_found', `there is no connection "${connection}" in the configuration`)
}

/** Runs of the connection that it is linked to start its runs, whether it is paused or not. */
function refuseLinked({ sync }: PauseContext, connection: string): void {
  const { linkedTo } = sync.connections.get(connection) ?? {}
  if (linkedTo !== undefined)
    throw new Failure('usage', `connection "${connection}" reads what "${linkedTo}" reads: pause "${linkedTo}"`)
}

function zoneOf({ sync, schedules }: PauseContext, connection: string): string {
  const scheduled = schedules.find((one) => one.connection === connection && one.purpose === 'read')
  const { source, webhook } = sync.connections.get(connection)?.feeds ?? {}
  return scheduled?.schedule.timeZone ?? (source ?? webhook)?.timeZone ?? 'UTC'
}

function endAt(text: string, timeZone: string, now: Date): Date {
  const atMs = readEnd(text, timeZone)
  if (atMs === null) {
    const forms = 'a day such as 2026-12-31, a time such as 2026-12-31T06:00, or an instant such as 2026-12-31T06:00Z'
    throw new Failure('usage', `"${text}" is no end of a pause: write ${forms}`)
  }
  if (atMs <= now.getTime()) throw new Failure('usage', `${text} is not in the future: it is ${now.toISOString()} now`)
  if (atMs - now.getTime() > maxDays * 24 * 60 * 60_000)
    throw new Failure(
      'usage',
      `${text} is more than a year ahead: take the connection out of the configuration instead`,
    )
  return new Date(atMs)
}

/** A pause until a day ends when the day begins. */
function readEnd(text: string, timeZone: string): number | null {
  try {
    if (/^\d{4}-\d{2}-\d{2}$/.test(text))
      return Temporal.PlainDate.from(text).toZonedDateTime(timeZone).epochMilliseconds
    if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/.test(text))
      return Temporal.PlainDateTime.from(text).toZonedDateTime(timeZone).epochMilliseconds
    return Temporal.Instant.from(text).epochMilliseconds
  } catch {
    return null
  }
}
