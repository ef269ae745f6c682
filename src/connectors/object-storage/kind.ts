import { defineConnectorKind, lazyConnector } from '../kind.ts'
import { ObjectStorageSource } from './settings.ts'

/** Exports in a bucket of Amazon S3, Google Cloud Storage or Azure Blob Storage. */
export const objectStorageKind = defineConnectorKind({
  settings: ObjectStorageSource,
  secrets: [
    ...['secretAccessKey', 'sessionToken', 'googleCredentials', 'accountKey', 'sasToken'],
    ...['decrypt.privateKey', 'decrypt.passphrase'],
  ],
  possibleSecrets: ['accessKeyId'],
  isFile: true,
  isTextExport: ({ format = 'csv' }) => format === 'csv',
  connect: (settings, context) =>
    lazyConnector(async () => (await import('./open.ts')).objectStorageConnector(settings, context)),
  discovery: {
    schemes: ['s3:', 'gs:', 'az:'],
    preview: async (named, options) => await (await import('./preview.ts')).previewObject(named, options),
  },
})
