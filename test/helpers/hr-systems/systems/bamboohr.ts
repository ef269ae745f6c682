import { basic } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { fullName, hasLeft } from '../csv.ts'
import { numberKeys } from '../keys.ts'
import { nextAddress, numberedPages, type Page, stated } from '../pages.ts'
import type { Reply } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = numberKeys(101)

/** BambooHR: a custom report in pages. Dates that do not exist are 0000-00-00. */
export const bamboohr: HrSystem = {
  name: 'bamboohr-api',
  authentication: basic(credentials.apiKey),
  lists: [
    {
      method: 'GET',
      path: '/api/v1/custom-reports/17',
      shape: rowOf,
      pages: numberedPages({
        parameter: 'page',
        sizeParameter: 'page_size',
        defaultSize: 500,
        maxSize: 1000,
        exceeded: 'refuse',
      }),
      write: writeReport,
    },
  ],
  keyOf,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'managerId', 'managerName', 'startedAt', 'leavingDate', 'status'],
  total: 'records',
  maxPageSize: 1000,
}

function rowOf(person: Person): unknown {
  const { first, last, email, privateEmail, title, manager, start, end } = person
  return {
    employeeNumber: keyOf(person),
    firstName: first,
    lastName: last,
    workEmail: email,
    homeEmail: privateEmail,
    jobTitle: title,
    supervisorEid: manager ? keyOf(manager) : null,
    supervisor: manager ? `${manager.last}, ${manager.first}` : null,
    reportsTo: manager ? fullName(manager) : null,
    hireDate: start.toString(),
    terminationDate: end?.toString() ?? '0000-00-00',
    status: hasLeft(person) ? 'Inactive' : 'Active',
  }
}

function writeReport(page: Page): Reply {
  const number = page.skip / page.size + 1
  const pagination = {
    ...stated('total_records', page),
    current_page: number,
    total_pages: page.total === null ? null : Math.ceil(page.total / page.size),
    next_page: nextAddress(page, 'page', number + 1),
    prev_page: null,
  }
  return { status: 200, body: { data: page.records, fields: [], aggregations: [], pagination } }
}
