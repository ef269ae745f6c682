import { defineConnectorKind, lazyConnector } from '../kind.ts'
import { FolderSource } from './settings.ts'

/** Exports in a folder of this machine. */
export const folderKind = defineConnectorKind({
  settings: FolderSource,
  secrets: ['decrypt.privateKey', 'decrypt.passphrase'],
  possibleSecrets: [],
  isFile: true,
  isTextExport: ({ format = 'csv' }) => format === 'csv',
  connect(settings, context) {
    const load = async () => (await import('./open.ts')).folderConnector(settings, context)
    return lazyConnector(load, { watches: settings.watch !== 'off' })
  },
  discovery: {
    schemes: [],
    preview: async (named, options) => await (await import('./preview.ts')).previewFolder(named, options),
  },
})
