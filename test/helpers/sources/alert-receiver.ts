import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { AlertMessage, AlertTestMessage } from '../../../src/contract/control/alerts.ts'

export const alertSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** A message whose signature was good. */
export type ReceivedAlert = { readonly id: string; readonly text: string; readonly message: AlertMessage }

export type AlertReceiver = AsyncDisposable & {
  readonly url: string
  readonly port: number
  readonly received: readonly ReceivedAlert[]
  /** The test messages among what came in; they are no alerts. */
  readonly tests: readonly AlertTestMessage[]
  /** How many requests came in whose signature was not good. */
  untrusted(): number
  /** Resolves when this many messages were received. */
  has(count: number): Promise<void>
}

export type ReceiverAnswer = (response: ServerResponse, alert: ReceivedAlert) => void

/** Whoever an operator has alerts sent to: a real server that checks signatures with the library of Standard Webhooks. */
export async function startAlertReceiver({
  answer = (response) => response.writeHead(204).end(),
  port: desired = 0,
  secret = alertSecret,
}: {
  answer?: ReceiverAnswer
  port?: number
  secret?: string
} = {}): Promise<AlertReceiver> {
  const received: ReceivedAlert[] = []
  const tests: AlertTestMessage[] = []
  const waiting = new Set<() => void>()
  let untrusted = 0
  const server = createServer((request, response) => {
    response.on('error', () => {})
    take(request, response).catch(() => {
      untrusted++
      response.writeHead(401).end()
    })
  })
  server.listen(desired, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await buffer(request)).toString('utf8')
    const trusted = new Webhook(secret).verify(text, request.headers as Record<string, string>)
    const test = AlertTestMessage.safeParse(trusted)
    if (test.data) {
      tests.push(test.data)
      response.writeHead(204).end()
      return
    }
    const alert = { id: String(request.headers['webhook-id']), text, message: AlertMessage.parse(trusted) }
    received.push(alert)
    for (const look of waiting) look()
    answer(response, alert)
  }

  return {
    url: `http://127.0.0.1:${port}/alerts?team=hr`,
    port,
    received,
    tests,
    untrusted: () => untrusted,
    has: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (received.length < count) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
