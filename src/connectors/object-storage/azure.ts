import { ContainerClient, type StoragePipelineOptions, StorageSharedKeyCredential } from '@azure/storage-blob'
import { withOptionalPackage } from '../../system/optional-package.ts'
import { isMissing, isReplacedOrMissing, notContinued, objectFailure, replacedFailure } from './failures.ts'
import type { ObjectStorageSource } from './settings.ts'
import { nameOfKey, type ObjectStore, type StoredObject, type StoreOptions } from './store.ts'

/** A container of Azure Blob Storage. Without a key, the usual chain of the environment gives credentials. */
export async function openAzure(source: ObjectStorageSource, options: StoreOptions): Promise<ObjectStore> {
  const { bucket, account = '', endpoint } = source
  const { signal } = options
  const address = `${endpoint?.replace(/\/$/, '') ?? `https://${account}.blob.core.windows.net`}/${encodeURIComponent(bucket)}`
  const pipeline = { retryOptions: { maxTries: 3, retryDelayInMs: 500 } }
  const container = await openContainer(address, account, { ...options, pipeline })
  const server = `the container ${bucket}`
  const abort = { abortSignal: signal }
  const failure =
    (action: string, writes = false) =>
    (cause: unknown) => {
      signal.throwIfAborted()
      throw objectFailure({ action: `${action} in ${server}`, cause, writes })
    }
  return {
    server,
    id: JSON.stringify(['azure', address]),
    async *list(start) {
      try {
        for await (const item of container.listBlobsByHierarchy('/', { prefix: start, ...abort }))
          if (item.kind === 'blob') yield toStored(item.name, item.properties)
      } catch (error) {
        failure(`list ${start}*`)(error)
      }
    },
    async find(key) {
      try {
        return toStored(key, await container.getBlobClient(key).getProperties(abort))
      } catch (error) {
        if (isMissing(error)) return undefined
        return failure(`look at ${key}`)(error)
      }
    },
    async *read({ key, etag }, from) {
      try {
        const conditions = { conditions: { ifMatch: etag }, ...abort }
        const answer = await container.getBlobClient(key).download(from, undefined, conditions)
        const { readableStreamBody, contentRange } = answer
        if (from > 0 && !contentRange?.startsWith(`bytes ${from}-`)) throw notContinued(nameOfKey(key), server)
        if (readableStreamBody === undefined) throw new TypeError('the answer has no body')
        yield* readableStreamBody as AsyncIterable<Buffer>
      } catch (error) {
        if (isReplacedOrMissing(error)) throw replacedFailure(nameOfKey(key), server)
        failure(`read ${key}`)(error)
      }
    },
    async copy({ key, etag }, to) {
      const conditions = { conditions: { ifNoneMatch: '*' }, sourceConditions: { ifMatch: etag }, ...abort }
      const { url } = container.getBlobClient(key)
      try {
        const copying = await container.getBlobClient(to).beginCopyFromURL(url, { ...conditions, intervalInMs: 1000 })
        signal.addEventListener('abort', () => copying.stopPolling(), { once: true })
        await copying.pollUntilDone()
      } catch (error) {
        if (isReplacedOrMissing(error)) throw replacedFailure(nameOfKey(key), server)
        failure(`copy ${key} to ${to}`, true)(error)
      }
    },
    async remove({ key, etag }) {
      const request = container.getBlobClient(key).delete({ conditions: { ifMatch: etag }, ...abort })
      await request.catch((error: unknown) => {
        if (!isReplacedOrMissing(error)) failure(`delete ${key}`, true)(error)
      })
    },
    close: () => {},
  }
}

type ContainerOptions = Pick<StoreOptions, 'secret'> & { readonly pipeline: StoragePipelineOptions }

async function openContainer(
  address: string,
  account: string,
  { secret, pipeline }: ContainerOptions,
): Promise<ContainerClient> {
  const accountKey = await secret('accountKey')
  if (accountKey !== undefined)
    return new ContainerClient(address, new StorageSharedKeyCredential(account, accountKey), pipeline)
  const sasToken = await secret('sasToken')
  if (sasToken !== undefined)
    return new ContainerClient(`${address}?${sasToken.replace(/^.*\?/s, '')}`, undefined, pipeline)
  const { DefaultAzureCredential } = await withOptionalPackage(() => import('@azure/identity'), {
    name: '@azure/identity',
    use: 'a container without accountKey and sasToken',
  })
  return new ContainerClient(address, new DefaultAzureCredential(), pipeline)
}

type BlobState = { readonly contentLength?: number; readonly lastModified?: Date; readonly etag?: string }

function toStored(key: string, { contentLength, lastModified, etag }: BlobState): StoredObject {
  if (contentLength === undefined || lastModified === undefined || etag === undefined)
    throw new TypeError('the server does not state size, time and ETag of an object')
  // A listing states the ETag without the quotes that a header has.
  return { key, bytes: contentLength, modifiedAtMs: lastModified.getTime(), etag: `"${etag.replaceAll('"', '')}"` }
}
