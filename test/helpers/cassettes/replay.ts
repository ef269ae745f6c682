import { isDeepStrictEqual } from 'node:util'
import { type HrServer, startHrServer } from '../sources/hr-server.ts'
import { type Cassette, type Exchange, originName, standInFor } from './cassette.ts'

/** A server that answers as a cassette recorded it. */
export type Replay = HrServer & {
  /** The settings of the source that reads it. */
  readonly settings: Readonly<Record<string, unknown>> & { readonly url: string }
  /** Stand-ins for the secrets, by their paths. */
  readonly secrets: Readonly<Record<string, string>>
  /** Requests that the cassette lacks, or holds fewer times than they came. They got status 501. */
  readonly unexpected: readonly string[]
  /** Answers that nobody has asked for yet. */
  readonly remaining: () => readonly string[]
}

/** Starts a server on this machine that gives each recorded answer once, in the order in which equal requests were answered. */
export async function startReplay({ source, secrets, exchanges }: Cassette): Promise<Replay> {
  const waiting = [...exchanges]
  const unexpected: string[] = []
  const server = await startHrServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const sent = { method: request.method ?? 'GET', path: request.url ?? '/', body: text }
    const index = waiting.findIndex((one) => isFor(one, sent))
    const [exchange] = index === -1 ? [] : waiting.splice(index, 1)
    if (!exchange) unexpected.push(`${sent.method} ${sent.path}`)
    const { status, headers, body } = exchange?.response ?? { status: 501, headers: {}, body: undefined }
    if (status === null) return response.destroy()
    const located = (value: string) => value.replaceAll(originName, server.url)
    const entries = Object.entries(headers).map(([name, value]) => [name, located(value)])
    response.writeHead(status, Object.fromEntries(entries))
    response.end(body === undefined ? '' : located(typeof body === 'string' ? body : JSON.stringify(body)))
  })
  const settings = JSON.parse(JSON.stringify(source).replaceAll(originName, server.url))
  return {
    ...server,
    settings: { ...settings, allowPrivate: true },
    secrets: Object.fromEntries(secrets.map((path) => [path, standInFor(path)])),
    unexpected,
    remaining: () => waiting.map(({ request: { method, path } }) => `${method} ${path}`),
  }
}

function isFor({ request }: Exchange, sent: { readonly method: string; readonly path: string; readonly body: string }) {
  if (request.method !== sent.method || request.path !== sent.path) return false
  return request.body === undefined || isDeepStrictEqual(request.body, parsed(sent.body))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
