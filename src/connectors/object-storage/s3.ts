import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type ListObjectsV2CommandOutput,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import {
  isMissing,
  isNotImplemented,
  isReplacedOrMissing,
  notContinued,
  objectFailure,
  replacedFailure,
} from './failures.ts'
import type { ObjectStorageSource } from './settings.ts'
import { nameOfKey, type ObjectStore, type StoredObject, type StoreOptions } from './store.ts'

/** Reads the access key of the settings, with its secrets; undefined if there is none. */
export async function readAccessKey(
  { accessKeyId }: ObjectStorageSource,
  { secret }: StoreOptions,
): Promise<(S3ClientConfig['credentials'] & object) | undefined> {
  const secretAccessKey = await secret('secretAccessKey')
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  const sessionToken = await secret('sessionToken')
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
}

/** A bucket of Amazon S3, or of a server that speaks its API. Without an access key, the AWS SDK looks for credentials in the environment. */
export async function openS3(source: ObjectStorageSource, options: StoreOptions): Promise<ObjectStore> {
  const { endpoint, region } = source
  const credentials = await readAccessKey(source, options)
  return bucketOverS3(source, options, {
    ...(endpoint !== undefined && { endpoint, region: regionOfEnvironment, forcePathStyle: true }),
    ...(region !== undefined && { region }),
    ...(credentials && { credentials }),
    followRegionRedirects: endpoint === undefined,
  })
}

/** The region that the environment names; else the one that servers without regions usually expect. */
async function regionOfEnvironment(): Promise<string> {
  const client = new S3Client()
  try {
    return await client.config.region()
  } catch {
    return 'us-east-1'
  } finally {
    client.destroy()
  }
}

/** A bucket of any provider that speaks the API of S3. */
export function bucketOverS3(
  { bucket, provider, endpoint }: ObjectStorageSource,
  { signal }: Pick<StoreOptions, 'signal'>,
  access: S3ClientConfig,
): ObjectStore {
  const client = new S3Client({
    // Servers other than Amazon's may not know the checksums that newer clients send by default.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    ...access,
  })
  if (provider === 'gcs') requestStoredForm(client)
  const server = `the bucket ${bucket}`
  const abort = { abortSignal: signal }
  const failure =
    (action: string, writes = false) =>
    (cause: unknown) => {
      signal.throwIfAborted()
      throw objectFailure({ action: `${action} in ${server}`, cause, writes })
    }
  return {
    server,
    id: JSON.stringify([provider, endpoint ?? null, bucket]),
    async *list(start) {
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: start, Delimiter: '/' }, abort)
      try {
        for await (const page of pages) yield* entriesOf(page)
      } catch (error) {
        failure(`list ${start}*`)(error)
      }
    },
    async find(key) {
      try {
        const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), abort)
        return toStored(key, { ...head, Size: head.ContentLength })
      } catch (error) {
        if (isMissing(error)) return undefined
        return failure(`look at ${key}`)(error)
      }
    },
    async *read(object, from) {
      const { key, etag } = object
      const range = from > 0 ? { Range: `bytes=${from}-` } : {}
      const request = { Bucket: bucket, Key: key, IfMatch: etag, ...range }
      try {
        const { Body, ETag, ContentRange } = await client.send(new GetObjectCommand(request), abort)
        // Not every server looks at If-Match, nor at Range.
        if (ETag === undefined || quoteEtag(ETag) !== etag) throw replacedFailure(nameOfKey(key), server)
        if (from > 0 && !ContentRange?.startsWith(`bytes ${from}-`)) throw notContinued(nameOfKey(key), server)
        yield* Body as AsyncIterable<Buffer>
      } catch (error) {
        if (isReplacedOrMissing(error)) throw replacedFailure(nameOfKey(key), server)
        failure(`read ${key}`)(error)
      }
    },
    async copy({ key, etag }, to) {
      const request = {
        Bucket: bucket,
        Key: to,
        CopySource: `${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`,
        CopySourceIfMatch: etag,
      }
      try {
        await client.send(new CopyObjectCommand(request), abort)
      } catch (error) {
        if (isReplacedOrMissing(error)) throw replacedFailure(nameOfKey(key), server)
        failure(`copy ${key} to ${to}`, true)(error)
      }
    },
    async remove({ key, etag, modifiedAtMs }) {
      // Not every server looks at If-Match: a newer export must not be deleted there either, not even one of the same bytes.
      const current = await this.find(key)
      if (current?.etag !== etag || current.modifiedAtMs !== modifiedAtMs) return
      const object = { Bucket: bucket, Key: key }
      try {
        await client
          .send(new DeleteObjectCommand({ ...object, IfMatch: etag }), abort)
          .catch(async (error: unknown) => {
            if (!isNotImplemented(error)) throw error
            await client.send(new DeleteObjectCommand(object), abort)
          })
      } catch (error) {
        if (!isReplacedOrMissing(error)) failure(`delete ${key}`, true)(error)
      }
    },
    close: () => client.destroy(),
  }
}

/**
 * Google unpacks objects that were stored with `Content-Encoding: gzip` unless the client accepts gzip. It then sends other bytes than the
 * stated ones. The header is set once the request is signed, because Google changes it on the way.
 */
function requestStoredForm(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const request = args.request as { readonly headers: Record<string, string> }
      request.headers['accept-encoding'] = 'gzip'
      return await next(args)
    },
    { step: 'deserialize', name: 'requestStoredForm' },
  )
}

/** The objects of one page of a listing. Refuses an answer that is no listing, such as a page of a proxy, or whose rest cannot be read. */
function entriesOf({ Contents = [], IsTruncated, NextContinuationToken }: ListObjectsV2CommandOutput): StoredObject[] {
  if (IsTruncated === undefined || (IsTruncated && !NextContinuationToken))
    throw new TypeError('the answer is no listing')
  return Contents.map(({ Key, ...head }) => toStored(Key, head))
}

type Head = { readonly Size?: number; readonly LastModified?: Date; readonly ETag?: string }

function toStored(key: string | undefined, { Size, LastModified, ETag }: Head): StoredObject {
  if (key === undefined || Size === undefined || LastModified === undefined || ETag === undefined)
    throw new TypeError('the server does not state key, size, time and ETag of an object')
  return { key, bytes: Size, modifiedAtMs: LastModified.getTime(), etag: quoteEtag(ETag) }
}

/** Some servers leave out the quotes of an ETag in listings. */
function quoteEtag(etag: string): string {
  return `"${etag.replaceAll('"', '')}"`
}
