import { pointer } from '../../../../src/connectors/json/cells.ts'
import { basic } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { csvReply, fullName, hasLeft } from '../csv.ts'
import { numberKeys } from '../keys.ts'
import { wholeList } from '../pages.ts'
import { jsonOf, Refusal, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = numberKeys(3_001)

const common: Pick<HrSystem, 'authentication' | 'rateLimit' | 'keyOf' | 'facts' | 'total' | 'maxPageSize'> = {
  authentication: basic(credentials.user, credentials.password),
  rateLimit: { requests: 50, periodSeconds: 60 },
  keyOf,
  facts: [
    ...(['email', 'secondaryEmail', 'jobTitle', 'managerId', 'managerName'] as const),
    ...(['startedAt', 'leavingDate', 'isContractor', 'status'] as const),
  ],
  total: null,
  maxPageSize: null,
}

/** HiBob: a search that answers with everybody at once; 50 requests a minute. */
export const hibob: HrSystem = {
  ...common,
  name: 'hibob-api',
  lists: [
    {
      method: 'POST',
      path: '/v1/people/search',
      shape: employeeOf,
      pages: wholeList,
      check: requireFields,
      includes: (person, request) => !hasLeft(person) || at(request, '/showInactive') === true,
      write: ({ records }) => ({ status: 200, body: { employees: records } }),
    },
  ],
}

/** HiBob: a report as CSV, with dates in the format that the company chose. */
export const hibobReport: HrSystem = {
  ...common,
  name: 'hibob-report-api',
  lists: [
    {
      method: 'GET',
      path: '/v1/company/reports/31048356/download',
      shape: rowOf,
      pages: wholeList,
      check: requireCsv,
      write: ({ records }) => csvReply(records),
    },
  ],
}

const statuses = {
  active: ['employed', 'Employed'],
  'on leave': ['parental leave', 'Parental Leave'],
  left: ['terminated', 'Terminated'],
  leaving: ['employed', 'Employed'],
  starting: ['hired', 'Hired'],
} as const

function requireFields(request: SystemRequest): void {
  const fields = at(request, '/fields')
  if (!Array.isArray(fields) || fields.length > 400) throw new Refusal(400, { error: 'fields is missing or too long' })
}

function at(request: SystemRequest, path: string): unknown {
  return pointer(jsonOf(request), path)
}

// The value of a list field is an ID; only humanReadable has its text. HiBob returns requested fields only.
function employeeOf(person: Person, request: SystemRequest): unknown {
  const fields = new Set([at(request, '/fields')].flat())
  const { index, first, last, email, privateEmail, title, manager, start, end, isContractor, employment } = person
  const [status, statusText] = hasLeft(person) ? statuses.left : statuses[employment]
  const byField = {
    'root.id': `36${index}`,
    'work.employeeIdInCompany': keyOf(person),
    'root.firstName': first,
    'root.surname': last,
    'root.email': email,
    'home.privateEmail': privateEmail,
    'work.title': String(250_000_000 + title.length),
    'work.reportsToIdInCompany': manager ? keyOf(manager) : null,
    'work.startDate': start.toString(),
    'internal.terminationDate': end?.toString() ?? null,
    'internal.lifecycleStatus': status,
    'payroll.employment.type': isContractor ? 'contractor' : 'permanent',
  }
  const textByField = {
    'work.title': title,
    'work.reportsTo': manager ? fullName(manager) : '',
    'work.startDate': dayFirst(start),
    'internal.lifecycleStatus': statusText,
    'payroll.employment.type': isContractor ? 'Contractor' : 'Permanent',
  }
  const hasTexts = at(request, '/humanReadable') === 'APPEND'
  const requested = (values: object) => Object.entries(values).filter(([field]) => fields.has(field))
  return {
    ...Object.fromEntries(requested(byField).map(([field, value]) => [memberName(field), { value }])),
    id: `36${index}`,
    ...(hasTexts && {
      humanReadable: Object.fromEntries(requested(textByField).map(([field, value]) => [memberName(field), value])),
    }),
  }
}

/** The name of a field in an answer, such as /work/title for work.title. */
function memberName(field: string): string {
  return `/${field.replaceAll('.', '/')}`
}

function requireCsv({ url }: SystemRequest): void {
  if (url.searchParams.get('format') !== 'csv') throw new Refusal(400, { error: 'format is missing' })
}

function rowOf(person: Person): Readonly<Record<string, string>> {
  const { first, last, email, privateEmail, title, manager, start, end, isContractor, employment } = person
  const [, status] = hasLeft(person) ? statuses.left : statuses[employment]
  return {
    'Employee ID': keyOf(person),
    'First name': first,
    'Last name': last,
    Email: email,
    'Personal email': privateEmail,
    'Job title': title,
    'Reports to': manager ? fullName(manager) : '',
    'Reports to employee ID': manager ? keyOf(manager) : '',
    'Start date': monthFirst(start),
    'Termination date': end ? monthFirst(end) : '',
    'Last day at work': '',
    'Employment type': isContractor ? 'Contractor' : 'Permanent',
    'Lifecycle status': status,
  }
}

function monthFirst({ day, month, year }: Temporal.PlainDate): string {
  return `${String(month).padStart(2, '0')}/${String(day).padStart(2, '0')}/${year}`
}

function dayFirst({ day, month, year }: Temporal.PlainDate): string {
  return `${String(day).padStart(2, '0')}/${String(month).padStart(2, '0')}/${year}`
}
