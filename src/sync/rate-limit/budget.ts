import type { Pool } from '../../database/pool.ts'
import { prepared } from '../../database/prepared.ts'

/** How many requests may go out in a window, and how long it is. */
export type Window = { readonly requests: number; readonly ms: number }

/** The requests that may go out to one platform. */
export type Budget = {
  /** Takes one request. `waitMs`: how long to wait before trying again; 0: it was taken. `isFailing`: the request before it failed. */
  take(): Promise<{ readonly waitMs: number; readonly isFailing: boolean }>
  /** What remains of the current window; null if there is none. */
  read(): Promise<{ readonly remaining: number; readonly remainingMs: number } | null>
  /** Blocks all requests for at least this long. */
  pause(delayMs: number): Promise<void>
  /** Records that a request failed, until one is answered. */
  recordFailure(failure: RequestFailure): Promise<void>
  endOutage(): Promise<void>
}

/** Why a request failed. `isAway`: there was no answer at all. */
export type RequestFailure = { readonly isAway: boolean; readonly reason: string }

/**
 * What keeps the requests of all processes from getting through. `failing`: since when they fail, and why the newest one did.
 * `pausedUntil`: the platform asked to wait.
 */
export type Trouble = {
  readonly failing: (RequestFailure & { readonly since: Date }) | null
  readonly pausedUntil: Date | null
}

/** A pause is a window that has used up this many. */
const paused = 1_000_000_000
/** The longest window and pause. One that ends later was written by a clock that has been set back since, and is over. */
const maxWindowMs = 60_000
const maxPauseMs = 60 * 60_000

/** A budget that all processes of a store share. It uses the clock of the database, which is the same for all of them. */
export function sharedBudget(pool: Pool, platform: string, window: Window): Budget {
  const clock = '(extract(epoch from clock_timestamp()) * 1000)::bigint'
  const isLive = `budget.expire > ${clock} and budget.expire <= ${clock}
    + case when budget.points >= ${paused} then ${maxPauseMs} else ${maxWindowMs} end`
  type Row = { points: number; remainingMs: string | number; isFailing: boolean }
  async function ask(text: string, values: readonly unknown[]) {
    const { rows } = await pool.query<Row>(`${prepared}${text}`, [...values])
    const [row] = rows
    return row ? { used: row.points, remainingMs: Number(row.remainingMs), isFailing: row.isFailing } : null
  }
  const state = `budget.points, budget.expire - ${clock} as "remainingMs", budget.failing_since is not null as "isFailing"`

  return {
    async take() {
      const now = await ask(
        `insert into rollcall.request_budget as budget (key, points, expire) values ($1, 1, ${clock} + $2::int)
         on conflict (key) do update set
           points = case when ${isLive} then budget.points + 1 else 1 end,
           expire = case when ${isLive} then budget.expire else excluded.expire end
         returning ${state}`,
        [platform, window.ms],
      )
      if (now === null) return { waitMs: 0, isFailing: false }
      return { waitMs: now.used <= window.requests ? 0 : Math.max(1, now.remainingMs), isFailing: now.isFailing }
    },
    async read() {
      const now = await ask(
        `select ${state} from rollcall.request_budget as budget where budget.key = $1 and ${isLive}`,
        [platform],
      )
      if (now === null) return null
      return { remaining: Math.max(0, window.requests - now.used), remainingMs: now.remainingMs }
    },
    async pause(delayMs) {
      await ask(
        `insert into rollcall.request_budget as budget (key, points, expire) values ($1, ${paused}, ${clock} + $2::int)
         on conflict (key) do update set points = ${paused},
           expire = case when ${isLive} then greatest(budget.expire, excluded.expire) else excluded.expire end`,
        [platform, Math.ceil(Math.min(delayMs, maxPauseMs))],
      )
    },
    async recordFailure({ isAway, reason }) {
      await pool.query(
        `update rollcall.request_budget
         set failing_since = least(failing_since, clock_timestamp()), failing_reason = $2, failing_is_away = $3
         where key = $1`,
        [platform, reason, isAway],
      )
    },
    async endOutage() {
      await pool.query(
        `update rollcall.request_budget
         set failing_since = null, failing_reason = null, failing_is_away = null where key = $1`,
        [platform],
      )
    },
  }
}

/** The recorded trouble of a platform, for a process that sends no requests. */
export async function platformTrouble(pool: Pool, platform: string): Promise<Trouble> {
  const { rows } = await pool.query<Trouble>(
    `select case when failing_since is not null then json_build_object(
         'since', failing_since, 'reason', failing_reason, 'isAway', failing_is_away) end as failing,
       case when points >= ${paused} and expire > extract(epoch from clock_timestamp()) * 1000
         then to_timestamp(expire / 1000.0) end as "pausedUntil"
     from rollcall.request_budget where key = $1`,
    [platform],
  )
  const { failing = null, pausedUntil = null } = rows[0] ?? {}
  return { failing: failing && { ...failing, since: new Date(failing.since) }, pausedUntil }
}

/** A budget for a process without a store. */
export function ownBudget(window: Window): Budget {
  let used = 0
  let endsAtMs = 0
  let isFailing = false
  const remainingMs = (): number => endsAtMs - performance.now()
  return {
    async take() {
      if (remainingMs() <= 0) {
        used = 0
        endsAtMs = performance.now() + window.ms
      }
      used += 1
      return { waitMs: used <= window.requests ? 0 : Math.max(1, remainingMs()), isFailing }
    },
    async read() {
      return remainingMs() <= 0 ? null : { remaining: Math.max(0, window.requests - used), remainingMs: remainingMs() }
    },
    async pause(delayMs) {
      used = paused
      endsAtMs = Math.max(endsAtMs, performance.now() + Math.min(delayMs, maxPauseMs))
    },
    async recordFailure() {
      isFailing = true
    },
    async endOutage() {
      isFailing = false
    },
  }
}
