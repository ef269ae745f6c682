import { withOptionalPackage } from '../../system/optional-package.ts'
import type { ConnectorContext } from '../connector.ts'
import { type Limits, limitStore } from './limits.ts'
import type { ObjectStorageSource } from './settings.ts'
import type { ObjectStore, StoreOptions } from './store.ts'

type OpenStore = (source: ObjectStorageSource, options: StoreOptions) => Promise<ObjectStore>
type ByProvider<Value> = Readonly<Record<ObjectStorageSource['provider'], Value>>

const openers: ByProvider<() => Promise<OpenStore>> = {
  s3: async () => (await import('./s3.ts')).openS3,
  gcs: async () => (await import('./gcs.ts')).openGcs,
  azure: async () => (await import('./azure.ts')).openAzure,
}

const packages: ByProvider<readonly string[]> = {
  s3: ['@aws-sdk/client-s3'],
  gcs: ['@aws-sdk/client-s3', 'google-auth-library'],
  azure: ['@azure/storage-blob'],
}

type OpenBucket = { readonly secret: ConnectorContext['secret']; readonly limits: Limits }

/** Opens the bucket of a source. Throws a failure that names the optional package of its provider if that is missing. */
export async function openBucket(source: ObjectStorageSource, { secret, limits }: OpenBucket): Promise<ObjectStore> {
  const { provider } = source
  const load = packages[provider].reduce(
    (inner, name) => () => withOptionalPackage(inner, { name, use: `provider: ${provider}` }),
    openers[provider],
  )
  const openStore = await load()
  const { signal } = limits
  const store = await openStore(source, { signal, secret: async (path) => await secret(path)?.read() })
  return limitStore(store, limits)
}
