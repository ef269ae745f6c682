import { isLocalHost } from '../network/private-address.ts'
import type { HttpSettings } from './shape.ts'

/** Settings that contradict each other. `path` is below the source. */
type Contradiction = { readonly path: readonly (string | number)[]; readonly message: string }

type Rule = readonly [isBroken: boolean, path: string, message: string]

/** The contradictions within the settings of a source. An address that cannot be parsed has an issue of its own. */
export function contradictions(source: HttpSettings): readonly Contradiction[] {
  const url = URL.parse(source.url)
  if (!url) return []
  const rules = [
    ...credentialRules(source, url),
    ...requestRules(source),
    ...nextRules(source, url),
    ...pageRules(source, url),
    ...exportRules(source),
  ]
  return [...addressContradictions(source, url), ...brokenOf(rules), ...detailContradictions(source)]
}

/** What the broken rules say. `below`: the path of the settings that they are about. */
function brokenOf(rules: readonly Rule[], below: Contradiction['path'] = []): Contradiction[] {
  return rules.filter(([isBroken]) => isBroken).map(([, path, message]) => ({ path: [...below, path], message }))
}

/** Refuses details with the same name, bodies that are not sent, and pages that contradict the address. */
function detailContradictions({ join, each }: HttpSettings): Contradiction[] {
  const details = [
    ...join.map((detail, index) => ({ detail, path: ['join', index] })),
    ...each.map((detail, index) => ({ detail, path: ['each', index] })),
  ]
  const ofPages = join.flatMap((list, index) => {
    const url = URL.parse(list.url)
    return url === null ? [] : brokenOf(pageRules(list, url), ['join', index])
  })
  const ofDetails = details.flatMap(({ detail, path }, index) => {
    const isNameTaken = details.slice(0, index).some((other) => other.detail.as === detail.as)
    const isBodyUnsent = detail.method === 'GET' && detail.body !== undefined
    return [
      ...(isNameTaken ? [{ path: [...path, 'as'], message: 'another detail has this name already' }] : []),
      ...(isBodyUnsent ? [{ path: [...path, 'body'], message: 'needs method: POST' }] : []),
    ]
  })
  return [...ofPages, ...ofDetails]
}

/** Refuses addresses without encryption, hold credentials, or would send the credentials to another host. */
function addressContradictions(source: HttpSettings, url: URL): Contradiction[] {
  const { oauth2, login, join, each } = source
  const tokenAddresses = [
    { path: ['oauth2', 'tokenUrl'], address: oauth2?.tokenUrl },
    { path: ['login', 'url'], address: login?.url },
  ]
  const listAddresses = [
    ...join.map((list, index) => ({ path: ['join', index, 'url'], address: list.url })),
    ...each.map((detail, index) => ({ path: ['each', index, 'url'], address: detail.url })),
  ]
  const foreign = listAddresses
    .filter(({ address }) => URL.parse(address.replaceAll(/[{}]/g, ''))?.origin !== url.origin)
    .map(({ path }) => ({ path, message: 'is on another host than url, which must not see its credentials' }))
  const addresses = [{ path: ['url'], address: source.url }, ...tokenAddresses]
  return [...foreign, ...addresses.flatMap((address) => addressProblems(source, address))]
}

type Address = { readonly path: string[]; readonly address: string | undefined }

function addressProblems({ insecure, allowPrivate }: HttpSettings, { path, address }: Address): Contradiction[] {
  const url = address === undefined ? null : URL.parse(address)
  if (!url) return []
  const isUnencrypted = url.protocol === 'http:' && !insecure && !(isLocalHost(url) && allowPrivate)
  const message = 'http:// is not encrypted: write https://, or insecure: true'
  const holdsCredentials = url.username !== '' || url.password !== ''
  return [
    ...(isUnencrypted ? [{ path, message }] : []),
    ...(holdsCredentials ? [{ path, message: 'an address holds no credentials: use basic' }] : []),
  ]
}

function credentialRules({ bearer, basic, apiKey, oauth2, login, clientCertificate }: HttpSettings, url: URL): Rule[] {
  const schemes = [bearer, basic, apiKey, oauth2, login].filter((scheme) => scheme !== undefined)
  const isClientKey = oauth2?.grant === 'jwtBearer' && oauth2.proves === 'client'
  return [
    [schemes.length > 1, 'bearer', 'name one of bearer, basic, apiKey, oauth2 and login'],
    [url.protocol === 'http:' && clientCertificate !== undefined, 'clientCertificate', 'needs https://'],
    [
      oauth2?.grant === 'jwtBearer' && oauth2.proves === 'user' && oauth2.subject === undefined,
      'oauth2',
      'subject is missing: the user in whose name Rollcall reads',
    ],
    [
      isClientKey && (oauth2.issuer !== undefined || oauth2.subject !== undefined),
      'oauth2',
      'proves: client makes clientId the issuer and the subject: leave issuer and subject out',
    ],
    [
      isClientKey && oauth2.clientSecret !== undefined,
      'oauth2',
      'proves: client stands in for the secret: leave clientSecret out',
    ],
    [login?.method === 'GET' && login.body !== undefined, 'login', 'a request with method: GET has no body'],
    [login?.encoding === 'form' && hasGroups(login.body), 'login', 'encoding: form sends no objects and lists'],
  ]
}

function hasGroups(body: Readonly<Record<string, unknown>> = {}): boolean {
  return Object.values(body).some((value) => typeof value === 'object' && value !== null)
}

function requestRules({ method, body, mode, pages }: HttpSettings): Rule[] {
  const hasKey = typeof pages === 'object' && pages.key !== undefined
  return [
    [mode === 'delta' && hasKey, 'pages', 'leave key out: in a delta several records may be about one person'],
    [method === 'GET' && body !== undefined, 'body', 'needs method: POST'],
  ]
}

function nextRules({ next, nextParameter, pages }: HttpSettings, url: URL): Rule[] {
  return [
    [typeof pages === 'object' && next !== undefined, 'next', 'write it below pages, or leave pages out'],
    [nextParameter !== undefined && next === undefined, 'next', 'say where the token stands that nextParameter sends'],
    [
      nextParameter !== undefined && url.searchParams.has(nextParameter),
      'nextParameter',
      'url has this parameter already',
    ],
  ]
}

/** The rules about the pages of the list of a source, or of a further list. */
function pageRules({ pages, method }: Pick<HttpSettings, 'pages' | 'method'>, url: URL): Rule[] {
  if (typeof pages !== 'object' || !('parameter' in pages)) return []
  const { in: location, parameter, sizeParameter, size } = pages
  const sent = [parameter, sizeParameter].filter((name) => name !== undefined)
  return [
    [method === 'GET' && location === 'body', 'pages', 'in: body needs method: POST'],
    [
      location === 'query' && sent.some((name) => url.searchParams.has(name)),
      'pages',
      'url has one of its parameters already',
    ],
    [(sizeParameter === undefined) !== (size === undefined), 'pages', 'sizeParameter and size belong together'],
  ]
}

function exportRules(source: HttpSettings): Rule[] {
  if (source.format === 'json') return []
  const forJson = 'is for format: json'
  return [
    [source.next !== undefined, 'next', forJson],
    [source.pages !== undefined, 'pages', forJson],
    [source.missing !== undefined, 'missing', forJson],
    [source.records !== '', 'records', forJson],
    [source.join.length > 0, 'join', forJson],
    [source.each.length > 0, 'each', forJson],
    [source.asOf.from === 'pointer', 'asOf', 'a pointer is for format: json'],
  ]
}
