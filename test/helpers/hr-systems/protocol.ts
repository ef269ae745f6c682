import type { IncomingHttpHeaders } from 'node:http'
import { type JsonValue, pointer } from '../../../src/connectors/json/cells.ts'

/** A request as a system sees it. */
export type SystemRequest = {
  readonly method: string
  /** The whole address. */
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Whether the client has a certificate that the server trusts. */
  readonly isCertified: boolean
}

/** What a system answers. A body that is no text is sent as JSON. */
export type Reply = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Thrown by what checks a request; the server answers with the reply. */
export class Refusal extends Error {
  readonly reply: Reply

  constructor(
    status: number,
    body: unknown = { error: `status ${status}` },
    headers?: Readonly<Record<string, string>>,
  ) {
    super(`refused with ${status}`)
    this.reply = { status, body, ...(headers && { headers }) }
  }
}

/** A header of a request; blank if it is missing. */
export function headerOf({ headers }: SystemRequest, name: string): string {
  return String(headers[name.toLowerCase()] ?? '')
}

/** The JSON of a request. Refuses anything else. */
export function jsonOf({ text }: SystemRequest): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, { error: 'the body is no JSON' })
  }
}

/** The form fields of a request. Refuses another content type. */
export function formOf(request: SystemRequest): URLSearchParams {
  if (!headerOf(request, 'content-type').startsWith('application/x-www-form-urlencoded'))
    throw new Refusal(415, { error: 'invalid_request', error_description: 'expected a form' })
  return new URLSearchParams(request.text)
}

/** A parameter of a request: of the address by its name, of the JSON body by a pointer. */
export function parameterOf(request: SystemRequest, name: string): string | null {
  if (!name.startsWith('/')) return request.url.searchParams.get(name)
  const value = pointer(jsonOf(request), name)
  return value === undefined || value === null ? null : String(value)
}

/** The address of the request with other parameters. */
export function addressWith(
  { url }: Pick<SystemRequest, 'url'>,
  parameters: Readonly<Record<string, string | number>>,
): string {
  const address = new URL(url)
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, String(value))
  return address.href
}
