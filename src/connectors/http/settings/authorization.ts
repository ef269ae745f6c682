import { z } from 'zod'
import { secretReference, secretText } from '../../file/source-settings.ts'
import { JsonPointer } from '../../json-pointer.ts'
import { HeaderValue, KeyHeaderName } from './headers.ts'

/** A user name and a password. */
export const Basic = z.strictObject({
  username: z
    .string()
    .min(1)
    .refine((name) => !name.includes(':'), { error: 'a user name holds no colon' })
    .describe(`The user name. If a system expects its key here, write it as ${secretReference}.`),
  password: secretText.describe(`The password, as ${secretReference}.`),
})

/** A key in a header of its own. */
export const ApiKey = z.strictObject({
  header: KeyHeaderName.describe('The header that carries the key, such as X-API-Key.'),
  value: secretText.describe(`The value of that header, as ${secretReference}.`),
})

/** The certificate of the client. */
export const ClientCertificate = z.strictObject({
  certificate: z
    .string()
    .min(1)
    .describe('The file of the certificate (PEM, with its chain), relative to the folder of the configuration file.'),
  key: secretText.describe(`Its private key (PEM), as ${secretReference}.`),
  passphrase: secretText.optional().describe(`The passphrase of the private key, as ${secretReference}.`),
})

const HttpAddress = z.url({ protocol: /^https?$/, error: 'expected an address that begins with https://' })

const tokenRequest = {
  tokenUrl: HttpAddress.describe('The address that issues access tokens. It may be on another host than url.'),
  clientId: z.string().min(1).describe(`The ID of the client. It may be ${secretReference}.`),
  scope: z.string().min(1).optional().describe('The scopes to ask for, separated by blanks.'),
  parameters: z
    .record(
      z
        .string()
        .regex(
          /^(?!(?:grant_type|client_id|client_secret|client_assertion|client_assertion_type|scope|assertion|refresh_token)$).+$/,
          {
            error: 'this parameter follows from the other settings of oauth2',
          },
        ),
      z.string(),
    )
    .default({})
    .describe(
      `Further parameters of the token request, such as audience or company_id. Values may be ${secretReference}.`,
    ),
}

const clientSecret = secretText.describe(`The secret of the client, as ${secretReference}.`)

const clientAuthentication = {
  clientSecret: clientSecret.optional(),
  clientSecretIn: z
    .enum(['header', 'body'])
    .default('header')
    .describe(
      'Where the token endpoint expects ID and secret of the client: in the Authorization header, or in the body.',
    ),
}

const assertion = {
  privateKey: secretText.describe(`The private key (PEM) that signs the assertion, as ${secretReference}.`),
  subject: z.string().min(1).describe('The user in whose name Rollcall reads.'),
  audience: z.string().min(1).describe('For whom the assertion is, as the system documents it.'),
  lifetimeSeconds: z.int().min(10).max(3600).default(300).describe('How long an assertion is valid, in seconds.'),
}

/** Access tokens by OAuth 2.0. */
export const OAuth2 = z.discriminatedUnion('grant', [
  z.strictObject({
    grant: z.literal('clientCredentials').describe('Client ID and secret are exchanged for an access token.'),
    ...tokenRequest,
    ...clientAuthentication,
    clientSecret,
  }),
  z.strictObject({
    grant: z
      .literal('refreshToken')
      .describe(
        'A refresh token is exchanged for an access token. A refresh token that the answer brings replaces it, and is kept in the data folder.',
      ),
    ...tokenRequest,
    ...clientAuthentication,
    refreshToken: secretText.describe(`The first refresh token, as ${secretReference}.`),
  }),
  z.strictObject({
    grant: z.literal('jwtBearer').describe('A signed JSON Web Token is exchanged for an access token (RFC 7523).'),
    ...tokenRequest,
    ...clientAuthentication,
    ...assertion,
    subject: assertion.subject
      .optional()
      .describe('The user in whose name Rollcall reads. Where proves is client: left out.'),
    issuer: z.string().min(1).optional().describe('The issuer of the assertion. Default: clientId.'),
    algorithm: z.enum(['RS256', 'RS512', 'PS256', 'ES256']).default('RS256').describe('The signature algorithm.'),
    keyId: z.string().min(1).optional().describe('The ID of the key, if the system knows several.'),
    claims: z
      .record(
        z.string().regex(/^(?!(?:iss|sub|aud|iat|exp|jti)$).+$/, { error: 'other settings make this claim' }),
        z.string(),
      )
      .default({})
      .describe('Further claims of the assertion, such as the scope that Google wants there.'),
    proves: z
      .enum(['user', 'client'])
      .default('user')
      .describe(
        'user: the assertion is exchanged for a token. client: it stands in for the secret of the client (private_key_jwt), as Okta wants it.',
      ),
  }),
  z.strictObject({
    grant: z.literal('samlBearer').describe('A signed SAML 2.0 assertion is exchanged for an access token (RFC 7522).'),
    ...tokenRequest,
    ...clientAuthentication,
    ...assertion,
    issuer: z.string().min(1).describe('The issuer of the assertion, as the system knows it.'),
    subjectFormat: z
      .enum(['unspecified', 'emailAddress'])
      .default('unspecified')
      .describe('What subject is: whatever the system calls a user, or an email address.'),
    clientIdAttribute: z
      .string()
      .min(1)
      .default('api_key')
      .describe('The attribute of the assertion that carries clientId.'),
    attributes: z
      .record(z.string().min(1), z.string())
      .default({})
      .describe(`Further attributes of the assertion, such as use_username: 'true'. Values may be ${secretReference}.`),
    assertionEncoding: z
      .enum(['base64url', 'base64'])
      .default('base64url')
      .describe('How the assertion is sent. The standard wants base64url; some systems understand base64 only.'),
    certificate: z
      .string()
      .min(1)
      .optional()
      .describe(
        'The file of the certificate (PEM) that belongs to the private key, where the signature has to hold it. Relative to the folder of the configuration file.',
      ),
  }),
])
export type OAuth2 = z.infer<typeof OAuth2>

/** A request that exchanges credentials for a token. */
export const Login = z.strictObject({
  url: HttpAddress.describe('The address that issues the token. It may be on another host than the list.'),
  method: z.enum(['GET', 'POST']).default('POST').describe('The method of that request.'),
  body: z
    .record(z.string(), z.json())
    .optional()
    .describe(`What is sent, with the credentials. Texts may be ${secretReference}.`),
  encoding: z.enum(['json', 'form']).default('json').describe('How body is sent.'),
  token: JsonPointer.min(1).describe('A JSON pointer to the token in the answer, such as /data/token.'),
  header: KeyHeaderName.default('Authorization').describe(
    'The header of every further request that carries the token.',
  ),
  prefix: HeaderValue.default('Bearer ').describe('What stands before the token in that header.'),
})
export type Login = z.infer<typeof Login>
