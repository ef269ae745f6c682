import { basic } from '../authentication.ts'
import { credentials } from '../credentials.ts'
import { csvReply, fullName, hasLeft } from '../csv.ts'
import { numberKeys } from '../keys.ts'
import { wholeList } from '../pages.ts'
import { Refusal, type SystemRequest } from '../protocol.ts'
import type { Person } from '../roster.ts'
import type { HrSystem } from '../system.ts'

const keyOf = numberKeys(21_001)
const path = `/ccx/service/customreport2/${credentials.company}/${credentials.user}/All_Workers`

const statuses = { active: 'Active', 'on leave': 'On Leave', left: 'Terminated', leaving: 'Active', starting: 'Active' }

/** The cells of a report. Workday fills the last day of work only once it has passed. */
function cellsOf(person: Person): Readonly<Record<string, string>> {
  const { first, last, email, privateEmail, title, manager, start, end, isContractor, employment } = person
  return {
    Employee_ID: keyOf(person),
    'Legal_Name_-_First_Name': first,
    'Legal_Name_-_Last_Name': last,
    'Email_-_Primary_Work': email,
    Primary_Home_Email: privateEmail,
    Business_Title: title,
    Manager_ID: manager ? keyOf(manager) : '',
    "Worker's_Manager": manager ? fullName(manager) : '',
    Hire_Date: start.toString(),
    Last_Day_of_Work: hasLeft(person) ? `${end}` : '',
    Termination_Date: end?.toString() ?? '',
    Worker_Type: isContractor ? 'Contingent Worker' : 'Employee',
    Worker_Status: statuses[employment],
  }
}

const report: Pick<HrSystem, 'authentication' | 'keyOf' | 'facts' | 'total' | 'maxPageSize'> = {
  authentication: basic(credentials.user, credentials.password),
  keyOf,
  facts: [
    ...(['email', 'secondaryEmail', 'jobTitle', 'managerId', 'managerName'] as const),
    ...(['startedAt', 'leavingDate', 'isContractor', 'status'] as const),
  ],
  total: null,
  maxPageSize: null,
}

/** A report as a web service, as JSON. Blank members are left out. */
export const workdayJson: HrSystem = {
  ...report,
  name: 'workday-raas-json',
  lists: [
    {
      method: 'GET',
      path,
      shape: (person) => Object.fromEntries(Object.entries(cellsOf(person)).filter(([, cell]) => cell !== '')),
      pages: wholeList,
      check: requireFormat('json'),
      write: ({ records }) => ({ status: 200, body: { Report_Entry: records } }),
    },
  ],
}

/** The same report as CSV. */
export const workdayCsv: HrSystem = {
  ...report,
  name: 'workday-raas-csv',
  lists: [
    {
      method: 'GET',
      path,
      shape: cellsOf,
      pages: wholeList,
      check: requireFormat('csv'),
      write: ({ records }) => csvReply(records),
    },
  ],
}

function requireFormat(format: string): (request: SystemRequest) => void {
  return ({ url }) => {
    if (url.searchParams.get('format') !== format) throw new Refusal(400, { error: 'unexpected format' })
  }
}
