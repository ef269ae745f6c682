import { z } from 'zod'
import { secretReference } from '../../file/source-settings.ts'

/**
 * Headers that must not be configured: HTTP or this connector sets them, they carry credentials, or they would change whether and which part of
 * the response is sent.
 */
const reservedHeaders = new Set([
  ...['accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'cookie', 'expect', 'host'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'keep-alive', 'range', 'te'],
  ...['proxy-authorization', 'proxy-connection', 'trailer', 'transfer-encoding', 'upgrade'],
])

/** The name of a header. */
export const HeaderName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/, { error: 'expected the name of a header' })

/** A text that a header can hold. */
export const HeaderValue = z.string().regex(/^[\x20-\x7e]{0,1000}$/, { error: 'expected printable ASCII' })

/** The name of a header that carries a key or token. */
export const KeyHeaderName = HeaderName.refine(
  (name) => !reservedHeaders.has(name.toLowerCase()) || /^(authorization|cookie)$/i.test(name),
  { error: 'this header cannot carry a key' },
)

/** Further headers of every request. */
export const Headers = z
  .record(
    HeaderName.refine((name) => !reservedHeaders.has(name.toLowerCase()), {
      error:
        'this header cannot be configured: it would change how Rollcall connects, signs in or reads the response; ' +
        'for credentials use bearer, basic, apiKey, oauth2 or login',
    }),
    HeaderValue,
  )
  .default({})
  .describe(
    `Further headers of every request, such as Accept-Language or X-Account-Token. A header that is a secret is written as ${secretReference}.`,
  )
