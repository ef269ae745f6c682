import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3'
import { isMissing, isOtherState, objectFailure, replaced } from './failures.ts'
import type { ObjectStorageSource } from './settings.ts'
import { nameOfKey, type ObjectStore, type StoredObject, type StoreOptions } from './store.ts'

/** Access to a bucket with an access key of the settings; undefined without one. */
export async function accessKey(
  { accessKeyId }: ObjectStorageSource,
  { secret }: StoreOptions,
): Promise<(S3ClientConfig['credentials'] & object) | undefined> {
  const secretAccessKey = await secret('secretAccessKey')
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
  const sessionToken = await secret('sessionToken')
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) }
}

/** A bucket of Amazon S3, or of a server that speaks its API. Without a key, the usual chain of the environment gives credentials. */
export async function openS3(source: ObjectStorageSource, options: StoreOptions): Promise<ObjectStore> {
  const { endpoint, region } = source
  const credentials = await accessKey(source, options)
  return bucketOverS3(source, options, {
    ...(endpoint !== undefined && { endpoint, region: 'us-east-1', forcePathStyle: true }),
    ...(region !== undefined && { region }),
    ...(credentials && { credentials }),
    followRegionRedirects: endpoint === undefined,
  })
}

/** A bucket of any provider that speaks the API of S3. */
export function bucketOverS3(
  { bucket, provider, endpoint, idleTimeoutMs }: ObjectStorageSource,
  { signal }: Pick<StoreOptions, 'signal'>,
  access: S3ClientConfig,
): ObjectStore {
  const client = new S3Client({
    // Other servers than Amazon's do not know the checksums of newer clients.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: idleTimeoutMs, requestTimeout: idleTimeoutMs, throwOnRequestTimeout: true },
    ...access,
  })
  const server = `the bucket ${bucket}`
  const abort = { abortSignal: signal }
  const failure = (action: string) => (cause: unknown) => {
    signal.throwIfAborted()
    throw objectFailure({ action, server, cause })
  }
  return {
    server,
    id: JSON.stringify([provider, endpoint ?? null, bucket]),
    async *list(start) {
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: start, Delimiter: '/' }, abort)
      try {
        for await (const { Contents = [] } of pages) yield* Contents.map(({ Key, ...head }) => toStored(Key, head))
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
        const { Body, ETag } = await client.send(new GetObjectCommand(request), abort)
        // Not every server looks at If-Match.
        if (ETag !== etag) throw replaced(nameOfKey(key), server)
        yield* Body as AsyncIterable<Buffer>
      } catch (error) {
        if (isOtherState(error)) throw replaced(nameOfKey(key), server)
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
      await client.send(new CopyObjectCommand(request), abort).catch(failure(`copy ${key} to ${to}`))
    },
    async remove(object) {
      const { key, etag } = object
      // Not every server looks at If-Match: a newer export must not be deleted there either.
      if ((await this.find(key))?.etag !== etag) return
      const request = new DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: etag })
      await client.send(request, abort).catch((error: unknown) => {
        if (!isOtherState(error)) failure(`delete ${key}`)(error)
      })
    },
    close: () => client.destroy(),
  }
}

type Head = { readonly Size?: number; readonly LastModified?: Date; readonly ETag?: string }

function toStored(key: string | undefined, { Size, LastModified, ETag }: Head): StoredObject {
  if (key === undefined || Size === undefined || LastModified === undefined || ETag === undefined)
    throw new TypeError('the server does not state key, size, time and ETag of an object')
  return { key, bytes: Size, modifiedAtMs: LastModified.getTime(), etag: ETag }
}
