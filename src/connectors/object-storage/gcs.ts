import { type AuthClient, AwsClient, GoogleAuth, IdentityPoolClient, JWT } from 'google-auth-library'
import { z } from 'zod'
import { unreadable } from '../file/failures.ts'
import { tokenFailure } from './failures.ts'
import { bucketOverS3, readAccessKey } from './s3.ts'
import type { ObjectStorageSource } from './settings.ts'
import type { ObjectStore, StoreOptions } from './store.ts'

const googleEndpoint = 'https://storage.googleapis.com'
const readWrite = 'https://www.googleapis.com/auth/devstorage.read_write'

type SignedRequest = { headers: Record<string, string> }

/**
 * A bucket of Google Cloud Storage, over its XML API, which is that of S3 with headers of its own. Without an HMAC key, requests carry a
 * token of the configured credentials or of the environment's (a service account, workload identity, the metadata server).
 */
export async function openGcs(source: ObjectStorageSource, options: StoreOptions): Promise<ObjectStore> {
  const endpoint = source.endpoint ?? googleEndpoint
  const credentials = await readAccessKey(source, options)
  const access = { endpoint, region: 'auto', forcePathStyle: true }
  if (credentials) return bucketOverS3(source, options, { ...access, credentials })
  const text = await options.secret('googleCredentials')
  const accessToken = text === undefined ? environmentToken() : configuredToken(text)
  const sign = async <Request extends SignedRequest>(request: Request): Promise<Request> => {
    const token = await accessToken().catch((error: unknown) => {
      throw tokenFailure(`the bucket ${source.bucket}`, error)
    })
    return { ...request, headers: { ...googleHeaders(request.headers), authorization: `Bearer ${token}` } }
  }
  // The signer replaces these credentials, without which the client would look for those of Amazon.
  const unused = { accessKeyId: 'unused', secretAccessKey: 'unused' }
  return bucketOverS3(source, options, { ...access, credentials: unused, signer: { sign } as never })
}

/** The headers as Google names them. A request with a token may not hold those of Amazon. */
function googleHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const renamed = Object.entries(headers).flatMap(([name, value]) => {
    if (name.startsWith('x-amz-copy-source')) return [[name.replace('x-amz-', 'x-goog-'), value]]
    return /^(?:x-amz-|amz-sdk-|authorization$)/.test(name) ? [] : [[name, value]]
  })
  return Object.fromEntries(renamed)
}

type AccessToken = () => Promise<string | null | undefined>

function environmentToken(): AccessToken {
  const auth = new GoogleAuth({ scopes: [readWrite] })
  return () => auth.getAccessToken()
}

const ServiceAccount = z.object({
  type: z.literal('service_account'),
  client_email: z.string(),
  private_key: z.string(),
})
const WorkloadIdentity = z.looseObject({
  type: z.literal('external_account'),
  audience: z.string(),
  subject_token_type: z.string(),
  token_url: z.string(),
  credential_source: z.record(z.string(), z.unknown()),
})

/** Tokens for the JSON of a service account or of workload identity. */
function configuredToken(text: string): AccessToken {
  const client = clientOf(text)
  return async () => (await client.getAccessToken()).token
}

function clientOf(text: string): AuthClient {
  try {
    const credentials = z.discriminatedUnion('type', [ServiceAccount, WorkloadIdentity]).parse(JSON.parse(text))
    if (credentials.type === 'service_account')
      return new JWT({ email: credentials.client_email, key: credentials.private_key, scopes: [readWrite] })
    const Client = 'environment_id' in credentials.credential_source ? AwsClient : IdentityPoolClient
    return new Client({ ...credentials, scopes: [readWrite] } as never)
  } catch {
    // The error would quote the text.
    throw unusableCredentials()
  }
}

function unusableCredentials() {
  return unreadable(
    'googleCredentials is no JSON of a service account or of workload identity',
    'give the file that Google Cloud made for it',
  )
}
