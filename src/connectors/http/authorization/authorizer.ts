import type { Authorizer } from '../client/request.ts'
import type { OAuth2 } from '../settings/authorization.ts'
import type { HttpSource } from '../settings/settings.ts'
import { staticHeaders } from './static.ts'
import { type AccessToken, type TokenDemand, tokenAuthorizer } from './token.ts'
import type { TokenContext } from './token-client.ts'

/** The credentials of a source. What obtains tokens is loaded when the first one is needed. */
export function openAuthorizer(source: HttpSource, options: TokenContext): Authorizer {
  const { oauth2, login } = source
  const { now } = options.clock
  if (oauth2) {
    return tokenAuthorizer({
      obtain: (demand) => obtainByGrant(source, oauth2, { ...options, ...demand }),
      toHeaders: (token) => ({ authorization: `Bearer ${token}` }),
      now,
    })
  }
  if (login) {
    return tokenAuthorizer({
      obtain: async (demand) => (await import('./login.ts')).requestLogin(source, login, { ...options, ...demand }),
      toHeaders: (token) => ({ [login.header.toLowerCase()]: `${login.prefix}${token}` }),
      now,
    })
  }
  return { headers: () => staticHeaders(source, options.context) }
}

async function obtainByGrant(
  source: HttpSource,
  oauth2: OAuth2,
  options: TokenContext & TokenDemand,
): Promise<AccessToken> {
  if (oauth2.grant === 'refreshToken')
    return (await import('./refresh-tokens.ts')).obtainByRefreshToken(source, oauth2, options)
  return (await import('./grants.ts')).obtainByCredentials(source, oauth2, options)
}
