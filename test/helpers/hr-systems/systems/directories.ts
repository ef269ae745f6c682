import { clientAssertion, clientCredentials, jwtBearer } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { hasLeft } from '../csv.ts'
import { numberKeys, uuidKeys } from '../keys.ts'
import { cursorPages, nextAddress, nextToken, type Page } from '../pages.ts'
import { headerOf, Refusal, type Reply, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const { clientId, clientSecret } = credentials
const noFacts = { facts: [], total: null } as const

/** The tenant of the tests. */
export const tenant = '11111111-2222-4333-8444-555555555555'
/** The Okta domain of the tests. */
export const oktaHost = 'acme.okta.com'
/** The administrator in whose name Google is read. */
export const administrator = 'reader@example.com'

/** The other address of everybody, which only the directories know. */
function aliasOf({ email }: Person): string {
  return `alias.${email}`
}

/** The number of a person in HR. Some accounts lack it. */
export function numberOf({ index }: Person): string | null {
  return index % 3 === 0 ? null : String(1001 + index)
}

const entraKey = uuidKeys('entra')

/** Microsoft Graph: client credentials; a page holds the address of the next one, and only what $select names. */
const entra: HrSystem = {
  name: 'entra-users',
  authentication: clientCredentials({
    ...{ clientId, clientSecret },
    path: `/${tenant}/oauth2/v2.0/token`,
    lifetimeSeconds: 3599,
  }),
  lists: [
    {
      method: 'GET',
      path: '/v1.0/users',
      shape: userOf,
      // With the sign-ins, a page holds 500 users at most.
      pages: cursorPages({
        ...{ parameter: '$skiptoken', sizeParameter: '$top' },
        ...{ defaultSize: 100, maxSize: 500, exceeded: 'refuse' },
      }),
      write: (page) => {
        const next = nextAddress(page, '$skiptoken')
        const context = { '@odata.context': 'https://graph.microsoft.com/v1.0/$metadata#users' }
        return { status: 200, body: { ...context, ...(next && { '@odata.nextLink': next }), value: page.records } }
      },
    },
  ],
  keyOf: entraKey,
  ...noFacts,
  maxPageSize: 500,
}

function userOf(person: Person, { url }: SystemRequest): unknown {
  const selected = new Set((url.searchParams.get('$select') ?? 'id,userPrincipalName,mail').split(','))
  const { index, first, last, email } = person
  const user = {
    id: entraKey(person),
    userPrincipalName: `u${index}@acme.onmicrosoft.example`,
    mail: email,
    proxyAddresses: [`SMTP:${email}`, `smtp:${aliasOf(person)}`],
    accountEnabled: !hasLeft(person),
    employeeId: numberOf(person),
    givenName: first,
    surname: last,
    userType: 'Member',
    ...(index % 5 !== 0 && { signInActivity: { lastSignInDateTime: '2026-11-18T09:30:00Z' } }),
  }
  return Object.fromEntries(Object.entries(user).filter(([name]) => selected.has(name)))
}

const oktaKey = (person: Person) => `00u${numberKeys(1000)(person)}`
const oktaToken = `https://${oktaHost}/oauth2/v1/token`

/** Okta: a signed assertion in place of the secret; the header Link names the next page. Deactivated users are not in the list. */
const okta: HrSystem = {
  name: 'okta-users',
  authentication: clientAssertion({
    ...{ issuer: clientId, subject: clientId, audience: oktaToken, scope: 'okta.users.read' },
    path: '/oauth2/v1/token',
    lifetimeSeconds: 3600,
  }),
  lists: [
    {
      method: 'GET',
      path: '/api/v1/users',
      shape: oktaUserOf,
      pages: cursorPages({
        ...{ parameter: 'after', sizeParameter: 'limit' },
        ...{ defaultSize: 200, maxSize: 200, exceeded: 'clamp' },
      }),
      check: (request) => {
        if (headerOf(request, 'authorization').startsWith('SSWS')) throw new Refusal(401, { errorCode: 'E0000011' })
      },
      write: (page) => ({ status: 200, headers: { link: linksOf(page) }, body: page.records }),
    },
  ],
  keyOf: oktaKey,
  ...noFacts,
  maxPageSize: 200,
}

function linksOf(page: Page): string {
  const next = nextAddress(page, 'after')
  return [`<${page.request.url.href}>; rel="self"`, ...(next === null ? [] : [`<${next}>; rel="next"`])].join(', ')
}

function oktaUserOf(person: Person): unknown {
  const { index, first, last, email } = person
  return {
    id: oktaKey(person),
    status: hasLeft(person) ? 'SUSPENDED' : index % 4 === 0 ? 'PASSWORD_EXPIRED' : 'ACTIVE',
    created: '2020-01-06T08:00:00.000Z',
    lastLogin: index % 5 === 0 ? null : '2026-11-18T09:30:00.000Z',
    profile: {
      ...{
        firstName: first,
        lastName: last,
        login: email,
        email: `${index}@acme.example`,
        secondEmail: aliasOf(person),
      },
      ...(numberOf(person) !== null && { employeeNumber: numberOf(person) }),
    },
  }
}

const googleKey = numberKeys(100_000)

/** Google: a service account with a signed assertion that names its scope; a page holds the token of the next one. */
const google: HrSystem = {
  name: 'google-users',
  authentication: jwtBearer({
    ...{ issuer: clientId, subject: administrator, audience: 'https://oauth2.googleapis.com/token' },
    claims: { scope: 'https://www.googleapis.com/auth/admin.directory.user.readonly' },
    path: '/token',
    lifetimeSeconds: 3599,
  }),
  lists: [
    {
      method: 'GET',
      path: '/admin/directory/v1/users',
      shape: googleUserOf,
      pages: cursorPages({
        ...{ parameter: 'pageToken', sizeParameter: 'maxResults' },
        ...{ defaultSize: 100, maxSize: 500, exceeded: 'refuse' },
      }),
      check: ({ url }) => {
        if (!url.searchParams.has('customer') && !url.searchParams.has('domain'))
          throw new Refusal(400, { error: { code: 400, message: 'Bad Request' } })
      },
      write: writeGoogleUsers,
    },
  ],
  keyOf: googleKey,
  ...noFacts,
  maxPageSize: 500,
}

function googleUserOf(person: Person): unknown {
  const { index, first, last, email } = person
  const number = numberOf(person)
  return {
    kind: 'admin#directory#user',
    id: googleKey(person),
    primaryEmail: email,
    name: { givenName: first, familyName: last, fullName: `${first} ${last}` },
    suspended: hasLeft(person),
    archived: false,
    lastLoginTime: index % 5 === 0 ? '1970-01-01T00:00:00.000Z' : '2026-11-18T09:30:00.000Z',
    aliases: [aliasOf(person)],
    externalIds: [
      { value: 'x', type: 'network' },
      ...(number === null ? [] : [{ value: number, type: 'organization' }]),
    ],
  }
}

function writeGoogleUsers(page: Page): Reply {
  const token = nextToken(page)
  const users = page.records.length > 0 ? { users: page.records } : {}
  return { status: 200, body: { kind: 'admin#directory#users', ...users, ...(token && { nextPageToken: token }) } }
}

/** Every directory that the tests know, one for each recipe of accounts. */
export const directorySystems: readonly HrSystem[] = [entra, okta, google]
