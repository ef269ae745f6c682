import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The header with the id of a request. */
export const requestIdHeader = 'x-request-id'

// Matches IDs of tracing systems. Addresses and sentences do not match, so no log line contains one.
const usableId = /^[\w.-]{8,128}$/

/** The ID of a request in the log: that of the caller if it is usable, otherwise a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const received = headers[requestIdHeader]
  return typeof received === 'string' && usableId.test(received) ? received : randomUUID()
}
