import { unreadable } from '../../file/failures.ts'
import { pointer, readJson } from '../../json/cells.ts'
import { checkContentType } from '../client/body.ts'
import type { HttpRequest } from '../client/request.ts'
import { type ConfiguredJson, withSecrets } from '../client/secrets.ts'
import { statusFailure } from '../network/failures.ts'
import type { Login } from '../settings/authorization.ts'
import type { HttpSource } from '../settings/settings.ts'
import { requireHeaderText } from './header-text.ts'
import type { AccessToken } from './token.ts'
import { exchangeToken, type TokenAnswer, type TokenContext } from './token-client.ts'

const successStatuses = new Set([200, 201])
const refusals = new Set([400, 401, 403, 422])

/** Exchanges the credentials of `login` for a token. */
export async function requestLogin(
  source: HttpSource,
  login: Login,
  options: TokenContext & { readonly signal: AbortSignal },
): Promise<AccessToken> {
  const { url, method } = login
  const body = await loginBody(login, options)
  const request = { url: new URL(url), at: 'login.url', method, accept: 'application/json', body, headers: {} } as const
  return { text: tokenIn(await exchangeToken(source, request, options), login), usableUntilMs: null }
}

async function loginBody(login: Login, { context }: TokenContext): Promise<HttpRequest['body']> {
  if (login.body === undefined) return undefined
  const body = (await withSecrets(context, 'login.body', login.body)) as Readonly<Record<string, ConfiguredJson>>
  if (login.encoding === 'json') return { type: 'application/json', text: JSON.stringify(body) }
  const fields = Object.entries(body).map(([name, value]): [string, string] => [name, String(value ?? '')])
  return { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(fields).toString() }
}

function tokenIn({ label, status, headers, content }: TokenAnswer, login: Login): string {
  if (!successStatuses.has(status)) throw loginFailure(status, label)
  checkContentType(headers, 'json', label)
  const token = pointer(readJson(content, { name: label }), login.token)
  if (typeof token !== 'string' || token === '')
    throw unreadable(
      `${label} answers without a token at ${login.token}`,
      'check the credentials in login.body, and login.token',
    )
  return requireHeaderText(token, label)
}

function loginFailure(status: number, label: string): Error {
  if (status >= 300 && status < 400)
    return unreadable(`${label} redirects (status ${status})`, 'write the address that it redirects to as login.url')
  if (!refusals.has(status)) return statusFailure(status, label, null)
  const help = 'check the credentials, and whether they have expired, or login.encoding'
  return unreadable(`${label} does not accept the login (status ${status})`, help)
}
