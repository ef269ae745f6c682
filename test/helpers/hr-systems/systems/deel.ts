import { bearer } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { fullName, hasLeft } from '../csv.ts'
import { uuidKeys } from '../keys.ts'
import { offsetPages, type Page, stated } from '../pages.ts'
import type { Reply } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = uuidKeys('deel')

const statuses = { active: 'active', 'on leave': 'active', left: 'inactive', leaving: 'active', starting: 'onboarding' }

/** Deel: pages by offset with a total; e-mail addresses are a list by type. */
export const deel: HrSystem = {
  name: 'deel-api',
  authentication: bearer(credentials.token),
  lists: [
    {
      method: 'GET',
      path: '/rest/v2/people',
      shape: personOf,
      pages: offsetPages({
        parameter: 'offset',
        sizeParameter: 'limit',
        defaultSize: 50,
        maxSize: 100,
        exceeded: 'refuse',
      }),
      write: writePeople,
    },
  ],
  keyOf,
  facts: [
    ...(['email', 'secondaryEmail', 'jobTitle', 'managerId', 'managerName'] as const),
    ...(['startedAt', 'leavingDate', 'isContractor', 'status'] as const),
  ],
  total: 'records',
  maxPageSize: 100,
}

// The types come in any order.
function personOf(person: Person): unknown {
  const { index, first, last, email, privateEmail, title, manager, start, end, isContractor, employment } = person
  const emails = [
    { type: 'work', value: email },
    { type: 'personal', value: privateEmail },
    { type: 'primary', value: privateEmail },
  ]
  return {
    id: keyOf(person),
    worker_id: 5000 + index,
    first_name: first,
    last_name: last,
    full_name: fullName(person),
    emails: index % 2 === 0 ? emails : emails.toReversed(),
    job_title: title,
    direct_manager: manager && { id: keyOf(manager), full_name: fullName(manager) },
    hiring_type: isContractor ? 'contractor' : 'direct_employee',
    hiring_status: hasLeft(person) ? 'inactive' : statuses[employment],
    start_date: start.toString(),
    completion_date: end?.toString() ?? null,
  }
}

function writePeople(page: Page): Reply {
  const { records, skip, size } = page
  return {
    status: 200,
    body: { data: records, page: { offset: skip, items_per_page: size, ...stated('total_rows', page) } },
  }
}
