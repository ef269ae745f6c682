import type { ConnectorContext } from '../connector.ts'
import { withOptionalPackage } from '../../system/optional-package.ts'
import type { ObjectStorageSource } from './settings.ts'
import type { ObjectStore, StoreOptions } from './store.ts'

const openers: Readonly<
  Record<
    ObjectStorageSource['provider'],
    () => Promise<(source: ObjectStorageSource, options: StoreOptions) => Promise<ObjectStore>>
  >
> = {
  s3: () =>
    withOptionalPackage(async () => (await import('./s3.ts')).openS3, {
      name: '@aws-sdk/client-s3',
      use: 'provider: s3',
    }),
  gcs: () =>
    withOptionalPackage(
      () =>
        withOptionalPackage(async () => (await import('./gcs.ts')).openGcs, {
          name: '@aws-sdk/client-s3',
          use: 'provider: gcs',
        }),
      { name: 'google-auth-library', use: 'provider: gcs' },
    ),
  azure: () =>
    withOptionalPackage(async () => (await import('./azure.ts')).openAzure, {
      name: '@azure/storage-blob',
      use: 'provider: azure',
    }),
}

type OpenBucket = { readonly secret: ConnectorContext['secret']; readonly signal: AbortSignal }

/** Opens the bucket of a source. Throws a failure that names the optional package of its provider if that is missing. */
export async function openBucket(source: ObjectStorageSource, { secret, signal }: OpenBucket): Promise<ObjectStore> {
  const open = await openers[source.provider]()
  return await open(source, { signal, secret: async (path) => await secret(path)?.read() })
}
