import type { OAuth2 } from '../settings/authorization.ts'
import type { HttpSource } from '../settings/settings.ts'
import { type AccessToken, usableUntilMs } from './token.ts'
import type { TokenContext } from './token-client.ts'
import { requestGrant, type SendGrant } from './token-grant.ts'

/** The grants whose credentials can be used any number of times. */
type RepeatableGrant = Exclude<OAuth2, { grant: 'refreshToken' }>

const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const clientAssertion = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const samlBearer = 'urn:ietf:params:oauth:grant-type:saml2-bearer'

/** An access token by client credentials or by an assertion. */
export async function obtainByCredentials(
  source: HttpSource,
  oauth2: RepeatableGrant,
  options: TokenContext & { readonly signal: AbortSignal },
): Promise<AccessToken> {
  const send = await grantSender(oauth2, options)
  const requestedAt = options.clock.now()
  // An assertion is accepted once.
  const isRepeatable = oauth2.grant === 'clientCredentials'
  const issued = await requestGrant(source, { oauth2, isRepeatable, send }, options)
  return { text: issued.accessToken, usableUntilMs: usableUntilMs(requestedAt, issued.lifetimeSeconds) }
}

async function grantSender(oauth2: RepeatableGrant, options: TokenContext): Promise<SendGrant> {
  switch (oauth2.grant) {
    case 'clientCredentials':
      return (oidc, configuration, parameters) => oidc.clientCredentialsGrant(configuration, parameters)
    case 'jwtBearer': {
      const assertion = await (await import('./jwt-assertion.ts')).signJwtAssertion(oauth2, options)
      return oauth2.proves === 'client' ? clientSender(assertion) : assertionSender(jwtBearer, assertion)
    }
    case 'samlBearer':
      return assertionSender(samlBearer, await (await import('./saml-assertion.ts')).signSamlAssertion(oauth2, options))
    default:
      return oauth2 satisfies never
  }
}

/** Client credentials, with an assertion in the place of the secret. */
function clientSender(assertion: string): SendGrant {
  const proof = { client_assertion_type: clientAssertion, client_assertion: assertion }
  return (oidc, configuration, parameters) => oidc.clientCredentialsGrant(configuration, { ...parameters, ...proof })
}

function assertionSender(grantType: string, assertion: string): SendGrant {
  return (oidc, configuration, parameters) =>
    oidc.genericGrantRequest(configuration, grantType, { ...parameters, assertion })
}
