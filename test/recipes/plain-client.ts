import { readFile } from 'node:fs/promises'
import { SignJWT } from 'jose'
import { Agent, request } from 'undici'
import { SignedXml } from 'xml-crypto'
import { HttpSource } from '../../src/connectors/http/settings/settings.ts'
import { flattenRecord, type JsonValue, pointer, readJson } from '../../src/connectors/json/cells.ts'
import type { SourceSettings } from './systems.ts'

/** A response, with its text. */
export type PlainResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

type List = Pick<HttpSource, 'url' | 'method' | 'body' | 'records' | 'pages'>
type Send = (
  url: string,
  options?: { method?: string; body?: unknown; headers?: Record<string, string> },
) => Promise<PlainResponse>

const maxPages = 10_000

/**
 * Reads a list as its settings say, with loops that are as simple as can be: nothing is checked, retried or limited. It shows that a server
 * of the tests and a recipe fit together. `now`: the time of assertions.
 */
export async function readPlainly(settings: SourceSettings, now: Date): Promise<readonly JsonValue[]> {
  const source = HttpSource.parse(settings)
  await using opened = new AsyncDisposableStack()
  const agent = opened.adopt(await openAgent(source), (one) => one.destroy())
  const send = sender(agent)
  const headers = { ...source.headers, ...(await credentialHeaders(source, send, now)) }
  const read = (list: List) => readPages(list, (url, options) => send(url, { ...options, headers }))
  const records = await read(source)
  const joined = await Promise.all(
    source.join.map(async (join) => {
      const details = await read(join)
      return { join, byKey: Map.groupBy(details, (detail) => String(pointer(detail, join.on))) }
    }),
  )
  return await Promise.all(
    records.map(async (record) => {
      const ofLists = joined.map(({ join, byKey }) => {
        const details = byKey.get(cellOf(record, join.with)) ?? []
        return [join.as, takeOne(details, join.take)] as const
      })
      const single = source.each.map(
        async (each) => [each.as, await fetchDetail(record, each, { send, headers })] as const,
      )
      return Object.assign({}, record, Object.fromEntries([...ofLists, ...(await Promise.all(single))]))
    }),
  )
}

type DetailContext = { readonly send: Send; readonly headers: Record<string, string> }

async function fetchDetail(
  record: JsonValue,
  each: HttpSource['each'][number],
  { send, headers }: DetailContext,
): Promise<JsonValue> {
  const fill = (template: string) => template.replaceAll(/\{([^{}"]+)\}/g, (_, name) => cellOf(record, name))
  const body = each.body && JSON.parse(fill(JSON.stringify(each.body)))
  const { text } = await send(fill(each.url), { method: each.method, body, headers })
  const content = readJson(Buffer.from(text), { name: each.url })
  const answer = each.batch ? pointer(content, `${each.batch.answers}/0`) : content
  const detail = answer && pointer(answer, each.records)
  return takeOne([detail ?? []].flat(), each.take)
}

/** Sends one request to the address of the settings, with their credentials, and returns the response, whatever its status is. */
export async function requestPlainly(settings: SourceSettings, now: Date): Promise<PlainResponse> {
  const source = HttpSource.parse({ ...settings, pages: undefined })
  await using opened = new AsyncDisposableStack()
  const agent = opened.adopt(await openAgent(source), (one) => one.destroy())
  const headers = { ...source.headers, ...(await credentialHeaders(source, sender(agent), now)) }
  return await sender(agent)(source.url, { method: source.method, body: source.body, headers })
}

function sender(agent: Agent): Send {
  return async (url, { method = 'GET', body, headers = {} } = {}) => {
    const isForm = body instanceof URLSearchParams
    const type = { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }
    const text = body === undefined ? undefined : isForm ? body.toString() : JSON.stringify(body)
    const response = await request(url, {
      dispatcher: agent,
      method: method === 'POST' ? 'POST' : 'GET',
      headers: { ...headers, ...(body !== undefined && type) },
      ...(text !== undefined && { body: text }),
    })
    return { status: response.statusCode, headers: response.headers, text: await response.body.text() }
  }
}

async function openAgent({ ca, clientCertificate }: HttpSource): Promise<Agent> {
  const file = async (path: string | undefined) => (path === undefined ? undefined : await readFile(path, 'utf8'))
  const { certificate, key, passphrase } = clientCertificate ?? {}
  return new Agent({ connections: 8, connect: { ca: await file(ca), cert: await file(certificate), key, passphrase } })
}

async function credentialHeaders(source: HttpSource, send: Send, now: Date): Promise<Record<string, string>> {
  const { basic, bearer, apiKey, login, oauth2 } = source
  if (basic) return { authorization: `Basic ${btoa(`${basic.username}:${basic.password}`)}` }
  if (bearer !== undefined) return { authorization: `Bearer ${bearer}` }
  if (apiKey) return { [apiKey.header]: apiKey.value }
  if (login) {
    const { text } = await send(login.url, { method: login.method, body: login.body })
    return { [login.header]: `${login.prefix}${pointer(JSON.parse(text), login.token)}` }
  }
  if (!oauth2) return {}
  const form = new URLSearchParams({
    ...(await grantParameters(oauth2, now)),
    client_id: oauth2.clientId,
    ...(oauth2.clientSecret !== undefined && { client_secret: oauth2.clientSecret }),
    ...oauth2.parameters,
  })
  const { status, text } = await send(oauth2.tokenUrl, { method: 'POST', body: form })
  if (status !== 200) throw new Error(`no token: ${status} ${text}`)
  return { authorization: `Bearer ${JSON.parse(text).access_token}` }
}

async function grantParameters(oauth2: NonNullable<HttpSource['oauth2']>, now: Date): Promise<Record<string, string>> {
  switch (oauth2.grant) {
    case 'clientCredentials':
      return { grant_type: 'client_credentials' }
    case 'refreshToken':
      return { grant_type: 'refresh_token', refresh_token: oauth2.refreshToken }
    case 'jwtBearer':
      return { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: await signedJwt(oauth2, now) }
    case 'samlBearer':
      return { grant_type: 'urn:ietf:params:oauth:grant-type:saml2-bearer', assertion: signedAssertion(oauth2, now) }
    default:
      return oauth2 satisfies never
  }
}

type Grant<Name> = Extract<NonNullable<HttpSource['oauth2']>, { grant: Name }>

async function signedJwt(
  { privateKey, issuer, clientId, subject, audience }: Grant<'jwtBearer'>,
  now: Date,
): Promise<string> {
  const { createPrivateKey } = await import('node:crypto')
  const seconds = Math.floor(now.getTime() / 1000)
  const claims = { iss: issuer ?? clientId, sub: subject, aud: audience, iat: seconds, exp: seconds + 300 }
  return await new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(createPrivateKey(privateKey))
}

/** What an assertion states. */
type StatedAssertion = Pick<
  Grant<'samlBearer'>,
  'privateKey' | 'issuer' | 'clientId' | 'subject' | 'audience' | 'tokenUrl' | 'lifetimeSeconds'
>

/** A signed SAML assertion in base64. */
export function signedAssertion(
  { privateKey, issuer, clientId, subject, audience, tokenUrl, lifetimeSeconds }: StatedAssertion,
  now: Date,
): string {
  const at = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString()
  const bearerMethod = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
  const xml = [
    `<saml2:Assertion xmlns:saml2="urn:oasis:names:tc:SAML:2.0:assertion" ID="_1" IssueInstant="${at(0)}" Version="2.0">`,
    `<saml2:Issuer>${issuer}</saml2:Issuer>`,
    `<saml2:Subject><saml2:NameID>${subject}</saml2:NameID><saml2:SubjectConfirmation Method="${bearerMethod}">`,
    `<saml2:SubjectConfirmationData NotOnOrAfter="${at(lifetimeSeconds)}" Recipient="${tokenUrl}"/>`,
    `</saml2:SubjectConfirmation></saml2:Subject>`,
    `<saml2:Conditions NotBefore="${at(-5)}" NotOnOrAfter="${at(lifetimeSeconds)}">`,
    `<saml2:AudienceRestriction><saml2:Audience>${audience}</saml2:Audience></saml2:AudienceRestriction>`,
    `</saml2:Conditions><saml2:AttributeStatement><saml2:Attribute Name="api_key">`,
    `<saml2:AttributeValue>${clientId}</saml2:AttributeValue></saml2:Attribute></saml2:AttributeStatement></saml2:Assertion>`,
  ].join('')
  const signer = new SignedXml({
    privateKey,
    signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  })
  signer.addReference({
    xpath: "/*[local-name(.)='Assertion']",
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', 'http://www.w3.org/2001/10/xml-exc-c14n#'],
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
  })
  signer.computeSignature(xml, { location: { reference: "/*/*[local-name(.)='Issuer']", action: 'after' } })
  return Buffer.from(signer.getSignedXml()).toString('base64')
}

async function readPages(list: List, send: Send): Promise<readonly JsonValue[]> {
  const records: JsonValue[] = []
  let target: Target | null = firstTarget(list)
  for (let page = 1; target !== null && page <= maxPages; page += 1) {
    const response: PlainResponse = await send(target.url, { method: list.method, body: target.body })
    if (response.status === 204) break
    if (response.status !== 200) throw new Error(`page ${page}: ${response.status} ${response.text}`)
    const content = readJson(Buffer.from(response.text), { name: `page ${page}` })
    const pageRecords = pointer(content, list.records)
    if (!Array.isArray(pageRecords)) throw new Error(`page ${page} holds no list`)
    records.push(...pageRecords)
    target = nextTarget(list, { response, content, target, count: pageRecords.length, total: records.length, page })
  }
  return records
}

type Target = { readonly url: string; readonly body: unknown }

function firstTarget(list: List): Target {
  const { pages } = list
  if (typeof pages !== 'object' || !('parameter' in pages)) return { url: list.url, body: list.body }
  return withParameters(
    { url: list.url, body: list.body },
    { [pages.sizeParameter ?? '']: pages.size, ...position(list, 0, 1) },
  )
}

type PageRead = {
  readonly response: PlainResponse
  readonly content: JsonValue
  readonly target: Target
  readonly count: number
  readonly total: number
  readonly page: number
}

function nextTarget(list: List, { response, content, target, count, total, page }: PageRead): Target | null {
  const { pages } = list
  if (typeof pages !== 'object' || pages.by === 'single') return null
  if (pages.by === 'link') {
    const [, url] = /<([^>]*)>; rel="next"/.exec(String(response.headers.link ?? '')) ?? []
    return url === undefined ? null : { ...target, url }
  }
  if (pages.more !== undefined && String(pointer(content, pages.more)) !== 'true') return null
  if (pages.by === 'next') {
    const url = pointer(content, pages.next)
    return url ? { ...target, url: new URL(String(url), target.url).href } : null
  }
  if (pages.by === 'cursor') {
    const token = pointer(content, pages.next)
    return token ? withParameters(target, { [pages.parameter]: String(token) }) : null
  }
  return count < (pages.size ?? 0) ? null : withParameters(target, position(list, total, page + 1))
}

function position({ pages }: List, skip: number, page: number): Readonly<Record<string, number>> {
  if (typeof pages !== 'object' || !('first' in pages)) return {}
  return { [pages.parameter]: pages.by === 'page' ? pages.first + page - 1 : pages.first + skip }
}

function withParameters({ url, body }: Target, parameters: Readonly<Record<string, unknown>>): Target {
  const address = new URL(url)
  const content: unknown = structuredClone(body)
  for (const [name, value] of Object.entries(parameters)) {
    if (!name.startsWith('/')) address.searchParams.set(name, String(value))
    else {
      const names = name.split('/').slice(1)
      const holder = names.slice(0, -1).reduce<unknown>((inner, one) => Reflect.get(inner as object, one), content)
      Reflect.set(holder as object, names.at(-1) ?? '', value)
    }
  }
  return { url: address.href, body: content }
}

function cellOf(record: JsonValue, name: string): string {
  return flattenRecord(record).cells.get(name) ?? ''
}

function takeOne(details: readonly JsonValue[], take: string): JsonValue {
  const [, column] = /^(?:latest|current) by (.+)$/.exec(take) ?? []
  if (column === undefined) return details[0] ?? null
  return details.toSorted((one, other) => (cellOf(one, column) < cellOf(other, column) ? 1 : -1))[0] ?? null
}
