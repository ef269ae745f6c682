import { bearer } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { hasLeft } from '../csv.ts'
import { uuidKeys } from '../keys.ts'
import { cursorPages, nextAddress, type Page } from '../pages.ts'
import type { Reply, SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = uuidKeys('rippling')

const statuses = { active: 'ACTIVE', 'on leave': 'ACTIVE', left: 'TERMINATED', leaving: 'ACTIVE', starting: 'ACCEPTED' }

/** Rippling: each page holds the address of the next one. */
export const rippling: HrSystem = {
  name: 'rippling-api',
  authentication: bearer(credentials.token),
  lists: [
    {
      method: 'GET',
      path: '/workers',
      shape: workerOf,
      pages: cursorPages({
        parameter: 'cursor',
        sizeParameter: 'limit',
        defaultSize: 50,
        maxSize: 100,
        exceeded: 'refuse',
      }),
      write: writeWorkers,
    },
  ],
  keyOf,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'managerId', 'startedAt', 'leavingDate', 'isContractor', 'status'],
  total: null,
  maxPageSize: 100,
}

// The user and the type of employment are IDs unless expand names them.
function workerOf(person: Person, { url }: SystemRequest): unknown {
  const expanded = (url.searchParams.get('expand') ?? '').split(',')
  const { index, first, last, email, privateEmail, title, manager, start, end, isContractor, employment } = person
  return {
    id: keyOf(person),
    number: 1001 + index,
    user_id: `user-${index}`,
    ...(expanded.includes('user') && {
      user: { id: `user-${index}`, name: { given_name: first, family_name: last, formatted: `${first} ${last}` } },
    }),
    manager_id: manager && keyOf(manager),
    ...(expanded.includes('employment_type') && {
      employment_type: { label: 'Any', type: isContractor ? 'CONTRACTOR' : 'EMPLOYEE' },
    }),
    start_date: start.toString(),
    end_date: end?.toString() ?? null,
    status: hasLeft(person) ? 'TERMINATED' : statuses[employment],
    work_email: email,
    personal_email: privateEmail,
    title,
  }
}

function writeWorkers(page: Page): Reply {
  return { status: 200, body: { results: page.records, next_link: nextAddress(page, 'cursor') } }
}
