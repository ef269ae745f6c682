import { defineConnectorKind, lazyConnector } from '../kind.ts'
import { SftpSource } from './settings.ts'

/** Exports on an SFTP server. */
export const sftpKind = defineConnectorKind({
  settings: SftpSource,
  secrets: ['password', 'privateKey', 'passphrase', 'decrypt.privateKey', 'decrypt.passphrase'],
  possibleSecrets: [],
  isFile: true,
  isTextExport: ({ format = 'csv' }) => format === 'csv',
  connect: (settings, context) =>
    lazyConnector(async () => (await import('./open.ts')).sftpConnector(settings, context)),
  discovery: {
    schemes: ['sftp:'],
    preview: async (named, options) => await (await import('./preview.ts')).previewSftp(named, options),
  },
})
