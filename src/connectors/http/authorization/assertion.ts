import type { OAuth2 } from '../settings/authorization.ts'
import type { TokenContext } from './token-client.ts'
import { readClientId } from './token-grant.ts'

/** The grants that prove who asks by a signed assertion. */
export type AssertionGrant = Extract<OAuth2, { grant: 'jwtBearer' | 'samlBearer' }>

/** Who asserts, and about whom. Both may be secrets. */
export async function readParties(
  oauth2: AssertionGrant,
  options: TokenContext,
): Promise<{ readonly issuer: string; readonly subject: string }> {
  const read = async (path: string) => await options.context.secret(`oauth2.${path}`)?.read()
  return {
    issuer: (await read('issuer')) ?? oauth2.issuer ?? (await readClientId(oauth2, options)),
    subject: (await read('subject')) ?? oauth2.subject ?? (await readClientId(oauth2, options)),
  }
}
