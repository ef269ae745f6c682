import { fixedHeader } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { hasLeft } from '../csv.ts'
import { numberKeys } from '../keys.ts'
import { cursorPages, type Page, stated, tokenAfter } from '../pages.ts'
import type { Reply } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = numberKeys(880_001)
const pages = cursorPages({
  parameter: 'after_id',
  sizeParameter: 'limit',
  defaultSize: 100,
  maxSize: 100,
  exceeded: 'clamp',
})
const resources = '/api/2025-10-01/resources'

/** Factorial: the cursor is set on the last page too, so only has_next_page ends the list. Contracts are a further list. */
export const factorial: HrSystem = {
  name: 'factorial-api',
  authentication: fixedHeader('x-api-key', credentials.apiKey),
  lists: [
    { method: 'GET', path: `${resources}/employees/employees`, shape: employeeOf, pages, write: writeList },
    { method: 'GET', path: `${resources}/contracts/contract-versions`, shape: contractOf, pages, write: writeList },
  ],
  keyOf,
  facts: ['email', 'jobTitle', 'managerId', 'startedAt', 'leavingDate'],
  total: 'records',
  maxPageSize: 100,
}

function employeeOf(person: Person): unknown {
  const { index, first, last, email, manager, end } = person
  return {
    id: Number(keyOf(person)),
    access_id: 90_000 + index,
    first_name: first,
    last_name: last,
    email,
    login_email: email,
    manager_id: manager && Number(keyOf(manager)),
    terminated_on: end?.toString() ?? null,
    active: !hasLeft(person),
  }
}

function contractOf(person: Person): unknown {
  const { index, title, start } = person
  const day = start.toString()
  return { id: 70_000 + index, employee_id: Number(keyOf(person)), job_title: title, starts_on: day, effective_on: day }
}

function writeList(page: Page): Reply {
  const meta = {
    limit: page.size,
    ...stated('total', page),
    has_next_page: page.hasMore,
    has_previous_page: page.skip > 0,
    start_cursor: null,
    end_cursor: tokenAfter(page),
  }
  return { status: 200, body: { data: page.records, meta } }
}
