import { samlBearer } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { numberKeys } from '../keys.ts'
import { cursorPages, nextAddress, type Page } from '../pages.ts'
import { Refusal, type Reply, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = numberKeys(80_001)

/** What the assertion has to state. */
export const successfactorsAssertion = {
  issuer: credentials.clientId,
  subject: credentials.user,
  audience: 'www.successfactors.com',
} as const

const knownOptions = [
  '$format',
  '$select',
  '$expand',
  '$filter',
  '$skiptoken',
  '$top',
  '$skip',
  'paging',
  'customPageSize',
]

/** SAP SuccessFactors: OData v2, with a SAML assertion for a token; the next address is in the page. */
export const successfactors: HrSystem = {
  name: 'successfactors-api',
  authentication: samlBearer({
    path: '/oauth/token',
    lifetimeSeconds: 86_400,
    ...successfactorsAssertion,
    parameters: { company_id: credentials.company, client_id: credentials.clientId },
  }),
  lists: [
    {
      method: 'GET',
      path: '/odata/v2/User',
      shape: userOf,
      pages: cursorPages({
        parameter: '$skiptoken',
        sizeParameter: 'customPageSize',
        defaultSize: 1000,
        maxSize: 1000,
        exceeded: 'clamp',
      }),
      check: checkQuery,
      includes: (person, request) =>
        !isInactive(person) || /status in .*'f'/.test(request.url.searchParams.get('$filter') ?? ''),
      write: writeUsers,
    },
  ],
  keyOf,
  facts: ['email', 'jobTitle', 'managerId', 'startedAt', 'leavingDate', 'isContractor'],
  total: null,
  maxPageSize: 1000,
}

function checkQuery({ url }: SystemRequest): void {
  const { searchParams } = url
  const unknown = [...searchParams.keys()].find((name) => !knownOptions.includes(name))
  if (unknown !== undefined)
    throw new Refusal(400, { error: { code: 'COE_GENERAL_BAD_REQUEST', message: { value: unknown } } })
  if (searchParams.get('$format') !== 'json')
    throw new Refusal(400, { error: { message: { value: 'the test expects JSON' } } })
}

function isInactive({ employment }: Person): boolean {
  return employment === 'left' || employment === 'on leave'
}

function userOf(person: Person): unknown {
  const { first, last, email, title, manager, start, end, isContractor } = person
  return {
    __metadata: { uri: `User('${keyOf(person)}')`, type: 'SFOData.User' },
    userId: keyOf(person),
    status: isInactive(person) ? 'f' : 't',
    firstName: first,
    lastName: last,
    email,
    title,
    manager: manager && { userId: keyOf(manager) },
    empInfo: {
      startDate: odataDate(start),
      endDate: end && odataDate(end),
      isContingentWorker: isContractor,
    },
  }
}

function odataDate(day: Temporal.PlainDate): string {
  return `/Date(${day.toZonedDateTime('UTC').epochMilliseconds})/`
}

function writeUsers(page: Page): Reply {
  const next = nextAddress(page, '$skiptoken')
  return { status: 200, body: { d: { results: page.records, ...(next !== null && { __next: next }) } } }
}
