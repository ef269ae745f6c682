import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../contract/control/access.ts'
import { Refusal } from '../../http/refusal.ts'

type Admit = (request: FastifyRequest) => Promise<Caller>

/** How long an admitted token is remembered. */
const rememberedMs = 24 * 60 * 60 * 1000
/** How long the store may take to check a token that is remembered. A scrape has ten seconds for everything. */
const patienceMs = 1000

/**
 * Like `admit`, and while the store does not answer also admits tokens that it admitted within the last day. Only for reading metrics:
 * otherwise the metrics could not show that the store is unreachable.
 */
export function admitWithoutStore(admit: Admit): Admit {
  /** The digests of admitted tokens with the caller, and when it was admitted on the monotonic clock. */
  const remembered = new Map<string, { readonly caller: Caller; readonly atMs: number }>()

  async function admitAndRemember(request: FastifyRequest, key: string): Promise<Caller> {
    try {
      const caller = await admit(request)
      remembered.set(key, { caller, atMs: performance.now() })
      return caller
    } catch (error) {
      // It has expired or was revoked.
      if (error instanceof Refusal && error.status === 401) remembered.delete(key)
      throw error
    }
  }

  return async (request) => {
    const key = digest(request.headers.authorization ?? '')
    const last = remembered.get(key)
    if (last === undefined || performance.now() - last.atMs > rememberedMs) return await admitAndRemember(request, key)
    const admitting = admitAndRemember(request, key).catch((error: unknown) => {
      if (error instanceof Refusal) throw error
      return last.caller
    })
    return await withPatience(admitting, last.caller)
  }
}

/** The caller that is remembered if the store has not answered in time. */
async function withPatience(admitting: Promise<Caller>, remembered: Caller): Promise<Caller> {
  const stop = new AbortController()
  // It may fail after the time is up, when its result is not used any more.
  admitting.catch(() => undefined)
  const waiting = sleep(patienceMs, remembered, { signal: stop.signal }).catch(() => remembered)
  try {
    return await Promise.race([admitting, waiting])
  } finally {
    stop.abort()
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
