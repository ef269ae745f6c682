import { randomUUID } from 'node:crypto'
import { type AssertionGrant, readParties } from './assertion.ts'
import { readSigningKey } from './signing-key.ts'
import type { TokenContext } from './token-client.ts'

/** A JSON Web Token that states for whom an access token is requested (RFC 7523). */
export async function signJwtAssertion(
  oauth2: Extract<AssertionGrant, { grant: 'jwtBearer' }>,
  options: TokenContext,
): Promise<string> {
  const { algorithm, audience, claims, keyId, lifetimeSeconds } = oauth2
  const key = await readSigningKey(options, algorithm)
  const { issuer, subject } = await readParties(oauth2, options)
  const { SignJWT } = await import('jose')
  const issuedAt = Math.floor(options.clock.now().getTime() / 1000)
  return await new SignJWT({ ...claims })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
    .setIssuer(issuer)
    .setSubject(subject)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetimeSeconds)
    .setJti(randomUUID())
    .sign(key)
}
