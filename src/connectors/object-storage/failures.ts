import { errorCode, Failure } from '../../errors.ts'
import { unreachable, unreadable } from '../file/failures.ts'

/** What was attempted, such as "read exports/people.csv in the bucket hr". */
export type Attempted = { readonly action: string; readonly server: string; readonly cause: unknown }

/** The failure for an object that was replaced or deleted since it was chosen. */
export function replaced(name: string, server: string): Failure {
  return unreachable(
    `${name} in ${server} was replaced or deleted while it was read`,
    'the next run reads what is there then; have an export written once, under a new name',
  )
}

const noCredentials =
  'there are no credentials: set them in the configuration, or give the machine a role, a profile or variables that hold them'
const refusedCredentials = 'the credentials are not accepted: check them, and whether they were withdrawn'
const expired = 'the credentials have expired: renew them'
const noPermission = 'permission denied: let the account list the bucket and read its objects'
const noBucket = 'there is no such bucket: check bucket, account and endpoint'

/** What the codes of S3, Google Cloud Storage and Azure Blob mean for an operator. */
const helpByCode: Readonly<Record<string, string>> = {
  AccessDenied: noPermission,
  AllAccessDisabled: noPermission,
  AuthorizationPermissionMismatch: noPermission,
  AuthorizationFailure: noPermission,
  InsufficientAccountPermissions: noPermission,
  ExpiredToken: expired,
  ExpiredTokenException: expired,
  TokenRefreshRequired: expired,
  InvalidAccessKeyId: refusedCredentials,
  SignatureDoesNotMatch: refusedCredentials,
  InvalidToken: refusedCredentials,
  AuthenticationFailed: refusedCredentials,
  InvalidAuthenticationInfo: refusedCredentials,
  NoAuthenticationInformation: refusedCredentials,
  AuthenticationError: refusedCredentials,
  AuthenticationRequiredError: refusedCredentials,
  AggregateAuthenticationError: noCredentials,
  CredentialUnavailableError: noCredentials,
  CredentialsProviderError: noCredentials,
  NoSuchBucket: noBucket,
  ContainerNotFound: noBucket,
  PermanentRedirect: 'the bucket is in another region: check region and endpoint',
  AuthorizationHeaderMalformed: 'the bucket is in another region: check region and endpoint',
  InvalidObjectState: 'it is archived in cold storage: have it restored, or exports kept in a class that can be read',
  BlobArchived: 'it is archived in cold storage: have it restored, or exports kept in a tier that can be read',
  RequestTimeTooSkewed: 'the clock of this machine is wrong',
}

const helpByStatus: Readonly<Record<number, string>> = {
  401: refusedCredentials,
  403: noPermission,
  404: noBucket,
}

const networkHelp: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host name; check endpoint, account and region, and the name server of this machine',
  EAI_AGAIN: 'the name server does not answer; check the network of this machine',
  ECONNREFUSED: 'it refused the connection; check endpoint, and whether the server is running',
}

/** The failure for an error of a provider's client. The message of the error is not shown: it may quote signed addresses. */
export function objectFailure({ action, server, cause }: Attempted): Failure {
  if (cause instanceof Failure) return cause
  const { codes, status } = traitsOf(cause)
  const problem = `cannot ${action} in ${server}`
  const known = codes.find((code) => Object.hasOwn(helpByCode, code))
  if (known !== undefined) return unreadable(problem, helpByCode[known] ?? known, { cause })
  const network = codes.find((code) => Object.hasOwn(networkHelp, code))
  if (network !== undefined) return unreachable(problem, networkHelp[network] ?? network, { cause })
  if (isMissingRegion(cause)) return unreadable(problem, 'set region', { cause })
  if (isMissingGoogleLogin(cause)) return unreadable(problem, noCredentials, { cause })
  const help = helpByStatus[status ?? 0]
  if (help !== undefined) return unreadable(problem, help, { cause })
  if (status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429)
    return unreadable(problem, `the server answered ${[status, ...codes].join(' ')}`, { cause })
  const answer = status === null ? (codes[0] ?? 'no answer') : `status ${status}`
  return unreachable(problem, `${answer}; the next attempt may succeed, else check the network and the provider`, {
    cause,
  })
}

/** Whether an error says that there is no such object. */
export function isMissing(error: unknown): boolean {
  const { codes, status } = traitsOf(error)
  return status === 404 && !codes.includes('NoSuchBucket') && !codes.includes('ContainerNotFound')
}

/** Whether an error says that an object has another state than the request named. */
export function isOtherState(error: unknown): boolean {
  return traitsOf(error).status === 412 || isMissing(error)
}

type Traits = { readonly codes: readonly string[]; readonly status: number | null }

/** The codes and the status of an error, also those of its causes: each library keeps them elsewhere. */
function traitsOf(error: unknown): Traits {
  const codes: string[] = []
  let status: number | null = null
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    for (const code of [at.name, errorCode(at), 'Code' in at ? at.Code : undefined])
      if (typeof code === 'string' && code !== 'Error' && code !== 'RestError') codes.push(code)
    status ??= statusOf(at)
  }
  return { codes: [...new Set(codes)], status }
}

function statusOf(error: Error): number | null {
  const metadata = '$metadata' in error ? error.$metadata : undefined
  const candidates = [
    typeof metadata === 'object' && metadata !== null && 'httpStatusCode' in metadata
      ? metadata.httpStatusCode
      : undefined,
    'statusCode' in error ? error.statusCode : undefined,
    'status' in error ? error.status : undefined,
  ]
  return candidates.find((status) => typeof status === 'number') ?? null
}

function isMissingRegion(error: unknown): boolean {
  return error instanceof Error && /region is missing/i.test(error.message)
}

function isMissingGoogleLogin(error: unknown): boolean {
  return error instanceof Error && /default credentials|unable to detect a project/i.test(error.message)
}
