import type { Reply } from './protocol.ts'
import { inventRoster, type Person, readingDay } from './roster.ts'
import type { HrSystem, StatedFact } from './system.ts'

type Column = { readonly header: string; readonly fact: StatedFact | null; readonly cell: (person: Person) => string }

/** The people as a CSV export for the preset `generic`, with the facts that the system states, and its keys. */
export function csvOf({ keyOf, facts }: Pick<HrSystem, 'keyOf' | 'facts'>, people: readonly Person[] | number): string {
  const rows = typeof people === 'number' ? inventRoster(people) : people
  const columns: readonly Column[] = [
    { header: 'Worker ID', fact: null, cell: keyOf },
    { header: 'First Name', fact: null, cell: ({ first }) => first },
    { header: 'Last Name', fact: null, cell: ({ last }) => last },
    { header: 'Email', fact: 'email', cell: ({ email }) => email },
    { header: 'Personal Email', fact: 'secondaryEmail', cell: ({ privateEmail }) => privateEmail },
    { header: 'Job Title', fact: 'jobTitle', cell: ({ title }) => title },
    { header: 'Manager ID', fact: 'managerId', cell: ({ manager }) => (manager ? keyOf(manager) : '') },
    { header: 'Manager Name', fact: 'managerName', cell: ({ manager }) => (manager ? fullName(manager) : '') },
    { header: 'Start Date', fact: 'startedAt', cell: ({ start }) => start.toString() },
    { header: 'Termination Date', fact: 'leavingDate', cell: ({ end }) => end?.toString() ?? '' },
    { header: 'Is Contractor', fact: 'isContractor', cell: ({ isContractor }) => String(isContractor) },
    { header: 'Status', fact: 'status', cell: (person) => (hasLeft(person) ? 'Terminated' : 'Active') },
  ]
  const stated = columns.filter(({ fact }) => fact === null || facts.includes(fact))
  return csvText([stated.map(({ header }) => header), ...rows.map((person) => stated.map(({ cell }) => cell(person)))])
}

/** Rows as CSV. */
export function csvText(rows: readonly (readonly string[])[]): string {
  const quoted = (cell: string) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)
  return rows.map((row) => `${row.map(quoted).join(',')}\n`).join('')
}

/** A report as CSV, with a column for each name in its first record. */
export function csvReply(records: readonly unknown[]): Reply {
  const [first = {}, ...others] = records as readonly Readonly<Record<string, string>>[]
  const rows = [Object.keys(first), ...[first, ...others].map((cells) => Object.values(cells))]
  return { status: 200, headers: { 'content-type': 'text/csv; charset=utf-8' }, body: csvText(rows) }
}

/** First and last name. */
export function fullName({ first, last }: Person): string {
  return `${first} ${last}`
}

/** Whether the person had left on the day of reading. */
export function hasLeft({ end }: Person): boolean {
  return end !== null && Temporal.PlainDate.compare(end, readingDay) < 0
}
