import { clientCredentials, withCertificate } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { fullName, hasLeft } from '../csv.ts'
import { offsetPages, type Page } from '../pages.ts'
import type { Reply } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = ({ index }: Person) => `G3QZ${String(7000 + index * 7).padStart(6, '0')}`
const { clientId, clientSecret } = credentials

const statuses = { active: 'Active', 'on leave': 'Leave', left: 'Terminated', leaving: 'Active', starting: 'Active' }

/** ADP Workforce Now: OAuth 2.0 with client credentials and a client certificate; 204 behind the end of the list. */
export const adp: HrSystem = {
  name: 'adp-api',
  authentication: withCertificate(
    clientCredentials({ path: '/auth/oauth/v2/token', lifetimeSeconds: 3600, clientId, clientSecret }),
  ),
  lists: [
    {
      method: 'GET',
      path: '/hr/v2/workers',
      shape: workerOf,
      pages: offsetPages({
        parameter: '$skip',
        sizeParameter: '$top',
        defaultSize: 50,
        maxSize: 100,
        exceeded: 'clamp',
      }),
      write: writeWorkers,
    },
  ],
  keyOf,
  facts: [
    ...(['email', 'secondaryEmail', 'jobTitle', 'managerId', 'managerName'] as const),
    ...(['startedAt', 'leavingDate', 'isContractor', 'status'] as const),
  ],
  total: null,
  maxPageSize: 100,
  needsTls: true,
}

// Whoever holds two positions has two assignments, of which one is primary.
function workerOf(person: Person): unknown {
  const { index, first, last, email, privateEmail, start, end, employment } = person
  const primary = assignmentOf(person)
  const second = {
    itemID: `${index}-2`,
    primaryIndicator: false,
    jobTitle: 'Member of the fire brigade',
    hireDate: '2012-02-29',
  }
  return {
    associateOID: `AOID${keyOf(person)}`,
    workerID: { idValue: keyOf(person), schemeCode: { codeValue: 'Associate ID' } },
    person: {
      legalName: { givenName: first, familyName1: last, formattedName: `${last}, ${first}` },
      communication: { emails: [{ nameCode: { codeValue: 'Personal E-mail' }, emailUri: privateEmail }] },
    },
    workerDates: { originalHireDate: start.toString(), ...(end && { terminationDate: end.toString() }) },
    workerStatus: { statusCode: { codeValue: hasLeft(person) ? 'Terminated' : statuses[employment] } },
    businessCommunication: { emails: [{ nameCode: { codeValue: 'Work E-mail' }, emailUri: email }] },
    workAssignments: index % 40 === 3 ? [second, primary] : [primary],
  }
}

function assignmentOf({ index, title, start, end, manager, isContractor }: Person): unknown {
  return {
    itemID: `${index}-1`,
    primaryIndicator: true,
    hireDate: start.toString(),
    ...(end && { terminationDate: end.toString() }),
    jobTitle: title,
    workerTypeCode: isContractor
      ? { codeValue: 'C', shortName: 'Contractor' }
      : { codeValue: 'F', shortName: 'Full Time' },
    ...(manager && {
      reportsTo: [
        {
          associateOID: `AOID${keyOf(manager)}`,
          workerID: { idValue: keyOf(manager) },
          reportsToWorkerName: { formattedName: fullName(manager) },
        },
      ],
    }),
  }
}

function writeWorkers({ records, skip }: Page): Reply {
  if (records.length === 0 && skip > 0) return { status: 204 }
  return { status: 200, body: { workers: records, meta: null } }
}
