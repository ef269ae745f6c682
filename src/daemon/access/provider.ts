import type { CookieSerializeOptions } from '@fastify/cookie'
import type { FastifyRequest } from 'fastify'
import type { Configuration, IDToken } from 'openid-client'
import { z } from 'zod'
import type { NotSignedIn, Provider } from '../../console/site/access.ts'
import { isReservedName, mayDo, type Role } from '../../contract/control/access.ts'
import { errorCode } from '../../errors.ts'
import { escapeText } from '../../text/escape.ts'
import type { OidcConfig } from '../config/config.ts'
import type { Attempts } from './attempts.ts'
import type { Begin, CookieNames } from './visits.ts'

type ProviderOptions = {
  readonly settings: OidcConfig
  /** Where people reach the console; the provider sends them back there. */
  readonly publicUrl: URL
  readonly attempts: Attempts
  readonly now: () => Date
}

/** What the browser stores in a cookie while a person is at the provider. */
const Journey = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  to: z.string(),
  begunMs: z.number(),
})
type Journey = z.infer<typeof Journey>

type Claims = Readonly<Record<string, unknown>>

const journeySeconds = 10 * 60
const timeoutSeconds = 10
const maxNameLength = 191
const again: NotSignedIn = {
  status: 400,
  trouble: 'This sign-in was not begun in this browser, or took longer than ten minutes. Begin again.',
}
const away: NotSignedIn = {
  status: 503,
  trouble: 'The identity provider cannot be reached now. Try again later, or sign in with a token.',
}

/** Signs people in by OpenID Connect: the authorization code flow, with PKCE, state and nonce. */
export function openProvider(
  { settings, publicUrl, attempts, now }: ProviderOptions,
  begin: Begin,
  cookie: CookieSerializeOptions,
  names: CookieNames,
): Provider {
  const callback = new URL('/sign-in/callback', publicUrl)
  let discovered: Promise<Configuration> | null = null

  /** Discovers the provider once; after a failure, the next sign-in tries again. */
  const configuration = async (): Promise<Configuration> => {
    discovered ??= discover(settings).catch((error: unknown) => {
      discovered = null
      throw error
    })
    return await discovered
  }

  const journeyOf = (request: FastifyRequest): Journey | null => {
    const journey = readJourney(request.cookies[names.provider])
    const isOver = journey === null || now().getTime() - journey.begunMs > journeySeconds * 1000
    return isOver ? null : journey
  }

  return {
    name: settings.name,
    async begin(request, reply, to) {
      try {
        const oidc = await import('openid-client')
        const provider = await configuration()
        const verifier = oidc.randomPKCECodeVerifier()
        const journey = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier, to, begunMs: now().getTime() }
        reply.setCookie(names.provider, journeyText(journey), { ...cookie, maxAge: journeySeconds })
        return oidc.buildAuthorizationUrl(provider, {
          redirect_uri: callback.href,
          scope: settings.scopes.join(' '),
          state: journey.state,
          nonce: journey.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        })
      } catch (error) {
        attempts.log(request.ip, `identity provider: ${reasonOf(error)}`)
        return away
      }
    },
    async finish(request, reply) {
      const journey = journeyOf(request)
      reply.clearCookie(names.provider, cookie)
      if (journey === null) return again
      await attempts.check(request.ip)
      try {
        const provider = await configuration()
        const claims = await claimsOf(provider, new URL(request.url, publicUrl), journey, settings)
        const role = roleOf(claims[settings.rolesFrom], settings.roles)
        const name = nameOf(claims)
        if (role === null) {
          attempts.log(request.ip, 'none of the groups has a role')
          const helps = 'Ask an admin of Rollcall for one.'
          return { status: 403, trouble: `You are ${name}, and none of your groups has a role here. ${helps}` }
        }
        const principal = `oidc:${settings.issuer.href}#${String(claims.sub)}`
        const session = { name, role, principal, tokenId: null, how: 'OpenID Connect', expiresAt: null }
        await begin(request, reply, session)
        return { to: journey.to }
      } catch (error) {
        return await refusalFor(error, request.ip, attempts)
      }
    },
  }
}

async function discover({ issuer, clientId, clientSecret }: OidcConfig): Promise<Configuration> {
  const oidc = await import('openid-client')
  const isUnencrypted = issuer.protocol === 'http:'
  return await oidc.discovery(issuer, clientId, undefined, oidc.ClientSecretBasic(await clientSecret.read()), {
    timeout: timeoutSeconds,
    // The signature of the ID token is verified in addition to TLS.
    execute: [oidc.enableNonRepudiationChecks, ...(isUnencrypted ? [oidc.allowInsecureRequests] : [])],
  })
}

/** The claims of the ID token, and those of the UserInfo endpoint if the token has no groups. */
async function claimsOf(
  provider: Configuration,
  url: URL,
  { state, nonce, verifier }: Journey,
  { rolesFrom }: OidcConfig,
): Promise<Claims & IDToken> {
  const oidc = await import('openid-client')
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
  const tokens = await oidc.authorizationCodeGrant(provider, url, checks)
  const claims = tokens.claims()
  if (claims === undefined) throw new Error('the answer has no ID token')
  if (claims[rolesFrom] !== undefined || !provider.serverMetadata().userinfo_endpoint) return claims
  return { ...(await oidc.fetchUserInfo(provider, tokens.access_token, claims.sub)), ...claims }
}

/** The highest role of the person's groups; null if none has a role. */
function roleOf(claim: unknown, roles: OidcConfig['roles']): Role | null {
  const groups = [claim].flat().filter((group) => typeof group === 'string')
  return groups.reduce<Role | null>((highest, group) => {
    const role = Object.hasOwn(roles, group) ? roles[group] : undefined
    return role !== undefined && (highest === null || mayDo(role, highest)) ? role : highest
  }, null)
}

/** The name of the person in the audit log. An unverified address may belong to somebody else and is not used. */
function nameOf(claims: Claims & IDToken): string {
  const { email, email_verified: isChecked, preferred_username: username, name, sub } = claims as Claims
  const candidates = [isChecked === false ? null : email, username, name, sub]
  const texts = candidates.flatMap((text) =>
    typeof text === 'string' ? [escapeText(text).trim().slice(0, maxNameLength)] : [],
  )
  return texts.find((text) => text !== '' && !isReservedName(text)) ?? `sub ${String(sub)}`
}

async function refusalFor(error: unknown, address: string, attempts: Attempts): Promise<NotSignedIn> {
  const oidc = await import('openid-client')
  if (isAway(error)) {
    attempts.log(address, `identity provider: ${reasonOf(error)}`)
    return away
  }
  await attempts.failed(address, `identity provider: ${reasonOf(error)}`)
  if (error instanceof oidc.AuthorizationResponseError)
    return { status: 403, trouble: `The identity provider did not let you in${codeOf(error.error)}.` }
  const helps = 'Begin again. If it fails again, the log of the daemon says why.'
  return { status: 401, trouble: `The response of the identity provider does not prove who you are. ${helps}` }
}

/** An error code of the standard. Anybody can write the callback address, so other texts are dropped. */
function codeOf(code: string): string {
  return /^[a-z_]{1,40}$/.test(code) ? `: ${code}` : ''
}

function isAway(error: unknown): boolean {
  if (error instanceof TypeError && error.message === 'fetch failed') return true
  const isTimeout = error instanceof Error && error.name === 'TimeoutError'
  return isTimeout || errorCode(error) === 'OAUTH_TIMEOUT' || errorCode(error) === 'OAUTH_RESPONSE_IS_NOT_CONFORM'
}

/** The code of an error and the claim it is about: its message may quote texts from outside. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const { cause } = error
  const claim: unknown = Object(cause instanceof Error ? cause.cause : cause).claim
  const code = errorCode(cause) ?? errorCode(error) ?? error.name
  return typeof claim === 'string' ? `${code} (${claim})` : code
}

function journeyText(journey: Journey): string {
  return Buffer.from(JSON.stringify(journey)).toString('base64url')
}

function readJourney(text: string | undefined): Journey | null {
  try {
    return Journey.parse(JSON.parse(Buffer.from(text ?? '', 'base64url').toString()))
  } catch {
    return null
  }
}
