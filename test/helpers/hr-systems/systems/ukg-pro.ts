import { allOf, basic, fixedHeader } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { fullName, hasLeft } from '../csv.ts'
import { nextAddress, numberedPages, type Page } from '../pages.ts'
import type { Reply } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = ({ index }: Person) => `D${String(400_200 + index * 3)}K`
const pages = numberedPages({
  parameter: 'page',
  sizeParameter: 'per_page',
  defaultSize: 100,
  maxSize: 200,
  exceeded: 'clamp',
})

const statuses = { active: 'A', 'on leave': 'L', left: 'T', leaving: 'A', starting: 'A' }

/** UKG Pro: employments and persons are two lists with the same keys; the header Link names the next page. */
export const ukgPro: HrSystem = {
  name: 'ukg-pro-api',
  authentication: allOf(
    fixedHeader('us-customer-api-key', credentials.apiKey),
    basic(credentials.user, credentials.password),
  ),
  lists: [
    { method: 'GET', path: '/personnel/v1/employment-details', shape: employmentOf, pages, write: writeList },
    { method: 'GET', path: '/personnel/v1/person-details', shape: personOf, pages, write: writeList },
  ],
  keyOf,
  facts: [
    ...(['email', 'secondaryEmail', 'jobTitle', 'managerId', 'managerName'] as const),
    ...(['startedAt', 'leavingDate', 'isContractor', 'status'] as const),
  ],
  total: null,
  maxPageSize: 200,
}

function employmentOf(person: Person): unknown {
  const { index, title, manager, start, end, isContractor, employment } = person
  return {
    companyID: 'C1',
    employeeID: keyOf(person),
    employeeNumber: String(100_200 + index),
    jobTitle: title,
    originalHireDate: midnight(start),
    lastHireDate: midnight(start),
    dateOfTermination: end && midnight(end),
    dateLastWorked: hasLeft(person) && end ? midnight(end) : null,
    employeeTypeCode: isContractor ? 'CON' : 'REG',
    employeeStatusCode: hasLeft(person) ? 'T' : statuses[employment],
    supervisorID: manager && keyOf(manager),
    supervisorFirstName: manager?.first ?? null,
    supervisorLastName: manager?.last ?? null,
    supervisorName: manager && fullName(manager),
  }
}

function personOf(person: Person): unknown {
  const { first, last, email, privateEmail } = person
  return {
    employeeId: keyOf(person),
    companyId: 'C1',
    firstName: first,
    lastName: last,
    emailAddress: email,
    emailAddressAlternate: privateEmail,
  }
}

function midnight(day: Temporal.PlainDate): string {
  return `${day}T00:00:00`
}

function writeList(page: Page): Reply {
  const next = nextAddress(page, 'page', page.skip / page.size + 2)
  return { status: 200, ...(next && { headers: { link: `<${next}>; rel="next"` } }), body: page.records }
}
