import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** A server below HTTP: hands every connection that has said something, with what it said, to `react`. */
export async function serveRaw(react: (socket: Socket, request: string) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('data', (data) => react(socket, data.toString('latin1')))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const host = typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : ''
  return {
    host,
    baseUrl: `http://${host}/v1`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A server that answers every request with the same response. The length of the body is stated unless the headers do. */
export function serveResponse(status: string, headers: Readonly<Record<string, string>> = {}, body = '') {
  const all = { 'content-length': String(Buffer.byteLength(body)), connection: 'close', ...headers }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return serveRaw((socket) => socket.end(`HTTP/1.1 ${status}\r\n${head.join('')}\r\n${body}`))
}
