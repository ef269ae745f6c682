import { rotatingRefreshToken } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { hasLeft } from '../csv.ts'
import { uuidKeys } from '../keys.ts'
import { numberedPages, type Page } from '../pages.ts'
import type { Reply } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = uuidKeys('gusto')
const { clientId, clientSecret, refreshToken: firstRefreshToken } = credentials

/** Gusto: refresh tokens that are accepted once; a bare list, whose number of pages stands in a header. */
export const gusto: HrSystem = {
  name: 'gusto-api',
  authentication: rotatingRefreshToken({
    path: '/oauth/token',
    lifetimeSeconds: 7200,
    clientId,
    clientSecret,
    firstRefreshToken,
  }),
  lists: [
    {
      method: 'GET',
      path: `/v1/companies/${credentials.company}/employees`,
      shape: employeeOf,
      pages: numberedPages({
        parameter: 'page',
        sizeParameter: 'per',
        defaultSize: 25,
        maxSize: 100,
        exceeded: 'clamp',
      }),
      write: writeEmployees,
    },
  ],
  keyOf,
  facts: ['email', 'secondaryEmail', 'jobTitle', 'managerId', 'startedAt', 'leavingDate', 'status'],
  total: 'pages',
  maxPageSize: 100,
}

function employeeOf(person: Person): unknown {
  const { index, first, last, email, privateEmail, title, manager, start, end } = person
  const job = { uuid: `job-${index}`, title, primary: true, hire_date: start.toString() }
  const sideJob = {
    uuid: `side-${index}`,
    title: 'Member of the fire brigade',
    primary: false,
    hire_date: '2010-01-01',
  }
  // Whoever came back has the termination of the former employment too.
  const former = { uuid: `former-${index}`, effective_date: '2001-12-31', active: true }
  const termination = end && { uuid: `end-${index}`, effective_date: end.toString(), active: hasLeft(person) }
  return {
    uuid: keyOf(person),
    first_name: first,
    last_name: last,
    email: privateEmail,
    work_email: email,
    manager_uuid: manager && keyOf(manager),
    terminated: hasLeft(person),
    onboarded: true,
    jobs: index % 30 === 8 ? [sideJob, job] : [job],
    terminations: [...(index % 50 === 4 ? [former] : []), ...(termination ? [termination] : [])],
  }
}

function writeEmployees({ records, skip, size, total }: Page): Reply {
  const totals: Record<string, string> =
    total === null ? {} : { 'x-total-count': String(total), 'x-total-pages': String(Math.ceil(total / size)) }
  return {
    status: 200,
    headers: { ...totals, 'x-page': String(skip / size + 1), 'x-per-page': String(size) },
    body: records,
  }
}
