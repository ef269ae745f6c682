import { Failure } from '../../../errors.ts'
import { unreadable } from '../../file/failures.ts'
import { readSecret } from '../client/secrets.ts'
import type { OAuth2 } from '../settings/authorization.ts'
import type { HttpSource } from '../settings/settings.ts'
import { type AccessToken, isUsable, type TokenDemand, usableUntilMs } from './token.ts'
import type { TokenContext } from './token-client.ts'
import { type StoredTokens, type TokenFile, withTokenFile } from './token-file.ts'
import { requestGrant, type SendGrant } from './token-grant.ts'

type RefreshGrant = Extract<OAuth2, { grant: 'refreshToken' }>

/**
 * An access token by a refresh token. Systems may replace the refresh token with each answer and then refuse the old one. So the newest
 * one is kept in a file, which one reading at a time uses, and it is written before the access token is checked or used. A request that
 * was sent is not aborted, but ends the reading once its answer is kept. The access token is kept beside it, so that `check` and runs
 * share it.
 */
export async function obtainByRefreshToken(
  source: HttpSource,
  oauth2: RefreshGrant,
  options: TokenContext & TokenDemand,
): Promise<AccessToken> {
  const { refused, context, clock } = options
  const configured = await readSecret(context, 'oauth2.refreshToken')
  if (configured === '') throw unreadable('the secret oauth2.refreshToken is empty', 'check its file')
  return await withTokenFile(configured, options, async (file) => {
    const stored = (await file.read()) ?? { refreshToken: configured, requestedAt: null, access: null }
    const { access } = stored
    if (access !== null && access.text !== refused && isUsable(access, clock.now())) return access
    return await renewStored(source, oauth2, { ...options, file, stored })
  })
}

type Renewal = TokenContext & TokenDemand & { readonly file: TokenFile; readonly stored: StoredTokens }

async function renewStored(source: HttpSource, oauth2: RefreshGrant, renewal: Renewal): Promise<AccessToken> {
  const { file, stored, clock, signal } = renewal
  const requestedAt = clock.now()
  // Shows that the file can be written before a token is spent that may be used once only.
  await file.write({ ...stored, access: null, requestedAt: stored.requestedAt ?? requestedAt.toISOString() })
  const send: SendGrant = (oidc, configuration, parameters) =>
    oidc.refreshTokenGrant(configuration, stored.refreshToken, parameters)
  const keepRefreshToken = (refreshToken: string) => file.write({ refreshToken, requestedAt: null, access: null })
  const grant = { oauth2, isRepeatable: false, send, keepRefreshToken }
  const issued = await requestGrant(source, grant, renewal).catch((error: unknown) => {
    throw withLostAnswer(error, stored)
  })
  const access = { text: issued.accessToken, usableUntilMs: usableUntilMs(requestedAt, issued.lifetimeSeconds) }
  await file.write({ refreshToken: issued.refreshToken ?? stored.refreshToken, requestedAt: null, access })
  signal.throwIfAborted()
  return access
}

/** Adds to a refusal that an earlier answer was lost, which may have replaced the token. Some systems accept the old one once more. */
function withLostAnswer(error: unknown, { requestedAt }: StoredTokens): unknown {
  if (requestedAt === null || !(error instanceof Failure) || error.code !== 'source_unreadable') return error
  return new Failure(error.code, `${error.message}; a request of ${requestedAt} with it brought no tokens`)
}
