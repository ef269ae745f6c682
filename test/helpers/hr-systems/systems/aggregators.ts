import { allOf, bearer, fixedHeader } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { fullName, hasLeft } from '../csv.ts'
import { uuidKeys } from '../keys.ts'
import { cursorPages, nextToken, offsetPages, type Page, stated } from '../pages.ts'
import { headerOf, jsonOf, Refusal, type Reply, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem, PeopleFinder } from '../system.ts'

const mergeKey = uuidKeys('merge')
const komboKey = uuidKeys('kombo')
const finchKey = uuidKeys('finch')

/** Merge: a token of the account besides the key; pages by cursor. */
export const merge: HrSystem = {
  name: 'merge',
  authentication: allOf(bearer(credentials.apiKey), fixedHeader('x-account-token', credentials.token)),
  lists: [
    {
      method: 'GET',
      path: '/api/hris/v1/employees',
      shape: mergeEmployee,
      pages: cursorPages({
        parameter: 'cursor',
        sizeParameter: 'page_size',
        defaultSize: 30,
        maxSize: 100,
        exceeded: 'clamp',
      }),
      write: (page) => ({ status: 200, body: { next: nextToken(page), previous: null, results: page.records } }),
    },
  ],
  keyOf: mergeKey,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'managerId', 'startedAt', 'leavingDate', 'isContractor', 'status'],
  total: null,
  maxPageSize: 100,
}

const mergeStatuses = {
  active: 'ACTIVE',
  'on leave': 'ACTIVE',
  left: 'INACTIVE',
  leaving: 'ACTIVE',
  starting: 'PENDING',
}

// Employments are IDs unless expand names them.
function mergeEmployee(person: Person, { url }: SystemRequest): unknown {
  const isExpanded = (url.searchParams.get('expand') ?? '').split(',').includes('employments')
  const { index, first, last, email, privateEmail, title, manager, start, end, isContractor, employment } = person
  const type = isContractor ? 'CONTRACTOR' : 'FULL_TIME'
  return {
    id: mergeKey(person),
    remote_id: `remote-${index}`,
    employee_number: String(1001 + index),
    first_name: first,
    last_name: last,
    display_full_name: fullName(person),
    work_email: email,
    personal_email: privateEmail,
    employments: [
      isExpanded ? { id: `employment-${index}`, job_title: title, employment_type: type } : `employment-${index}`,
    ],
    manager: manager && mergeKey(manager),
    start_date: `${start}T00:00:00Z`,
    termination_date: end && `${end}T00:00:00Z`,
    employment_status: hasLeft(person) ? 'INACTIVE' : mergeStatuses[employment],
    remote_was_deleted: false,
  }
}

/** Kombo: the ID of the integration besides the key; pages by cursor below data. */
export const kombo: HrSystem = {
  name: 'kombo',
  authentication: allOf(bearer(credentials.apiKey), fixedHeader('x-integration-id', 'personio:acme')),
  lists: [
    {
      method: 'GET',
      path: '/v1/hris/employees',
      shape: komboEmployee,
      pages: cursorPages({
        parameter: 'cursor',
        sizeParameter: 'page_size',
        defaultSize: 100,
        maxSize: 250,
        exceeded: 'refuse',
      }),
      write: (page) => ({
        status: 200,
        body: { status: 'success', data: { next: nextToken(page), results: page.records } },
      }),
    },
  ],
  keyOf: komboKey,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'managerId', 'startedAt', 'leavingDate', 'isContractor', 'status'],
  total: null,
  maxPageSize: 250,
}

const komboStatuses = {
  active: 'ACTIVE',
  'on leave': 'LEAVE',
  left: 'INACTIVE',
  leaving: 'ACTIVE',
  starting: 'PENDING',
}

function komboEmployee(person: Person): unknown {
  const { index, first, last, email, privateEmail, title, manager, start, end, isContractor, employment } = person
  return {
    id: komboKey(person),
    remote_id: `remote-${index}`,
    first_name: first,
    last_name: last,
    work_email: email,
    personal_email: privateEmail,
    job_title: title,
    employment_type: isContractor ? 'CONTRACTOR' : 'FULL_TIME',
    employment_status: hasLeft(person) ? 'INACTIVE' : komboStatuses[employment],
    start_date: `${start}T00:00:00.000Z`,
    termination_date: end && `${end}T00:00:00.000Z`,
    manager_id: manager && komboKey(manager),
    remote_deleted_at: null,
  }
}

/** Finch: a directory in pages, and individuals and employments by lists of IDs. */
export const finch: HrSystem = {
  name: 'finch',
  authentication: bearer(credentials.token),
  lists: [
    {
      method: 'GET',
      path: '/employer/directory',
      shape: directoryEntry,
      pages: offsetPages({
        parameter: 'offset',
        sizeParameter: 'limit',
        defaultSize: 100_000,
        maxSize: 100_000,
        exceeded: 'clamp',
      }),
      check: requireVersion,
      write: writeDirectory,
    },
  ],
  details: [
    {
      method: 'POST',
      path: /^\/employer\/individual$/,
      write: (request, people) => answerIds(request, people, individualOf),
    },
    {
      method: 'POST',
      path: /^\/employer\/employment$/,
      write: (request, people) => answerIds(request, people, employmentOf),
    },
  ],
  keyOf: finchKey,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'managerId', 'startedAt', 'leavingDate', 'isContractor', 'status'],
  total: 'records',
  maxPageSize: 500,
}

function requireVersion(request: SystemRequest): void {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(headerOf(request, 'finch-api-version')))
    throw new Refusal(400, { code: 400, message: 'Finch-API-Version is missing' })
}

function directoryEntry(person: Person): unknown {
  const { first, last, manager } = person
  return {
    id: finchKey(person),
    first_name: first,
    last_name: last,
    manager: manager && { id: finchKey(manager) },
    is_active: !hasLeft(person),
  }
}

function writeDirectory(page: Page): Reply {
  return { status: 200, body: { paging: { ...stated('count', page), offset: page.skip }, individuals: page.records } }
}

function answerIds(request: SystemRequest, { byKey }: PeopleFinder, bodyOf: (person: Person) => unknown): Reply {
  requireVersion(request)
  const body = jsonOf(request)
  const requests: unknown = typeof body === 'object' && body !== null && 'requests' in body ? body.requests : null
  if (!Array.isArray(requests)) throw new Refusal(400, { code: 400, message: 'requests is missing' })
  const responses = requests.map(({ individual_id: id }: { individual_id: string }) => {
    const person = byKey(id)
    return person
      ? { individual_id: id, code: 200, body: bodyOf(person) }
      : { individual_id: id, code: 404, body: null }
  })
  return { status: 200, body: { responses } }
}

function individualOf(person: Person): unknown {
  const emails = [
    { data: person.privateEmail, type: 'personal' },
    { data: person.email, type: 'work' },
  ]
  return { id: finchKey(person), first_name: person.first, last_name: person.last, emails }
}

function employmentOf(person: Person): unknown {
  const { title, start, end, isContractor } = person
  return {
    id: finchKey(person),
    title,
    start_date: start.toString(),
    latest_rehire_date: null,
    end_date: end?.toString() ?? null,
    is_active: !hasLeft(person),
    employment: { type: isContractor ? 'contractor' : 'employee', subtype: null },
  }
}
