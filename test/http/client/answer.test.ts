import { expect, test } from 'vitest'
import { type AnyAnswer, kindOf, statusOf } from '../../../src/http/client/answer.ts'

const error = { message: 'no', code: null, name: null }
const undeclared = (httpStatus: number): AnyAnswer => ({
  status: 'undeclared',
  httpStatus,
  error,
  retryAfterMs: null,
})

test.each<[AnyAnswer, string, number]>([
  [{ status: 207, body: [], headers: {} }, 'taken', 207],
  [{ status: 404, error, headers: {} }, 'refused', 404],
  [{ status: 500, error, headers: {} }, 'failing', 500],
  [undeclared(302), 'refused', 302],
  [undeclared(429), 'limited', 429],
  [undeclared(503), 'failing', 503],
  [{ status: 'unreadable', httpStatus: 200, reason: 'the body is not JSON' }, 'unreadable', 200],
  [{ status: 'unreachable', reason: 'timeout', message: 'no answer', sent: true }, 'unreachable', 0],
])('%j is of the kind %s, with the status %i', (answer, kind, status) => {
  expect([kindOf(answer), statusOf(answer)]).toEqual([kind, status])
})
