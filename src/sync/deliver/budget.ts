import type { Pool } from '../../database/pool.ts'
import { prepared } from '../../database/prepared.ts'

/** How many requests may go out in a window, and how long it is. */
export type Window = { readonly requests: number; readonly ms: number }

/** The requests that may go out to one platform. */
export type Budget = {
  /** Takes one request. Answers how long to wait before trying again; 0: it was taken. */
  take(): Promise<number>
  /** What the window under way has left; null: there is none. */
  standing(): Promise<{ readonly remaining: number; readonly msLeft: number } | null>
  /** Has nothing left for at least so long. */
  pause(delayMs: number): Promise<void>
}

/** A pause is a window that has used up this many. */
const paused = 1_000_000_000
/** No window and no pause is longer. One that ends later was written by a clock that has been set back since, and is over. */
const maxWindowMs = 60_000
const maxPauseMs = 60 * 60_000

/** A budget that all processes of a store share. The time is the database's, whose clock is one for all of them. */
export function sharedBudget(pool: Pool, platform: string, window: Window): Budget {
  const clock = '(extract(epoch from clock_timestamp()) * 1000)::bigint'
  const isLive = `budget.expire > ${clock} and budget.expire <= ${clock}
    + case when budget.points >= ${paused} then ${maxPauseMs} else ${maxWindowMs} end`
  async function ask(text: string, values: readonly unknown[]): Promise<{ used: number; msLeft: number } | null> {
    const { rows } = await pool.query<{ points: number; msLeft: string | number }>(`${prepared}${text}`, [...values])
    const [row] = rows
    return row ? { used: row.points, msLeft: Number(row.msLeft) } : null
  }
  const returned = `budget.points, budget.expire - ${clock} as "msLeft"`

  return {
    async take() {
      const now = await ask(
        `insert into rollcall.request_budget as budget (key, points, expire) values ($1, 1, ${clock} + $2::int)
         on conflict (key) do update set
           points = case when ${isLive} then budget.points + 1 else 1 end,
           expire = case when ${isLive} then budget.expire else excluded.expire end
         returning ${returned}`,
        [platform, window.ms],
      )
      return now === null || now.used <= window.requests ? 0 : Math.max(1, now.msLeft)
    },
    async standing() {
      const now = await ask(
        `select ${returned} from rollcall.request_budget as budget where budget.key = $1 and ${isLive}`,
        [platform],
      )
      return now && { remaining: Math.max(0, window.requests - now.used), msLeft: now.msLeft }
    },
    async pause(delayMs) {
      await ask(
        `insert into rollcall.request_budget as budget (key, points, expire) values ($1, ${paused}, ${clock} + $2::int)
         on conflict (key) do update set points = ${paused},
           expire = case when ${isLive} then greatest(budget.expire, excluded.expire) else excluded.expire end`,
        [platform, Math.ceil(Math.min(delayMs, maxPauseMs))],
      )
    },
  }
}

/** A budget for a process without a store. */
export function ownBudget(window: Window): Budget {
  let used = 0
  let endsAtMs = 0
  const msLeft = (): number => endsAtMs - performance.now()
  return {
    async take() {
      if (msLeft() <= 0) {
        used = 0
        endsAtMs = performance.now() + window.ms
      }
      used += 1
      return used <= window.requests ? 0 : Math.max(1, msLeft())
    },
    async standing() {
      return msLeft() <= 0 ? null : { remaining: Math.max(0, window.requests - used), msLeft: msLeft() }
    },
    async pause(delayMs) {
      used = paused
      endsAtMs = Math.max(endsAtMs, performance.now() + Math.min(delayMs, maxPauseMs))
    },
  }
}
