/** The keywords of RFC 7644, table 9, that this service provider uses. */
type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'uniqueness'

/** The path below which the daemon is a SCIM service provider. */
export const scimPath = '/scim/v2'
/** The media type of all answers there. */
export const scimMediaType = 'application/scim+json; charset=utf-8'
const scimAddress = /^(?:https?:\/\/[^/?#]*)?\/scim\/v2(?:[/?#]|$)/

const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error'

type ScimErrorOptions = { readonly scimType?: ScimType; readonly headers?: Readonly<Record<string, string>> }

/**
 * A request that is refused in the form of RFC 7644. The message is the `detail` for the sender: it may quote what the sender wrote, so it is not
 * logged.
 */
export class ScimError extends Error {
  readonly status: number
  readonly scimType: ScimType | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, detail: string, { scimType, headers = {} }: ScimErrorOptions = {}) {
    super(detail)
    this.status = status
    this.scimType = scimType
    this.headers = headers
  }

  override get name(): string {
    return 'ScimError'
  }
}

/** A bad request of this kind. */
export function badRequest(scimType: ScimType, detail: string): ScimError {
  return new ScimError(400, detail, { scimType })
}

/** The body of an error (RFC 7644, section 3.12). */
export function errorBody({ status, scimType, message }: Pick<ScimError, 'status' | 'scimType' | 'message'>): object {
  return { schemas: [errorSchema], status: String(status), ...(scimType && { scimType }), detail: message }
}

/** The answer to what the server refuses before a connection is reached, in the form of the standard; null for addresses that are not of SCIM. */
export function scimRefusal({ status, message }: Pick<ScimError, 'status' | 'message'>, url: string) {
  if (!scimAddress.test(url)) return null
  return { status, body: errorBody({ status, scimType: undefined, message }), type: scimMediaType }
}

const maxQuotedCharacters = 100

/** A name or path of the sender in a sentence, shortened. */
export function quoted(text: string): string {
  return `"${text.length > maxQuotedCharacters ? `${text.slice(0, maxQuotedCharacters)}…` : text}"`
}
