import { bearer } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { hasLeft } from '../csv.ts'
import { uuidKeys } from '../keys.ts'
import { offsetPages, type Page, stated } from '../pages.ts'
import type { Reply } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = uuidKeys('scim')
const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

/** SCIM 2.0: positions from 1 with a total. It knows no dates; active is all that it says about employment. */
export const scim: HrSystem = {
  name: 'scim',
  authentication: bearer(credentials.token),
  lists: [
    {
      method: 'GET',
      path: '/scim/v2/Users',
      shape: userOf,
      pages: offsetPages({
        parameter: 'startIndex',
        first: 1,
        sizeParameter: 'count',
        defaultSize: 100,
        maxSize: 200,
        exceeded: 'clamp',
      }),
      write: writeUsers,
    },
  ],
  keyOf,
  facts: ['email', 'jobTitle', 'managerId', 'status'],
  total: 'records',
  maxPageSize: 200,
}

function userOf(person: Person): unknown {
  const { index, first, last, email, privateEmail, title, manager } = person
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User', enterprise],
    id: keyOf(person),
    userName: email,
    name: { givenName: first, familyName: last },
    title,
    active: !hasLeft(person),
    emails: [
      { value: privateEmail, type: 'home' },
      { value: email, type: 'work', primary: true },
    ],
    [enterprise]: { employeeNumber: String(1001 + index), ...(manager && { manager: { value: keyOf(manager) } }) },
  }
}

function writeUsers(page: Page): Reply {
  const { records, skip } = page
  return {
    status: 200,
    headers: { 'content-type': 'application/scim+json' },
    body: {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      ...stated('totalResults', page),
      startIndex: skip + 1,
      itemsPerPage: records.length,
      Resources: records,
    },
  }
}
