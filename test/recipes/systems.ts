import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { credentials } from '../helpers/hr-systems/credentials.ts'
import type { RunningSystem } from '../helpers/hr-systems/server.ts'
import { oracleAssertion } from '../helpers/hr-systems/systems/oracle-hcm.ts'
import { successfactorsAssertion } from '../helpers/hr-systems/systems/successfactors.ts'
import type { Certificates } from '../helpers/sources/hr-server.ts'

/** Settings of a source of type http. */
export type SourceSettings = Readonly<Record<string, unknown>> & { readonly url: string }

/** What an administrator gives for a recipe, so that it reads a system of the tests. */
export type SystemConnection = {
  readonly name: string
  readonly recipe: string
  readonly parameters: Readonly<Record<string, string>>
  /** By the path of their settings below the source. */
  readonly credentials: (context: ConnectionContext) => Readonly<Record<string, string>>
  /** Further settings, which go before those of the recipe. */
  readonly own?: (context: ConnectionContext) => Readonly<Record<string, unknown>>
}

/** What a connection leads to. */
export type ConnectionContext = { readonly server: RunningSystem; readonly certificates: Certificates | null }

const { company, user, password, apiKey, token, secondKey, clientId, clientSecret, refreshToken } = credentials
const host = 'hr.example.com'
const userAndPassword = () => ({ 'basic.username': user, 'basic.password': password })
const workday = {
  parameters: { host, tenant: company, owner: user, report: 'All_Workers' },
  credentials: userAndPassword,
}

/** One for each recipe, and one more for a system that knows its clients in two ways. */
export const systemConnections: readonly SystemConnection[] = [
  { ...named('workday-raas-json'), ...workday },
  { ...named('workday-raas-csv'), ...workday },
  {
    ...named('adp-api'),
    credentials: ({ certificates }) => ({
      'oauth2.clientId': clientId,
      'oauth2.clientSecret': clientSecret,
      'clientCertificate.certificate': requireCertificates(certificates).clientFile,
      'clientCertificate.key': requireCertificates(certificates).clientKey,
      'clientCertificate.passphrase': 'open sesame',
    }),
    own: ({ certificates }) => ({ ca: requireCertificates(certificates).authorityFile }),
  },
  {
    ...named('bamboohr-api'),
    parameters: { company, report: '17' },
    credentials: () => ({ 'basic.username': apiKey }),
  },
  {
    ...named('personio-api'),
    credentials: () => ({ 'login.body.client_id': clientId, 'login.body.client_secret': clientSecret }),
  },
  {
    ...named('personio-v2-api'),
    credentials: () => ({ 'oauth2.clientId': clientId, 'oauth2.clientSecret': clientSecret }),
  },
  { ...named('hibob-api'), credentials: userAndPassword },
  { ...named('hibob-report-api'), parameters: { report: '31048356' }, credentials: userAndPassword },
  { ...named('rippling-api'), credentials: () => ({ bearer: token }) },
  {
    ...named('gusto-api'),
    parameters: { company },
    credentials: () => ({
      'oauth2.clientId': clientId,
      'oauth2.clientSecret': clientSecret,
      'oauth2.refreshToken': refreshToken,
    }),
  },
  {
    ...named('successfactors-api'),
    parameters: { host, company, apiKey: clientId },
    credentials: ({ server }) => ({
      'oauth2.subject': successfactorsAssertion.subject,
      'oauth2.privateKey': server.keys?.privateKey ?? '',
    }),
  },
  {
    ...named('ukg-pro-api'),
    parameters: { host },
    credentials: () => ({ ...userAndPassword(), 'headers.US-Customer-Api-Key': apiKey }),
  },
  { ...named('deel-api'), credentials: () => ({ bearer: token }) },
  { ...named('oracle-hcm-api'), parameters: { host }, credentials: userAndPassword },
  {
    ...named('oracle-hcm-api'),
    name: 'oracle-hcm-api with a signed token',
    parameters: { host },
    credentials: ({ server }) => ({ 'oauth2.privateKey': server.keys?.privateKey ?? '' }),
    own: ({ server }) => ({
      basic: null,
      oauth2: { grant: 'jwtBearer', tokenUrl: `${server.origin}/oauth2/v1/token`, clientId, ...oracleAssertion },
    }),
  },
  { ...named('factorial-api'), credentials: () => ({ 'apiKey.value': apiKey }) },
  {
    ...named('frappe-hr-api'),
    parameters: { host },
    credentials: () => ({ 'apiKey.value': `token ${apiKey}:${secondKey}` }),
  },
  {
    ...named('odoo-api'),
    parameters: { host, database: company, user: '7' },
    credentials: () => ({ 'body.params.args.2': apiKey }),
  },
  {
    ...named('merge'),
    parameters: { host },
    credentials: () => ({ bearer: apiKey, 'headers.X-Account-Token': token }),
  },
  {
    ...named('kombo'),
    parameters: { host, integration: 'personio:acme' },
    credentials: () => ({ bearer: apiKey }),
  },
  { ...named('finch'), credentials: () => ({ bearer: token }) },
  { ...named('scim'), parameters: { host, path: 'scim', version: 'v2' }, credentials: () => ({ bearer: token }) },
]

/** The parts of a recipe that the tests use. */
export type RecipeFile = { readonly source: SourceSettings } & Readonly<Record<string, unknown>>

/** The file of a recipe. */
export async function readRecipeFile(name: string): Promise<RecipeFile> {
  return parse(await readFile(new URL(`../../config/presets/${name}.yaml`, import.meta.url), 'utf8'))
}

/** The settings of a source that reads a running system, and the secrets in it by their paths. */
export type FilledSource = { readonly settings: SourceSettings; readonly secrets: Readonly<Record<string, string>> }

/** The source of a recipe with what the administrator gives, on the address of the running system. */
export function fillSource(
  { source }: RecipeFile,
  connection: SystemConnection,
  context: ConnectionContext,
): FilledSource {
  const secrets = connection.credentials(context)
  const filled = Object.entries(connection.parameters).reduce<unknown>(
    (value, [name, text]) => mapTexts(value, (_path, part) => part.replaceAll(`{${name}}`, text)),
    source,
  )
  const local = mapTexts(filled, (path, text) =>
    /^(url|tokenUrl)$/.test(path.at(-1) ?? '') ? text.replace(/^https:\/\/[^/]+/, context.server.origin) : text,
  )
  const own = Object.entries({ ...(local as object), ...connection.own?.(context), allowPrivate: true })
  const without = Object.fromEntries(own.filter(([, value]) => value !== null))
  const settings = Object.entries(secrets).reduce<unknown>(
    (value, [path, text]) => withMember(value, path.split('.'), text),
    without,
  )
  return { settings: settings as SourceSettings, secrets: { ...constantPassword(source), ...secrets } }
}

/** A password that the recipe states, since any is accepted. Connectors read it as a secret. */
function constantPassword({ basic }: SourceSettings): Readonly<Record<string, string>> {
  const stated = typeof basic === 'object' && basic !== null ? Reflect.get(basic, 'password') : undefined
  return typeof stated === 'string' ? { 'basic.password': stated } : {}
}

function named(recipe: string): Pick<SystemConnection, 'name' | 'recipe' | 'parameters'> {
  return { name: recipe, recipe, parameters: {} }
}

function requireCertificates(certificates: Certificates | null): Certificates {
  if (certificates) return certificates
  throw new Error('this system needs certificates')
}

function mapTexts(
  value: unknown,
  change: (path: readonly string[], text: string) => string,
  path: readonly string[] = [],
): unknown {
  if (typeof value === 'string') return change(path, value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((member, index) => mapTexts(member, change, [...path, String(index)]))
  const members = Object.entries(value).map(([name, member]) => [name, mapTexts(member, change, [...path, name])])
  return Object.fromEntries(members)
}

function withMember(value: unknown, [name = '', ...rest]: readonly string[], text: string): unknown {
  const member = (inner: unknown) => (rest.length === 0 ? text : withMember(inner, rest, text))
  if (Array.isArray(value)) return value.map((one, index) => (String(index) === name ? member(one) : one))
  const members: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? { ...value } : {}
  return { ...members, [name]: member(members[name]) }
}
