import { randomUUID } from 'node:crypto'
import { connect as openSocket, type Socket } from 'node:net'
import { join } from 'node:path'
import { namedRecipe } from '../../src/connectors/webhook/named-recipes.ts'
import { signWebhook } from '../../src/connectors/webhook/sign.ts'
import { readAddress } from '../../src/daemon/control/address-file.ts'
import type { Running } from './cli.ts'
import type { Workplace } from './workplace.ts'

/** A daemon in a process of its own. */
export type Served = Running & { readonly url: string; readonly socket: string }

export async function serve(work: Workplace): Promise<Served> {
  const daemon = work.start('serve', '--json')
  await daemon.waitForOutput('daemon.started')
  const address = await readAddress(join(work.folder, 'data'))
  if (!address) throw new Error('the daemon did not say where it listens')
  return { ...daemon, url: address.url, socket: address.socket }
}

export type Sent = {
  readonly secret: string
  readonly id?: string
  readonly at?: Date
}

/** The headers of a sender that signs as Standard Webhooks says. */
export function signedAs(body: string, { secret, id = randomUUID(), at = new Date() }: Sent): Record<string, string> {
  return signWebhook({ recipe: namedRecipe('standard-webhooks'), secret, id, body: Buffer.from(body), now: at })
}

/** Posts a body to the webhook of the connection acme. */
export async function post({ url }: Pick<Served, 'url'>, body: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(`${url}/webhooks/acme`, { method: 'POST', body, headers })
  return { status: response.status, body: await response.json() }
}

/** Senders that begin a request to the webhook and never end it. */
export async function dawdle({ url }: Pick<Served, 'url'>, count: number): Promise<Disposable> {
  const { hostname, port } = new URL(url)
  const sockets = await Promise.all(
    Array.from({ length: count }, async (_, index): Promise<Socket> => {
      const socket = openSocket(Number(port), hostname)
      socket.on('error', () => {})
      await new Promise<void>((resolve) => socket.once('connect', resolve))
      const head = `POST /webhooks/acme HTTP/1.1\r\nhost: ${hostname}\r\n`
      // Half of them stop within the headers, half within the body.
      socket.write(index % 2 === 0 ? head : `${head}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{`)
      return socket
    }),
  )
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
