import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { type Refusal, refusalBody, refuse } from '../refusal.ts'
import { requestIdHeader } from './request-id.ts'

/** Answers bytes that never became a request (no HTTP, oversized headers, too slow) and ends their connection. */
export function answerBrokenRequest(
  { code }: { readonly code?: string },
  socket: Socket,
  log: Pick<FastifyBaseLogger, 'debug'>,
): void {
  if (socket.writable && code !== 'ECONNRESET') {
    const [requestId, refusal] = [randomUUID(), refusalOf(code)]
    socket.write(rawResponse(refusal, requestId))
    log.debug({ requestId, status: refusal.status, code }, 'request broken')
  }
  socket.destroy()
}

function refusalOf(code: string | undefined): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuse('TooSlow', 'the request did not arrive in time')
  if (code === 'HPE_HEADER_OVERFLOW')
    return refuse('HeadersTooLarge', 'the headers are larger than this server accepts')
  return refuse('MalformedRequest', 'this is not an HTTP request')
}

function rawResponse(refusal: Refusal, requestId: string): string {
  const body = JSON.stringify(refusalBody(refusal))
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `${requestIdHeader}: ${requestId}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
