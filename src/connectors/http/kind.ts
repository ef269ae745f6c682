import { defineConnectorKind, lazyConnector } from '../kind.ts'
import { HttpSource } from './settings.ts'

/** A list of people that is fetched over HTTP. */
export const httpKind = defineConnectorKind({
  settings: HttpSource,
  secrets: [
    ...['decrypt.privateKey', 'decrypt.passphrase', 'bearer', 'basic.password', 'apiKey.value'],
    ...['clientCertificate.key', 'clientCertificate.passphrase'],
  ],
  // Some systems expect their key in place of a user name.
  possibleSecrets: ['basic.username'],
  isFile: false,
  isTextExport: ({ format }) => format !== 'json',
  connect: (settings, context) =>
    lazyConnector(async () => (await import('./open.ts')).httpConnector(settings, context)),
  discovery: {
    schemes: ['https:', 'http:'],
    preview: async (named, options) => await (await import('./preview.ts')).previewHttp(named, options),
  },
})
