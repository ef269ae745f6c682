import { fixedHeader } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { hasLeft } from '../csv.ts'
import { offsetPages } from '../pages.ts'
import { Refusal, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = ({ index }: Person) => `HR-EMP-${String(index + 1).padStart(5, '0')}`

/** ERPNext and Frappe HR: pages by offset that say nothing of a total. Inactive is not Left. */
export const frappeHr: HrSystem = {
  name: 'frappe-hr-api',
  authentication: fixedHeader('authorization', `token ${credentials.apiKey}:${credentials.secondKey}`, 403),
  lists: [
    {
      method: 'GET',
      path: '/api/resource/Employee',
      shape: employeeOf,
      pages: offsetPages({
        parameter: 'limit_start',
        sizeParameter: 'limit_page_length',
        defaultSize: 20,
        maxSize: 100_000,
        exceeded: 'clamp',
      }),
      write: ({ records }) => ({ status: 200, body: { data: records } }),
    },
  ],
  keyOf,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'managerId', 'startedAt', 'leavingDate', 'status'],
  total: null,
  maxPageSize: 500,
}

// Frappe answers with the fields that the request names; without any, with names only.
function employeeOf(person: Person, { url }: SystemRequest): unknown {
  const fields = requestedFields(url.searchParams.get('fields') ?? '["name"]')

  const { first, last, email, privateEmail, title, manager, start, end } = person
  const cells = {
    name: keyOf(person),
    first_name: first,
    last_name: last,
    company_email: email,
    personal_email: privateEmail,
    designation: title,
    reports_to: manager && keyOf(manager),
    date_of_joining: start.toString(),
    relieving_date: end?.toString() ?? null,
    status: hasLeft(person) ? 'Left' : 'Active',
  }
  return Object.fromEntries(Object.entries(cells).filter(([name]) => fields.includes(name)))
}

function requestedFields(text: string): readonly unknown[] {
  try {
    return [JSON.parse(text)].flat()
  } catch {
    throw new Refusal(417, { exc_type: 'DataError' })
  }
}
