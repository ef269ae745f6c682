import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { type Refusal, refuse } from '../refusal.ts'
import { type AnswerOf, type JsonAnswer, refusalAnswer } from './answer.ts'
import { requestIdHeader } from './request-id.ts'

/** Answers bytes that never became a request (no HTTP, oversized headers, too slow) and ends their connection. */
export function answerBrokenRequest(
  { code, url }: { readonly code?: string; readonly url?: string },
  socket: Socket,
  { log, answerOf }: { readonly log: Pick<FastifyBaseLogger, 'debug'>; readonly answerOf: AnswerOf },
): void {
  if (socket.writable && code !== 'ECONNRESET') {
    const [requestId, refusal] = [randomUUID(), refusalOf(code)]
    socket.write(rawResponse(refusalAnswer(refusal, { answerOf, url }), requestId))
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

function rawResponse(
  { status, body, type = 'application/json; charset=utf-8' }: JsonAnswer,
  requestId: string,
): string {
  const text = JSON.stringify(body)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(text)}`,
    `${requestIdHeader}: ${requestId}`,
    'connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${text}`
}
