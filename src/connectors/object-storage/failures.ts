import { errorCode, Failure } from '../../errors.ts'
import { unreachable, unreadable } from '../file/failures.ts'

/** What cannot be done, such as "read exports/people.csv in the bucket hr", and why. */
type FailedAction = { readonly action: string; readonly cause: unknown; readonly writes?: boolean }

/** The failure for an object that was replaced or deleted since it was chosen. */
export function replacedFailure(name: string, server: string): Failure {
  return unreachable(
    `${name} in ${server} was replaced or deleted while it was read`,
    'the next run reads what is there then; have an export written once, under a new name',
  )
}

/** The failure for a server that begins anew where the rest of an object was requested. */
export function notContinued(name: string, server: string): Failure {
  return unreadable(
    `${server} does not continue the download of ${name} that broke off`,
    'the next run fetches it from its beginning; have the server support ranges',
  )
}

const noCredentials =
  'there are no credentials: set them in the configuration, or give the machine a role, a profile or variables that hold them'
const refusedCredentials =
  'the credentials are not accepted: check them, and whether they have expired or were withdrawn'
const expired = 'the credentials have expired: renew them'
const noPermission = 'permission denied: let the account list the bucket and read its objects'
const noPermissionToWrite =
  'permission denied: afterwards needs an account that may also write and delete objects; let it, or leave afterwards out'
const noBucket = 'there is no such bucket: check bucket, account and endpoint'

/** What the codes of S3, Google Cloud Storage and Azure Blob mean for an operator. */
const helpByCode: Readonly<Record<string, string>> = {
  AccessDenied: noPermission,
  AllAccessDisabled: noPermission,
  AuthorizationPermissionMismatch: noPermission,
  AuthorizationFailure: `${noPermission}; check also whether a signature has expired, and the firewall of the account`,
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
  ENOENT: 'a file that the credentials name does not exist on this machine: check them',
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

// Servers of one's own often have certificates of one's own.
const certificateCode = /^(?:CERT_|ERR_TLS_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/

/** The failure for an error of a provider's client. The message of the error is not shown: it may quote signed addresses. */
export function objectFailure({ action, cause, writes = false }: FailedAction): Failure {
  if (cause instanceof Failure) return cause
  const traits = traitsOf(cause)
  const problem = `cannot ${action}`
  const options = { cause: withoutMessage(cause, traits) }
  const help = permanentHelp(cause, traits)
  if (help !== undefined)
    return unreadable(problem, writes && help === noPermission ? noPermissionToWrite : help, options)
  const network = traits.codes.find((code) => Object.hasOwn(networkHelp, code))
  if (network !== undefined) return unreachable(problem, networkHelp[network] ?? network, options)
  return unreachable(
    problem,
    `${temporaryProblem(traits)}; the next attempt may succeed, else check endpoint, the network and the provider`,
    options,
  )
}

/** The failure for credentials of Google of which no token is made. */
export function tokenFailure(server: string, cause: unknown): Failure {
  const { codes, status } = traitsOf(cause)
  const isRefused = (status !== null && status >= 400 && status < 404) || codes.some((code) => /^ERR_OSSL_/.test(code))
  const action = `get a token of Google for ${server}`
  if (isRefused) return unreadable(`cannot ${action}`, refusedCredentials)
  return objectFailure({ action, cause })
}

/** What helps against an error that the next attempt meets again; undefined: the next attempt may succeed. */
function permanentHelp(cause: unknown, { codes, status }: Traits): string | undefined {
  const known = codes.find((code) => Object.hasOwn(helpByCode, code))
  if (known !== undefined) return helpByCode[known]
  const certificate = codes.find((code) => certificateCode.test(code))
  if (certificate !== undefined)
    return `its certificate is not trusted (${certificate}): check endpoint, or name the file of your authority in NODE_EXTRA_CA_CERTS`
  if (isMissingRegion(cause)) return 'set region'
  if (isMissingGoogleLogin(cause)) return noCredentials
  const help = helpByStatus[status ?? 0]
  if (help !== undefined) return help
  if (status !== null && status >= 300 && status < 500 && status !== 408 && status !== 429)
    return `the server answered ${[status, ...codes].join(' ')}`
  return undefined
}

function temporaryProblem({ codes, status }: Traits): string {
  // Clients throw these errors for an answer that lacks what they expect, such as a page of a proxy.
  if (codes.includes('TypeError') || codes.includes('RangeError') || (status !== null && status < 300))
    return 'the answer is none of object storage'
  return status === null ? (codes[0] ?? 'no answer') : `status ${status}`
}

/** The error as logs may show it. */
function withoutMessage(error: unknown, { codes, status }: Traits): Error {
  const shown = new Error([...(status === null ? [] : [status]), ...codes].join(' '))
  if (error instanceof Error && error.stack !== undefined)
    shown.stack = error.stack
      .split('\n')
      .filter((line) => /^\s+at /.test(line))
      .join('\n')
  return shown
}

/** Whether an error says that there is no such object. */
export function isMissing(error: unknown): boolean {
  const { codes, status } = traitsOf(error)
  return status === 404 && !codes.includes('NoSuchBucket') && !codes.includes('ContainerNotFound')
}

/** Whether an error says that an object was replaced since the version that the request names, or does not exist. */
export function isReplacedOrMissing(error: unknown): boolean {
  return traitsOf(error).status === 412 || isMissing(error)
}

/** Whether an error says that a server does not know a part of the request. */
export function isNotImplemented(error: unknown): boolean {
  return traitsOf(error).status === 501
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
