import iconv from 'iconv-lite'
import { type EmploymentState, type Invented, inventCompany } from './company.ts'

type Column = readonly [header: string, cell: (person: Invented) => string]

/** How one HR system writes an export: its columns, words and dates, and the form of its file. */
type Family = {
  readonly columns: readonly Column[]
  readonly delimiter?: string
  readonly lineEnd?: string
  /** Whether every cell stands in quotes. */
  readonly quotesAll?: boolean
  readonly encoding?: string
  /** Further headers below the first. */
  readonly labels?: readonly string[]
}

const dash = (day: Temporal.PlainDate | null) => day?.toString() ?? ''
const parts = (day: Temporal.PlainDate) => ({
  dd: String(day.day).padStart(2, '0'),
  mm: String(day.month).padStart(2, '0'),
  year: day.year,
})
const american = (day: Temporal.PlainDate | null) => {
  if (day === null) return ''
  const { dd, mm, year } = parts(day)
  return `${mm}/${dd}/${year}`
}
const german = (day: Temporal.PlainDate | null) => {
  if (day === null) return ''
  const { dd, mm, year } = parts(day)
  return `${dd}.${mm}.${year}`
}

const shortMonths = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const named = (day: Temporal.PlainDate | null) => {
  if (day === null) return ''
  const { dd, year } = parts(day)
  return `${dd}-${shortMonths[day.month - 1]}-${year}`
}

const nameOf = (person: Invented | null) => (person === null ? '' : `${person.first} ${person.last}`)
const first: Column[1] = (person) => person.first
const last: Column[1] = (person) => person.last
const email: Column[1] = (person) => person.email
const title: Column[1] = (person) => person.title
const department: Column[1] = (person) => person.department
const location: Column[1] = (person) => person.location
const manager: Column[1] = (person) => nameOf(person.manager)

/** The end date of those who have left; it stays blank where a system does not show one that lies ahead. */
const pastEnd = (person: Invented) => (person.employment === 'left' ? person.end : null)

function words(by: Readonly<Record<EmploymentState, string>>): Column[1] {
  return (person) => by[person.employment]
}

const keyed = (write: (index: number) => string) => ({
  key: (person: Invented) => write(person.index),
  managerKey: (person: Invented) => (person.manager === null ? '' : write(person.manager.index)),
})

const workday = keyed((index) => String(21_001 + index))
const adp = keyed((index) => `G3QZ${String(7000 + index * 7).padStart(5, '0')}`)
const bamboo = keyed((index) => String(101 + index))
const hibob = keyed((index) => String(3_000_001 + index * 7))
const personio = keyed((index) => String(17 + index * 3).padStart(5, '0'))
const rippling = keyed((index) => String(1001 + index))
const factors = keyed((index) => String(80_001 + index))
const ukg = keyed((index) => String(100_200 + index * 3))
const generic = keyed((index) => `W${String(index + 1).padStart(5, '0')}`)
const factorial = keyed((index) => String(880_001 + index * 3))
const frappe = keyed((index) => `HR-EMP-${String(index + 1).padStart(5, '0')}`)
const odoo = keyed((index) => `0${41_101 + index}`)
const orange = keyed((index) => String(index + 1).padStart(4, '0'))
const sap = keyed((index) => String(20_000 + index).padStart(8, '0'))
const zoho = keyed((index) => `ZP${String(index + 1).padStart(3, '0')}`)
const letters = 'BCDFGHJKLMNPQRSTVWXZ'
const gusto = keyed(
  (index) => `K${letters[index % 20]}${2 + (index % 8)}${letters[(index * 7) % 20]}${String(index).padStart(3, '0')}`,
)

export const families: Readonly<Record<string, Family>> = {
  workday: {
    columns: [
      ['Employee_ID', workday.key],
      ['Legal_Name_-_First_Name', first],
      ['Legal_Name_-_Last_Name', last],
      ['Email_-_Work', email],
      ['Business_Title', title],
      ['Manager_ID', workday.managerKey],
      ["Worker's_Manager", manager],
      ['Hire_Date', ({ start }) => dash(start)],
      ['Last_Day_of_Work', (person) => dash(pastEnd(person))],
      ['Termination_Date', ({ end }) => dash(end)],
      ['Worker_Type', ({ isContractor }) => (isContractor ? 'Contingent Worker' : 'Employee')],
      [
        'Worker_Status',
        words({ active: 'Active', 'on leave': 'On Leave', left: 'Terminated', leaving: 'Active', starting: 'Active' }),
      ],
      ['Cost_Center', department],
      ['Location', location],
    ],
  },
  'adp-workforce-now': {
    quotesAll: true,
    lineEnd: '\r\n',
    columns: [
      ['ASSOCIATE ID', adp.key],
      ['FILE NUMBER', ({ index }) => String(4001 + index)],
      ['PAYROLL FIRST NAME', first],
      ['PAYROLL LAST NAME', last],
      ['WORK E-MAIL', email],
      ['JOB TITLE', title],
      ['REPORTS TO ASSOCIATE ID', adp.managerKey],
      ['REPORTS TO NAME', manager],
      ['HIRE DATE', ({ start }) => american(start)],
      ['REHIRE DATE', ({ index, start }) => (index % 90 === 20 ? american(start.add({ days: 30 })) : '')],
      ['TERMINATION DATE', ({ end }) => american(end)],
      [
        'WORKER CATEGORY',
        ({ isContractor, isPartTime }) => (isContractor ? 'Contractor' : isPartTime ? 'Part Time' : 'Full Time'),
      ],
      [
        'STATUS',
        words({
          active: 'Active',
          'on leave': 'Leave',
          left: 'Terminated',
          leaving: 'Active',
          starting: 'Pending Hire',
        }),
      ],
      ['HOME DEPARTMENT', department],
    ],
  },
  bamboohr: {
    columns: [
      ['Employee #', bamboo.key],
      ['First Name', first],
      ['Last Name', last],
      ['Work Email', email],
      ['Job Title', title],
      ['Department', department],
      ['Location', location],
      ['Reporting to', manager],
      ['Supervisor EID', bamboo.managerKey],
      ['Hire Date', ({ start }) => dash(start)],
      ['Termination Date', ({ end }) => dash(end)],
      [
        'Employment Status',
        (person) => {
          if (person.employment === 'left') return 'Terminated'
          if (person.employment === 'on leave') return 'Leave of Absence'
          if (person.isContractor) return 'Contractor'
          return person.isPartTime ? 'Part-Time' : 'Full-Time'
        },
      ],
      ['Employment Status: Date', ({ start, employment, end }) => dash(employment === 'left' ? end : start)],
    ],
  },
  rippling: {
    columns: [
      ['Employee number', rippling.key],
      ['Legal first name', first],
      ['Legal last name', last],
      ['Work email', email],
      ['Title', title],
      ['Department', department],
      ['Work location', location],
      ['Manager - Employee number', rippling.managerKey],
      ['Manager - Full name', manager],
      ['Start date', ({ start }) => american(start)],
      ['End date', ({ end }) => american(end)],
      [
        'Employment type',
        ({ isContractor, isPartTime }) => (isContractor ? 'Contractor' : isPartTime ? 'Part-time' : 'Full-time'),
      ],
      [
        'Employment status',
        words({
          active: 'Active',
          'on leave': 'On Leave',
          left: 'Terminated',
          leaving: 'Active',
          starting: 'Accepted',
        }),
      ],
    ],
  },
  gusto: {
    // Contractors stand in a report of their own.
    columns: [
      ['Gusto Employee ID', gusto.key],
      ['First name', first],
      ['Last name', last],
      ['Work email', email],
      ['Job title', title],
      ['Manager', manager],
      ['Department', department],
      ['Work address', location],
      ['Start date', ({ start }) => american(start)],
      ['Last day of work', ({ end }) => american(end)],
      ['Termination date', ({ end }) => american(end)],
      [
        'Employment status',
        words({
          active: 'Active',
          'on leave': 'On leave',
          left: 'Terminated',
          leaving: 'Active',
          starting: 'Onboarding',
        }),
      ],
    ],
  },
  personio: {
    columns: [
      ['Personnel number', personio.key],
      ['First name', first],
      ['Last name', last],
      ['Email', email],
      ['Position', title],
      ['Department', department],
      ['Office', location],
      ['Supervisor', manager],
      ['Hire date', ({ start }) => dash(start)],
      ['Contract end date', ({ isContractor, start }) => (isContractor ? dash(start.add({ years: 12 })) : '')],
      ['End of employment', ({ end }) => dash(end)],
      ['Employment type', ({ isContractor }) => (isContractor ? 'External' : 'Internal')],
      [
        'Status',
        words({ active: 'Active', 'on leave': 'Leave', left: 'Inactive', leaving: 'Active', starting: 'Onboarding' }),
      ],
    ],
  },
  'personio-de': {
    delimiter: ';',
    lineEnd: '\r\n',
    encoding: 'windows-1252',
    columns: [
      ['Personalnummer', personio.key],
      ['Vorname', first],
      ['Nachname', last],
      ['E-Mail', email],
      ['Position', title],
      ['Abteilung', department],
      ['Standort', location],
      ['Vorgesetzter', manager],
      ['Anstelldatum', ({ start }) => german(start)],
      ['Vertragsende', ({ isContractor, start }) => (isContractor ? german(start.add({ years: 12 })) : '')],
      ['Ende des Arbeitsverhältnisses', ({ end }) => german(end)],
      ['Anstellungsart', ({ isContractor }) => (isContractor ? 'Extern' : 'Intern')],
      [
        'Status',
        words({ active: 'Aktiv', 'on leave': 'Auszeit', left: 'Inaktiv', leaving: 'Aktiv', starting: 'Onboarding' }),
      ],
    ],
  },
  hibob: {
    columns: [
      ['Employee ID', hibob.key],
      ['Display name', nameOf],
      ['First name', first],
      ['Last name', last],
      ['Email', email],
      ['Job title', title],
      ['Site', location],
      ['Reports to', manager],
      ['Reports to ID', hibob.managerKey],
      ['Start date', ({ start }) => american(start)],
      ['Last day at work', (person) => american(pastEnd(person))],
      ['Termination date', ({ end }) => american(end)],
      [
        'Employment type',
        ({ isContractor, isPartTime }) => (isContractor ? 'Contractor' : isPartTime ? 'Part time' : 'Full time'),
      ],
      [
        'Lifecycle status',
        words({
          active: 'Employed',
          'on leave': 'Parental Leave',
          left: 'Terminated',
          leaving: 'Employed',
          starting: 'Hired',
        }),
      ],
    ],
  },
  successfactors: {
    columns: [
      [
        'STATUS',
        words({ active: 'active', 'on leave': 'inactive', left: 'inactive', leaving: 'active', starting: 'active' }),
      ],
      ['USERID', factors.key],
      ['FIRSTNAME', first],
      ['LASTNAME', last],
      ['EMAIL', email],
      ['TITLE', title],
      ['MANAGER', (person) => factors.managerKey(person) || 'NO_MANAGER'],
      ['HR', () => 'NO_HR'],
      ['DEPARTMENT', department],
      ['LOCATION', location],
      ['TIMEZONE', () => 'Europe/Berlin'],
      ['HIREDATE', ({ start }) => american(start)],
      ['COMPANYEXITDATE', ({ end }) => american(end)],
    ],
    labels: [
      ...['STATUS', 'USERID', 'First Name', 'Last Name', 'Email', 'Title', 'Manager', 'Human Resource', 'Department'],
      ...['Location', 'Time Zone', 'Hire Date', 'Company Exit Date'],
    ],
  },
  'ukg-pro': {
    columns: [
      ['EmployeeNumber', ukg.key],
      ['FirstName', first],
      ['LastName', last],
      ['EmailAddress', email],
      ['AlternateTitle', title],
      ['SupervisorEmployeeNumber', ukg.managerKey],
      ['SupervisorName', manager],
      ['OrgLevel1', department],
      ['HireDate', ({ start }) => american(start)],
      ['LastHireDate', ({ start }) => american(start)],
      ['DateLastWorked', (person) => american(pastEnd(person))],
      ['DateOfTermination', ({ end }) => american(end)],
      ['EmployeeType', ({ isContractor }) => (isContractor ? 'CON' : 'REG')],
      ['EmploymentStatus', words({ active: 'A', 'on leave': 'L', left: 'T', leaving: 'A', starting: 'A' })],
    ],
  },
  factorial: {
    columns: [
      ['ID', factorial.key],
      ['First Name', first],
      ['Last Name', last],
      ['Email', email],
      ['Job Title', title],
      ['Manager ID', factorial.managerKey],
      ['Start Date', ({ start }) => dash(start)],
      ['Terminated On', ({ end }) => dash(end)],
      ['Location', location],
    ],
  },
  'frappe-hr': {
    columns: [
      ['Employee', frappe.key],
      ['First Name', first],
      ['Last Name', last],
      ['Company Email', email],
      ['Designation', title],
      ['Department', department],
      ['Reports to', frappe.managerKey],
      ['Date of Joining', ({ start }) => dash(start)],
      ['Relieving Date', ({ end }) => dash(end)],
      [
        'Status',
        words({ active: 'Active', 'on leave': 'Active', left: 'Left', leaving: 'Active', starting: 'Active' }),
      ],
    ],
  },
  odoo: {
    // First and last names are columns of a module; the standard has Employee Name.
    columns: [
      ['Badge ID', odoo.key],
      ['Employee Name', nameOf],
      ['First Name', first],
      ['Last Name', last],
      ['Work Email', email],
      ['Job Title', title],
      ['Department', department],
      ['Manager', manager],
      ['First Contract Date', ({ start }) => dash(start)],
      ['Departure Date', ({ end }) => dash(end)],
      ['Active', ({ employment }) => (employment === 'left' ? 'FALSE' : 'TRUE')],
    ],
  },
  orangehrm: {
    columns: [
      ['Employee Id', orange.key],
      ['First Name', first],
      ['Last Name', last],
      ['Work Email', email],
      ['Job Title', title],
      ['Employment Status', ({ isContractor }) => (isContractor ? 'Freelance' : 'Full-Time Permanent')],
      ['Sub Unit', department],
      ['Supervisor', manager],
      ['Joined Date', ({ start }) => dash(start)],
      ['Termination Date', ({ end }) => dash(end)],
    ],
  },
  'sap-hcm': {
    delimiter: ';',
    lineEnd: '\r\n',
    columns: [
      ['Personalnummer', sap.key],
      ['Vorname', first],
      ['Nachname', last],
      ['E-Mail', email],
      ['Planstelle', title],
      ['Personalnummer Vorgesetzter', sap.managerKey],
      ['Eintritt', ({ start }) => german(start)],
      ['Austritt', ({ end }) => german(end) || '31.12.9999'],
      [
        'Beschäftigungsstatus',
        words({ active: 'aktiv', 'on leave': 'aktiv', left: 'ausgetreten', leaving: 'aktiv', starting: 'aktiv' }),
      ],
      ['Personalbereich', location],
    ],
  },
  'zoho-people': {
    columns: [
      ['Employee ID', zoho.key],
      ['First Name', first],
      ['Last Name', last],
      ['Email ID', email],
      ['Designation', title],
      ['Department', department],
      ['Reporting To', manager],
      ['Date of Joining', ({ start }) => named(start)],
      ['Date of Exit', ({ end }) => named(end)],
      [
        'Employee Status',
        words({ active: 'Active', 'on leave': 'Active', left: 'Terminated', leaving: 'Active', starting: 'Active' }),
      ],
    ],
  },
  generic: {
    columns: [
      ['Worker ID', generic.key],
      ['First Name', first],
      ['Last Name', last],
      ['Work Email', email],
      ['Job Title', title],
      ['Department', department],
      ['Location', location],
      ['Manager ID', generic.managerKey],
      ['Manager Name', manager],
      ['Contractor', ({ isContractor }) => (isContractor ? 'yes' : 'no')],
      ['Hire Date', ({ start }) => dash(start)],
      ['Termination Date', ({ end }) => dash(end)],
      [
        'Employment Status',
        words({ active: 'Active', 'on leave': 'On Leave', left: 'Terminated', leaving: 'Active', starting: 'Hired' }),
      ],
    ],
  },
}

/** The export of a family, as its system would write the file. */
export function sampleOf({
  columns,
  delimiter = ',',
  lineEnd = '\n',
  quotesAll = false,
  encoding = 'utf-8',
  labels,
}: Family): Buffer {
  const spells = (name: string) => iconv.decode(iconv.encode(name, encoding), encoding) === name
  const rows = [
    columns.map(([header]) => header),
    ...(labels === undefined ? [] : [[...labels]]),
    ...inventCompany({ spells }).map((person) => columns.map(([, cell]) => cell(person))),
  ]
  const written = (cell: string) =>
    quotesAll || cell.includes(delimiter) || cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell
  const text = rows.map((row) => `${row.map(written).join(delimiter)}${lineEnd}`).join('')
  return iconv.encode(text, encoding)
}
