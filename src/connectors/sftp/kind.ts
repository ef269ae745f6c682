import { connectorKind, lazyConnector } from '../kind.ts'
import { SftpSource } from './settings.ts'

/** Exports on an SFTP server. */
export const sftpKind = connectorKind({
  settings: SftpSource,
  secrets: ['password', 'privateKey', 'passphrase', 'decrypt.privateKey', 'decrypt.passphrase'],
  possibleSecrets: [],
  isFile: true,
  isTextExport: () => true,
  connect: (settings, place) => lazyConnector(async () => (await import('./open.ts')).sftpConnector(settings, place)),
  discovery: {
    schemes: ['sftp:'],
    look: async (named, options) => await (await import('./look.ts')).lookAtSftp(named, options),
  },
})
