import { once } from 'node:events'
import { createConnection, createServer, type Socket } from 'node:net'

/** A way to a server that can be taken away and given back. */
export type Link = AsyncDisposable & {
  readonly url: string
  /** Drops every connection and refuses new ones. */
  cut(): Promise<void>
  mend(): Promise<void>
  /** Lets nothing through the connections that there are, and leaves them open, whatever the server does. New ones work. */
  freeze(): void
  /** Refuses new connections and leaves those that there are. */
  refuse(): void
}

/** A link on the loopback to the server of an address like `redis://host:port`. */
export async function openLink(address: string): Promise<Link> {
  const target = new URL(address)
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = createConnection(Number(target.port), target.hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
      one.pipe(other)
    }
  })
  const port = await listen(server, 0)
  const cut = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }

  return {
    url: Object.assign(new URL(address), { host: `127.0.0.1:${port}` }).href,
    cut,
    mend: async () => void (await listen(server, port)),
    freeze() {
      for (const socket of sockets) {
        socket.unpipe()
        socket.removeAllListeners('close').removeAllListeners('error')
        socket.on('close', () => sockets.delete(socket)).on('error', () => {})
      }
    },
    refuse: () => void server.close(),
    async [Symbol.asyncDispose]() {
      await cut()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A server that takes connections and never says a word. */
export async function openSilence(): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket))
  const port = await listen(server, 0)
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

async function listen(server: ReturnType<typeof createServer>, port: number): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the system gave no port')
  return address.port
}
