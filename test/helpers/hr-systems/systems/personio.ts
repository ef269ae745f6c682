import { clientCredentials, login } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { fullName, hasLeft } from '../csv.ts'
import { numberKeys } from '../keys.ts'
import { cursorPages, nextAddress, offsetPages, type Page } from '../pages.ts'
import { Refusal, type Reply, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem, PeopleFinder, StatedFact } from '../system.ts'

const keyOf = numberKeys(40_017)
const { clientId, clientSecret } = credentials
const companyZone = 'Europe/Berlin'

const commonFacts: readonly StatedFact[] = [
  'email',
  'jobTitle',
  'managerId',
  'startedAt',
  'leavingDate',
  'isContractor',
  'status',
]

/** Personio v1: a login whose token is valid for 24 hours; every value is wrapped, and dates have a time and an offset. */
export const personio: HrSystem = {
  name: 'personio-api',
  authentication: login({
    path: '/v1/auth',
    lifetimeSeconds: 24 * 60 * 60,
    credentials: { client_id: clientId, client_secret: clientSecret },
    write: (token) => ({ success: true, data: { token, expires_in: 86_400, scope: '' } }),
  }),
  lists: [
    {
      method: 'GET',
      path: '/v1/company/employees',
      shape: employeeOf,
      pages: offsetPages({
        parameter: 'offset',
        sizeParameter: 'limit',
        defaultSize: 50,
        maxSize: 100,
        exceeded: 'refuse',
      }),
      write: writeEmployees,
    },
  ],
  keyOf,
  facts: [...commonFacts, 'managerName'],
  total: 'records',
  maxPageSize: 100,
}

const statuses = {
  active: 'active',
  'on leave': 'leave',
  left: 'inactive',
  leaving: 'active',
  starting: 'onboarding',
} as const

function employeeOf(person: Person): unknown {
  const { first, last, email, title, manager, start, end, isContractor, employment } = person
  const supervisor = manager && {
    type: 'Employee',
    attributes: {
      id: attribute('ID', Number(keyOf(manager)), 'integer'),
      first_name: attribute('First name', manager.first),
      last_name: attribute('Last name', manager.last),
      preferred_name: attribute('Preferred name', fullName(manager)),
    },
  }
  return {
    type: 'Employee',
    attributes: {
      id: attribute('ID', Number(keyOf(person)), 'integer'),
      first_name: attribute('First name', first),
      last_name: attribute('Last name', last),
      email: attribute('Email', email),
      status: attribute('Status', hasLeft(person) ? 'inactive' : statuses[employment]),
      position: attribute('Position', title),
      supervisor: attribute('Supervisor', supervisor),
      employment_type: attribute('Employment type', isContractor ? 'external' : 'internal'),
      hire_date: attribute('Hire date', midnight(start), 'date'),
      contract_end_date: attribute('Contract ends', isContractor ? midnight(start.add({ years: 20 })) : null, 'date'),
      termination_date: attribute('Termination date', end && midnight(end), 'date'),
      last_working_day: attribute('Last day of work', null, 'date'),
    },
  }
}

function attribute(label: string, value: unknown, type = 'standard'): unknown {
  return { label, value, type, universal_id: null }
}

/** The beginning of a day in the zone of the company, which is an instant of the day before in UTC. */
function midnight(day: Temporal.PlainDate): string {
  return day.toZonedDateTime(companyZone).toString({ timeZoneName: 'never' })
}

function writeEmployees({ records, total, skip, size }: Page): Reply {
  const metadata = total === null ? {} : { total_elements: total, total_pages: Math.ceil(total / size) }
  return {
    status: 200,
    body: {
      success: true,
      metadata: { ...metadata, current_page: skip / size },
      offset: skip,
      limit: size,
      data: records,
    },
  }
}

/** Personio v2: OAuth 2.0; persons in pages with a cursor, and the employments of each person at an address of its own. */
export const personioV2: HrSystem = {
  name: 'personio-v2-api',
  authentication: clientCredentials({ path: '/v2/auth/token', lifetimeSeconds: 86_400, clientId, clientSecret }),
  lists: [
    {
      method: 'GET',
      path: '/v2/persons',
      shape: personOf,
      pages: cursorPages({
        parameter: 'cursor',
        sizeParameter: 'limit',
        defaultSize: 10,
        maxSize: 50,
        exceeded: 'refuse',
      }),
      write: writePersons,
    },
  ],
  details: [{ method: 'GET', path: /^\/v2\/persons\/([^/]+)\/employments$/, write: writeEmployments }],
  keyOf,
  facts: commonFacts,
  total: null,
  maxPageSize: 50,
}

function personOf(person: Person): unknown {
  const { first, last, email, index } = person
  return {
    id: keyOf(person),
    first_name: first,
    last_name: last,
    email,
    custom_attributes: [],
    employments: [{ id: `employment-${index}` }],
    _meta: { links: { employments: { href: `https://api.personio.de/v2/persons/${keyOf(person)}/employments` } } },
  }
}

function writePersons(page: Page): Reply {
  const next = nextAddress(page, 'cursor')
  const links = { self: { href: page.request.url.href }, ...(next && { next: { href: next } }) }
  return { status: 200, body: { _data: page.records, _meta: { links } } }
}

function writeEmployments(_request: SystemRequest, { ofPath: person }: PeopleFinder): Reply {
  if (!person) throw new Refusal(404, { errors: [{ title: 'Person not found' }] })
  const { index } = person
  const former = {
    id: `former-${index}`,
    status: 'INACTIVE',
    employment_start_date: '2001-01-01',
    employment_end_date: '2001-12-31',
    position: { title: 'Trainee' },
    termination: { termination_date: '2001-12-31' },
  }
  const employments = index % 50 === 7 ? [former, employmentOf(person)] : [employmentOf(person)]
  return { status: 200, body: { _data: employments, _meta: { links: {} } } }
}

function employmentOf(person: Person): unknown {
  const { index, title, manager, start, end, isContractor, employment } = person
  return {
    id: `employment-${index}`,
    person: { id: keyOf(person) },
    status: (hasLeft(person) ? 'inactive' : statuses[employment]).toUpperCase(),
    employment_start_date: start.toString(),
    employment_end_date: end?.toString() ?? null,
    type: isContractor ? 'EXTERNAL' : 'INTERNAL',
    position: { title },
    supervisor: manager && { id: keyOf(manager) },
    termination: end && { termination_date: end.toString(), last_working_day: null, terminated_at: start.toString() },
  }
}
