import { defineConnectorKind, lazyConnector } from '../kind.ts'
import { FolderSource } from './settings.ts'

/** Exports in a folder of this machine. */
export const folderKind = defineConnectorKind({
  settings: FolderSource,
  secrets: ['decrypt.privateKey', 'decrypt.passphrase'],
  possibleSecrets: [],
  isFile: true,
  isTextExport: () => true,
  connect(settings, place) {
    const load = async () => (await import('./open.ts')).folderConnector(settings, place)
    return lazyConnector(load, { watches: settings.watch !== 'off' })
  },
  discovery: {
    schemes: [],
    preview: async (named, options) => await (await import('./preview.ts')).previewFolder(named, options),
  },
})
