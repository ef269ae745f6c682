import { errorCode } from '../errors.ts'
import type { Events } from '../telemetry/events.ts'

// Errors of ioredis, node-postgres and pg-pool without a code, and those of a reachable Redis that refuses us.
const awayMessages = [
  /^connection (is closed|terminated|ended)/i,
  /^(command timed out|socket timeout)/i,
  /max retries per request/i,
  /timeout exceeded when trying to connect/i,
  /cannot use a pool after calling end/i,
  /client was closed|client has encountered a connection error/i,
  /^(NOAUTH|WRONGPASS|LOADING|READONLY|MASTERDOWN|OOM|MISCONF|NOREPLICAS) /,
]

// BullMQ's messages for a lost job or lock: flushed, or taken over after a stall.
const lostJob =
  /^(could not renew lock for job|missing (key|lock) for job|lock mismatch for job|job \S+ is not in the)/i

/** Whether an error of a queue's client means that its server is away, rather than a bug. */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return awayMessages.some((pattern) => pattern.test(error.message)) || isAwayCode(errorCode(error))
}

/** Reports the background errors of a queue's clients: each outage once when it begins and once when it ends. */
export function createConnectionReport(location: string, events: Events) {
  let isAway = false

  function reportAway(error: Error): void {
    if (!isAway) events.queueUnreachable({ place: location, code: errorCode(error) ?? error.name })
    isAway = true
  }

  return {
    failed(error: Error): void {
      if (isConnectionError(error)) reportAway(error)
      else if (lostJob.test(error.message)) events.queueLostJob({ place: location })
      else events.unexpected({ during: `talking to ${location}`, error })
    },
    connected(): void {
      if (isAway) events.queueReachable({ place: location })
      isAway = false
    },
  }
}

// Codes of system calls (ECONNREFUSED), our own code for a host that takes no writes, and SQLSTATEs for connections (08), operator
// intervention (57P), too many connections (53300), a full disk (53100) and a server that has become a replica (25006).
function isAwayCode(code: string | undefined): boolean {
  return code !== undefined && /^(E[A-Z]{3,}|08...|57P..|53300|53100|25006|database_unreachable)$/.test(code)
}
