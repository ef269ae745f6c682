import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What a service got. */
type ReceivedRequest = {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly bytes: number
  readonly text: string
  readonly body: Record<string, unknown>
}

/** What a service answers. */
type Reply = { readonly status: number; readonly body?: object | string; readonly headers?: Record<string, string> }

/** A service of others on this machine. `next` are answers that come before those that it gives itself. */
export type AlertService = AsyncDisposable & {
  readonly url: string
  readonly host: string
  readonly received: readonly ReceivedRequest[]
  readonly next: Reply[]
}

export const routingKey = 'a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6'
export const genieKey = 'eb243592-faa2-4ba2-a551-1afdf565c889'
export const workflowPath = '/workflows/4f1c/triggers/manual/paths/invoke?api-version=1&sig=sesame'

/** A workflow of Microsoft Teams, as documented: takes cards of at most 28 KB, and answers 202 without a body. */
export function startTeams(): Promise<AlertService> {
  return start(({ path, bytes, body }) => {
    if (path !== workflowPath) return { status: 401, body: { error: { code: 'DirectApiAuthorizationRequired' } } }
    if (bytes > 28 * 1024) return { status: 413, body: 'Request Entity too large' }
    const [attachment] = Array.isArray(body.attachments) ? body.attachments : []
    const isCard =
      body.type === 'message' &&
      attachment?.contentType === 'application/vnd.microsoft.card.adaptive' &&
      attachment.content?.type === 'AdaptiveCard' &&
      Array.isArray(attachment.content.body)
    if (!isCard) return { status: 400, body: { error: { code: 'TriggerInputSchemaMismatch' } } }
    return { status: 202 }
  })
}

/** The Events API v2 of PagerDuty, as documented: the key has 32 characters, a summary at most 1,024, and a severity is one of four. */
export function startPagerDuty(): Promise<AlertService & { readonly open: ReadonlySet<string> }> {
  const open = new Set<string>()
  const invalid = (...errors: string[]): Reply => ({
    status: 400,
    body: { status: 'invalid event', message: 'Event object is invalid', errors },
  })
  return start(
    ({ path, bytes, body }) => {
      const { routing_key: key, event_action: action, dedup_key: dedup } = body
      const payload = body.payload as Record<string, unknown> | undefined
      if (path !== '/v2/enqueue') return { status: 404 }
      if (bytes > 512 * 1024) return { status: 413 }
      if (typeof key !== 'string' || key.length !== 32)
        return invalid("Length of 'routing_key' is incorrect (should be 32 characters)")
      if (typeof dedup !== 'string' || dedup.length > 255) return invalid("'dedup_key' is missing or too long")
      if (action === 'trigger') {
        const { summary, source, severity, timestamp } = payload ?? {}
        if (typeof summary !== 'string' || summary.length === 0 || summary.length > 1024)
          return invalid("'payload.summary' is missing or too long")
        if (typeof source !== 'string' || source === '') return invalid("'payload.source' is missing or blank")
        if (!['critical', 'error', 'warning', 'info'].includes(String(severity)))
          return invalid("'payload.severity' is invalid")
        if (Number.isNaN(Date.parse(String(timestamp)))) return invalid("'payload.timestamp' is invalid")
        open.add(dedup)
      } else if (action === 'resolve') open.delete(dedup)
      else if (action !== 'acknowledge') return invalid("'event_action' is invalid")
      return { status: 202, body: { status: 'success', message: 'Event processed', dedup_key: dedup } }
    },
    { open },
  )
}

/**
 * The Alert API of Opsgenie, as documented: a message has at most 130 characters, and what is accepted is processed later. Creating an
 * open alert again only counts it up: `shown` is what people see.
 */
export function startOpsgenie(): Promise<
  AlertService & { readonly open: ReadonlyMap<string, number>; readonly shown: ReadonlyMap<string, object> }
> {
  const open = new Map<string, number>()
  const shown = new Map<string, object>()
  const accepted: Reply = {
    status: 202,
    body: { result: 'Request will be processed', took: 0.302, requestId: '43a29c5c-3dbf-4fa4-9c26-f4f71023e120' },
  }
  const invalid = (errors: Record<string, string>): Reply => ({
    status: 422,
    body: { message: 'Request body is not processable. Please check the errors.', errors, took: 0.1, requestId: 'r' },
  })
  return start(
    ({ method, path, authorization, body }) => {
      if (authorization !== `GenieKey ${genieKey}`)
        return { status: 403, body: { message: 'Key format is not valid!', took: 0.001, requestId: 'r' } }
      const { message, alias, description, priority } = body
      const closed = /^\/v2\/alerts\/([^/]+)\/close\?identifierType=alias$/.exec(path)
      if (closed) {
        open.delete(decodeURIComponent(closed[1] ?? ''))
        return accepted
      }
      const [, updated = '', part = ''] =
        /^\/v2\/alerts\/([^/]+)\/(message|description|details)\?identifierType=alias$/.exec(path) ?? []
      if (updated !== '' && method === (part === 'details' ? 'POST' : 'PUT')) {
        if (!open.has(updated)) return { status: 404, body: { message: 'Alert does not exist', requestId: 'r' } }
        shown.set(updated, { ...shown.get(updated), [part]: body[part] })
        return accepted
      }
      if (path !== '/v2/alerts') return { status: 404, body: { message: 'Resource not found', requestId: 'r' } }
      if (typeof message !== 'string' || message === '') return invalid({ message: 'Message can not be empty.' })
      if (message.length > 130) return invalid({ message: 'Message is too long.' })
      if (typeof alias !== 'string' || alias.length > 512) return invalid({ alias: 'Alias is too long.' })
      if (typeof description === 'string' && description.length > 15_000)
        return invalid({ description: 'Description is too long.' })
      if (!/^P[1-5]$/.test(String(priority))) return invalid({ priority: 'Priority should be one of P1 to P5.' })
      if (!open.has(alias)) shown.set(alias, { message, description, details: body.details })
      open.set(alias, (open.get(alias) ?? 0) + 1)
      return accepted
    },
    { open, shown },
  )
}

async function start<T extends object>(
  answer: (request: ReceivedRequest) => Reply,
  state: T = {} as T,
): Promise<AlertService & T> {
  const received: ReceivedRequest[] = []
  const next: Reply[] = []
  const server = createServer((request, response) => {
    buffer(request).then(
      (bytes) => {
        const text = bytes.toString('utf8')
        const { authorization } = request.headers
        const method = request.method ?? ''
        const one = {
          method,
          path: request.url ?? '',
          authorization,
          bytes: bytes.length,
          text,
          body: JSON.parse(text),
        }
        received.push(one)
        const { status, body, headers = {} } = next.shift() ?? answer(one)
        response.writeHead(status, headers).end(typeof body === 'object' ? JSON.stringify(body) : body)
      },
      () => {},
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    ...state,
    url: `http://${host}`,
    host,
    received,
    next,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
