import { connectorKind, lazyConnector } from '../kind.ts'
import { CsvSource } from './settings.ts'

/** Exports in a folder of this machine. */
export const csvKind = connectorKind({
  settings: CsvSource,
  secrets: ['decrypt.privateKey', 'decrypt.passphrase'],
  possibleSecrets: [],
  isFile: true,
  isTextExport: () => true,
  connect(settings, place) {
    const load = async () => (await import('./open.ts')).csvConnector(settings, place)
    return lazyConnector(load, { watches: settings.watch !== 'off' })
  },
  discovery: {
    schemes: [],
    look: async (named, options) => await (await import('./look.ts')).lookAtFolder(named, options),
  },
})
