import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The header with the id of a request. */
export const requestIdHeader = 'x-request-id'

// Ids of tracing systems fit; an address or a sentence does not, so that no log line holds one.
const usableId = /^[\w.-]{8,128}$/

/** The id by which a request is found in the log: the one that the caller gave if it can be one, else a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const received = headers[requestIdHeader]
  return typeof received === 'string' && usableId.test(received) ? received : randomUUID()
}
