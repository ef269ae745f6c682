import type { SourcePreview } from '../../connectors/discovery.ts'
import { listNames } from '../../connectors/http/client/address-label.ts'
import { isLocalHost } from '../../connectors/http/network/private-address.ts'
import { previewAddress } from '../../connectors/http/preview.ts'
import type { SignIn } from '../../contract/control/first-visit.ts'
import { Failure } from '../../errors.ts'
import { refuseReferences, toConnectionName } from './configuration.ts'
import { isTrial, reportingFailures, type VisitParts } from './first-parts.ts'
import { inTime, type PlannedList, planList } from './plan-list.ts'
import { byPath } from './recipe-connection.ts'
import { type FirstConnection, helpOfPage, type Sample, type SampleDraft, type SampleSource } from './samples.ts'
import { type SecretToWrite, secretFile } from './secret-files.ts'
import { type FormHelp, readTable, tableOfList } from './table.ts'
import type { VisitStore } from './visit-store.ts'

/** The address of a list, as a person gives it. */
export type AddressRequest = {
  readonly url: string
  /** A pointer to the list in an answer; left out: it is found. */
  readonly records?: string | undefined
  readonly signIn: SignIn
}

/** What a person gives to sign in, by the settings of the source that they become. */
type Credentials = {
  readonly texts: ReadonlyMap<string, string>
  readonly secrets: ReadonlyMap<string, string>
}

/** What helps if an export cannot be read when its address is given. The page has a form for that only once the address is taken. */
const helpOfAddress: FormHelp = {
  encoding: 'use "rollcall init" with --encoding',
  whichEncoding: 'say which one it is to "rollcall init" with --encoding',
  delimiter: 'use "rollcall init" with --delimiter',
  whichDelimiter: 'say which one it is to "rollcall init" with --delimiter',
  whichSheet: 'name it to "rollcall init" with --sheet',
}

/** An address that was looked at. */
type LookedAt = { readonly preview: SourcePreview; readonly credentials: Credentials; readonly label: string }

/**
 * Looks at the list at an address: finds its records, its pages and its columns. Refused unless this is a trial, on the machine of the person
 * at the browser: elsewhere the browser could show them what only the machine of Rollcall can reach.
 */
export async function readAddress(
  parts: VisitParts & { readonly visits: VisitStore<Sample> },
  request: AddressRequest,
  id: string,
): Promise<Sample> {
  if (!isTrial(parts.config))
    throw new Failure(
      'usage',
      'a browser cannot give an address, as it could reach into your network: use "rollcall init --source" on the machine that runs Rollcall',
    )
  const url = addressIn(request.url)
  const credentials = credentialsIn(request.signIn)
  refuseReferences([request.url, request.records, ...credentials.texts.values()])
  const label = `${url.origin}${url.pathname}`
  const previewed = await reportingFailures(parts, { source: label, signal: parts.signal }, () =>
    inTime(parts.signal, async (signal) => {
      const { secrets } = credentials
      // The settings are checked with a value in place of each secret; `secret` gives the secrets themselves.
      const placeholders = [...secrets.keys()].map((path) => [path, 'given'] as const)
      const settings = byPath(Object.fromEntries([...credentials.texts, ...placeholders]))
      const secret = (path: string) => secretText(secrets.get(path))
      const recordsHelp = (pointer: string) => `the path of the list, such as ${pointer}`
      const preview = await previewAddress({ url, records: request.records, settings, secret }, { signal, recordsHelp })
      if ('head' in preview) await readTable(preview.head, {}, { help: helpOfAddress, signal })
      return preview
    }),
  )
  return addressSample({ preview: previewed, credentials, label }, { ...parts, id })
}

function secretText(text: string | undefined) {
  return text === undefined ? null : { read: async () => text }
}

function addressIn(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Failure('usage', 'give the whole address of the list, such as https://hr.example.com/v1/employees')
  if (url.protocol === 'http:' && !isLocalHost(url))
    throw new Failure('usage', 'everybody on the way can read http://: give an address that begins with https://')
  if (url.username === '' && url.password === '') return url
  throw new Failure('usage', 'leave user name and password out of the address, and choose to sign in with them')
}

function credentialsIn(signIn: SignIn): Credentials {
  switch (signIn.with) {
    case 'nothing':
      return { texts: new Map(), secrets: new Map() }
    case 'bearer':
      return { texts: new Map(), secrets: new Map([['bearer', signIn.token]]) }
    case 'basic': {
      const { username, password } = signIn
      return { texts: new Map([['basic.username', username]]), secrets: new Map([['basic.password', password]]) }
    }
    case 'apiKey': {
      const { header, value } = signIn
      return { texts: new Map([['apiKey.header', header]]), secrets: new Map([['apiKey.value', value]]) }
    }
    default:
      return signIn satisfies never
  }
}

type SampleParts = VisitParts & { readonly visits: VisitStore<Sample>; readonly id: string }

function addressSample({ preview, credentials, label }: LookedAt, parts: SampleParts): Sample {
  const { id, visits } = parts
  let planned: { readonly digest: string; readonly plan: PlannedList } | null = null
  return {
    id,
    name: listNames(label).name,
    bytes: null,
    tableOf: async (form) =>
      'list' in preview
        ? tableOfList(preview.list)
        : await readTable(preview.head, form, { help: helpOfPage, signal: parts.signal }),
    sourceFor: async (settings) => sourceOf({ preview, credentials, label }, settings, parts.config.folder),
    async plan(draft, visitor) {
      if (planned?.digest === draft.digest) return planned.plan
      const read = (signal: AbortSignal) =>
        reportingFailures(parts, { source: label, signal }, () =>
          planList(withPlainSecrets(draft), { ...parts, signal }),
        )
      planned = { digest: draft.digest, plan: await visits.read(visitor, read) }
      return planned.plan
    },
  }
}

function withPlainSecrets({ next, connection, secrets }: SampleDraft) {
  return { next, connection, secrets: new Map([...secrets].map(([path, { secret }]) => [path, secret])) }
}

function sourceOf({ preview, credentials, label }: LookedAt, { name }: FirstConnection, folder: string): SampleSource {
  const target = { folder, name: toConnectionName(name) }
  const secrets = new Map(
    [...credentials.secrets].map(([setting, secret]): [string, SecretToWrite] => [
      setting,
      secretFile(target, { setting, secret }),
    ]),
  )
  const references = [...secrets].map(([setting, { reference }]) => [setting, reference] as const)
  // The source that was found has placeholders in place of secrets.
  const { bearer: _bearer, basic: _basic, apiKey: _apiKey, ...rest } = preview.source
  const settings = { ...rest, ...byPath(Object.fromEntries([...credentials.texts, ...references])) }
  return { settings, shown: label, makesFolder: null, secrets }
}
