import { anyOf, basic, jwtBearer } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { hasLeft } from '../csv.ts'
import { numberKeys } from '../keys.ts'
import { offsetPages, type Page, stated } from '../pages.ts'
import { Refusal, type Reply, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = numberKeys(300_001)

/** What the assertion has to state. */
export const oracleAssertion = {
  issuer: credentials.clientId,
  subject: credentials.user,
  audience: 'https://identity.oraclecloud.com/',
} as const

const knownParameters = ['offset', 'limit', 'onlyData', 'totalResults', 'expand', 'fields', 'q', 'orderBy']

/** Oracle HCM: a password, or a token for a signed JSON Web Token; pages by offset that say whether there are more. */
export const oracleHcm: HrSystem = {
  name: 'oracle-hcm-api',
  authentication: anyOf(
    basic(credentials.user, credentials.password),
    jwtBearer({ path: '/oauth2/v1/token', lifetimeSeconds: 3600, ...oracleAssertion }),
  ),
  lists: [
    {
      method: 'GET',
      path: '/hcmRestApi/resources/11.13.18.05/workers',
      shape: workerOf,
      pages: offsetPages({
        parameter: 'offset',
        sizeParameter: 'limit',
        defaultSize: 25,
        maxSize: 500,
        exceeded: 'clamp',
      }),
      check: checkParameters,
      write: writeWorkers,
    },
  ],
  keyOf,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'startedAt', 'leavingDate', 'isContractor'],
  total: 'records',
  maxPageSize: 500,
}

function checkParameters({ url }: SystemRequest): void {
  const unknown = [...url.searchParams.keys()].find((name) => !knownParameters.includes(name))
  if (unknown !== undefined) throw new Refusal(400, `URL request parameter ${unknown} cannot be used in this context.`)
}

// Children of a worker are left out unless expand names them.
function workerOf(person: Person, { url }: SystemRequest): unknown {
  const expanded = (url.searchParams.get('expand') ?? '').split(',')
  const { index, first, last, email, privateEmail, title, start, end, isContractor, employment } = person
  const type = hasLeft(person) ? 'INACTIVE' : employment === 'on leave' ? 'SUSPENDED' : 'ACTIVE'
  return {
    PersonId: 300_000_000_000 + index,
    PersonNumber: keyOf(person),
    ...(expanded.includes('names') && {
      names: [{ FirstName: first, LastName: last, DisplayName: `${first} ${last}` }],
    }),
    ...(expanded.includes('emails') && {
      emails: [
        { EmailType: 'H1', EmailAddress: privateEmail, PrimaryFlag: false },
        { EmailType: 'W1', EmailAddress: email, PrimaryFlag: true },
      ],
    }),
    ...(expanded.includes('workRelationships.assignments') && {
      workRelationships: [
        {
          WorkerType: isContractor ? 'C' : 'E',
          PrimaryFlag: true,
          StartDate: start.toString(),
          TerminationDate: end?.toString() ?? null,
          assignments: [{ AssignmentName: title, AssignmentStatusType: type, PrimaryFlag: true }],
        },
      ],
    }),
  }
}

function writeWorkers(page: Page): Reply {
  const { records, hasMore, skip, size, request } = page
  const total = request.url.searchParams.get('totalResults') === 'true' ? stated('totalResults', page) : {}
  return {
    status: 200,
    body: { items: records, ...total, count: records.length, hasMore, limit: size, offset: skip, links: [] },
  }
}
