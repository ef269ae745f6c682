import { defineConnectorKind, lazyConnector } from '../kind.ts'
import { HttpSource } from './settings/settings.ts'

/** A list of people that is fetched over HTTP. */
export const httpKind = defineConnectorKind({
  settings: HttpSource,
  secrets: [
    ...['decrypt.privateKey', 'decrypt.passphrase', 'bearer', 'basic.password', 'apiKey.value'],
    ...['oauth2.clientSecret', 'oauth2.refreshToken', 'oauth2.privateKey'],
    ...['clientCertificate.key', 'clientCertificate.passphrase'],
  ],
  // Some systems expect their key in place of a user name, in a header of its own, or in the body.
  possibleSecrets: [
    ...['basic.username', 'headers', 'body', 'join.*.body', 'each.*.body'],
    ...['oauth2.clientId', 'oauth2.parameters', 'oauth2.subject', 'oauth2.issuer', 'oauth2.attributes', 'login.body'],
  ],
  isFile: false,
  isTextExport: ({ format = 'csv' }) => format === 'csv',
  connect: (settings, context) =>
    lazyConnector(async () => (await import('./open.ts')).httpConnector(settings, context)),
  discovery: {
    schemes: ['https:', 'http:'],
    preview: async (named, options) => await (await import('./preview.ts')).previewHttp(named, options),
  },
})
