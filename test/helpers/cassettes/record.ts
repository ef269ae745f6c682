import type { ConnectorContext, OpenOptions, Reading } from '../../../src/connectors/connector.ts'
import { type HttpDependencies, httpConnector } from '../../../src/connectors/http/open.ts'
import type { HttpSource } from '../../../src/connectors/http/settings/settings.ts'
import { HttpSettings } from '../../../src/connectors/http/settings/shape.ts'
import { Cassette, originName } from './cassette.ts'
import { exchangeCleaner } from './clean-exchange.ts'
import { watchExchanges } from './exchanges.ts'
import { Redactor, withoutSecrets } from './redact.ts'

/** What a cassette is recorded from. */
export type RecordedSource = {
  readonly source: HttpSource
  /** The mapping of the connection, with that of its preset. */
  readonly mapping: object
  readonly context: ConnectorContext
  /** The secrets of the source, by their paths. */
  readonly secrets: ReadonlyMap<string, string>
  readonly options: OpenOptions
  readonly dependencies?: HttpDependencies
}

/** Settings that only the system at its real address needs. */
const leftOutSettings = ['ca', 'clientCertificate', 'basic', 'bearer', 'apiKey', 'insecure', 'allowPrivate']

/**
 * Reads a list of JSON as a run would, and returns what was exchanged without secrets and people, also if the reading fails. Keys and
 * passwords are left out; a login, and OAuth 2 without assertions, stay with invented tokens. Throws if a secret would stay.
 */
export async function recordCassette(recorded: RecordedSource): Promise<Cassette> {
  const { source, mapping, context, options, dependencies } = recorded
  if (source.format !== 'json') throw new Error('a cassette holds a list of JSON; send an export as a file')
  const secrets = new Map([...identifiersOf(source), ...recorded.secrets])
  using watched = watchExchanges()
  const failure = await readAll(httpConnector(source, context, dependencies).open(options))
  const plainText = textCleaner(source, secrets)
  const settings = JSON.parse(plainText(JSON.stringify(withoutKeys(source))))
  const redactor = new Redactor([settings, JSON.parse(JSON.stringify(mapping))])
  const cassette = Cassette.parse({
    recordedAt: options.now().toISOString(),
    failure: failure === null ? null : plainText(failure),
    source: settings,
    secrets: [...secrets.keys()],
    mapping: JSON.parse(JSON.stringify(mapping)),
    exchanges: watched.exchanges.map(exchangeCleaner(source, { redactor, plainText })),
  })
  const written = JSON.stringify(cassette)
  const remaining = [...secrets].find(([, secret]) => secret.length > 3 && written.includes(secret))
  if (remaining) throw new Error(`the cassette would hold the secret ${remaining[0]}`)
  return cassette
}

/** What tells for whom the system is read, though it need be no secret. */
function identifiersOf({ oauth2, login }: HttpSource): readonly (readonly [string, string])[] {
  const sent = Object.entries(login?.body ?? {}).map(([name, value]) => [`login.body.${name}`, value] as const)
  return [['oauth2.clientId', oauth2?.clientId] as const, ...sent].flatMap(([path, value]) =>
    typeof value === 'string' && value.length > 3 ? [[path, value] as const] : [],
  )
}

async function readAll(opening: Promise<Reading>): Promise<string | null> {
  try {
    const reading = await opening
    for await (const _ of reading.rows);
    await reading.close?.()
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Puts stand-ins into a text for secrets and for the addresses of the system. */
function textCleaner({ url, oauth2, login }: HttpSource, secrets: RecordedSource['secrets']) {
  const addresses = [url, oauth2?.tokenUrl, login?.url].filter((address) => address !== undefined)
  const origins = new Set(addresses.map((address) => new URL(address).origin))
  return (text: string) =>
    [...origins].reduce((rest, origin) => rest.replaceAll(origin, originName), withoutSecrets(text, secrets))
}

function withoutKeys({ oauth2, ...source }: HttpSource): object {
  const isSigned = oauth2?.grant === 'jwtBearer' || oauth2?.grant === 'samlBearer'
  const kept = Object.entries({ ...source, ...(!isSigned && { oauth2 }) })
  return Object.fromEntries(kept.filter(([name]) => name in HttpSettings.shape && !leftOutSettings.includes(name)))
}
