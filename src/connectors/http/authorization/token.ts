import type { Authorizer, CredentialHeaders } from '../client/request.ts'

/** An access token. */
export type AccessToken = {
  readonly text: string
  /** When another one is needed (epoch milliseconds); null: when the server refuses it. */
  readonly usableUntilMs: number | null
}

/** What a token is wanted for. */
export type TokenDemand = {
  /** The token that the server refused; null: there was none, or its time is over. */
  readonly refused: string | null
  readonly signal: AbortSignal
}

type TokenSource = {
  readonly obtain: (demand: TokenDemand) => Promise<AccessToken>
  /** The headers that carry a token. */
  readonly toHeaders: (token: string) => CredentialHeaders
  readonly now: () => Date
}

type CurrentToken = { readonly token: AccessToken; readonly headers: CredentialHeaders }

// Covers the time that a request takes, and a clock that is a little slow.
const maxSlackMs = 60_000
const slackShare = 0.1

/** Until when a token that was requested at `requestedAt` is used; null if the answer states no lifetime. */
export function usableUntilMs(requestedAt: Date, lifetimeSeconds: number | null): number | null {
  if (lifetimeSeconds === null) return null
  const lifetimeMs = lifetimeSeconds * 1000
  return requestedAt.getTime() + lifetimeMs - Math.min(maxSlackMs, lifetimeMs * slackShare)
}

/** Whether the time of a token is not over. */
export function isUsable(token: AccessToken, now: Date): boolean {
  return token.usableUntilMs === null || now.getTime() < token.usableUntilMs
}

/** Uses one token for all requests, also for those side by side, until its time is over or the server refuses it. */
export function tokenAuthorizer({ obtain, toHeaders, now }: TokenSource): Authorizer {
  let current: CurrentToken | null = null
  let pending: Promise<CurrentToken> | null = null

  const replaceToken = async (demand: TokenDemand): Promise<CurrentToken> => {
    const token = await obtain(demand)
    current = { token, headers: toHeaders(token.text) }
    return current
  }
  const next = (demand: TokenDemand): Promise<CurrentToken> => {
    pending ??= replaceToken(demand).finally(() => {
      pending = null
    })
    return pending
  }

  return {
    async headers(signal) {
      if (pending === null && current !== null && isUsable(current.token, now())) return current.headers
      const { headers } = await next({ refused: null, signal })
      return headers
    },
    async renew(refused, signal) {
      if (current !== null && current.headers !== refused) return
      await next({ refused: current?.token.text ?? null, signal })
    },
  }
}
