import { expect, test } from 'vitest'
import type { AnyAnswer } from '../../../src/http/client/answer.ts'
import type { Endpoint } from '../../../src/sync/target/endpoint.ts'
import { lookUpPeople } from '../../../src/sync/target/look-up.ts'

/** A platform that answers every question about a person like this. */
function answering(answer: AnyAnswer): Endpoint {
  const client = { getHrisUserIdentity: async () => answer }
  const rateLimiter = { send: (task: () => Promise<unknown>) => task() }
  const platform = { client, rateLimiter } as unknown as Endpoint['platform']
  return { platform, signal: new AbortController().signal, connectionId: 1, records: null, requests: 0 }
}

function refusal(status: number, code: number | null): AnyAnswer {
  return { status, error: { message: 'no route matched', code, name: null }, headers: {} }
}

test.each([404, 400])('a %i with the code of a refusal means that a person is missing', async (status) => {
  const { people, stop } = await lookUpPeople(answering(refusal(status, 14040)), ['E1'])

  expect([people.size, stop]).toEqual([0, null])
})

test.each([404, 400])('a %i of a gateway says nothing about a person, and is retried', async (status) => {
  const { stop } = await lookUpPeople(answering(refusal(status, null)), ['E1'])

  expect(stop).toMatchObject({ kind: 'retry', code: 'unreadable', status })
})
