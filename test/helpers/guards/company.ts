import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { createDice } from '../dice.ts'

/** The columns of the export, in their order. */
export const columns = [
  'Worker ID',
  'Status',
  'Type',
  'First Name',
  'Last Name',
  'Work Email',
  'Manager ID',
  'Job Title',
  'Start Date',
  'Leaving Date',
] as const
export type Column = (typeof columns)[number]
export type Row = Readonly<Record<Column, string>>

export const companyMapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: 'Work Email',
    firstName: 'First Name',
    lastName: 'Last Name',
    managerId: 'Manager ID',
    jobTitle: 'Job Title',
    startedAt: { column: 'Start Date', format: 'MM/dd/yyyy' },
    separatedAt: { column: 'Leaving Date', format: 'MM/dd/yyyy' },
    isContractor: { column: 'Type', map: { Contractor: true, Employee: false } },
  },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
})

const firstNames = ['Änne', 'Björn', 'Chloé', 'Dana', 'Élodie', 'Farid', 'Gülay', 'Håkon', 'Imre', 'Jürgen', 'Kim']
const lastNames = ['Ångström', 'Brandt', 'Çelik', 'Dvořák', 'Eriksen', "O'Neill", 'Großmann', 'Núñez', 'Yılmaz']
const titles = ['Engineer', 'Engineer, senior', 'Accountant', 'Designer', 'Driver', 'Nurse', 'Recruiter']

/** The people of a company in the order of their keys; every tenth has left. */
export function company(size: number): Row[] {
  const dice = createDice('company')
  return Array.from({ length: size }, (_, at) => {
    const hasLeft = at % 10 === 9
    return {
      'Worker ID': `W${String(at + 1).padStart(5, '0')}`,
      Status: hasLeft ? 'Inactive' : 'Active',
      Type: at % 8 === 5 ? 'Contractor' : 'Employee',
      'First Name': firstNames[at % firstNames.length] ?? '',
      'Last Name': `${lastNames[at % lastNames.length]}${at % 3 === 0 ? '' : `-${lastNames[(at * 7) % lastNames.length]}`}`,
      'Work Email': `w${at + 1}@acme.example`,
      'Manager ID': at < 10 ? '' : `W${String(Math.floor(at / 10)).padStart(5, '0')}`,
      'Job Title': dice.pick(titles as [string, ...string[]]),
      'Start Date': american(dice.integer(2010, 2024), dice.integer(1, 12), dice.integer(1, 28)),
      'Leaving Date': hasLeft ? american(2025, dice.integer(1, 12), dice.integer(1, 28)) : '',
    }
  })
}

/** The export of these people; `header` is left out where it is null. */
export function csv(rows: readonly Row[], header: readonly string[] | null = columns): string {
  const lines = rows.map((row) => line(columns.map((column) => row[column])))
  return `${[...(header ? [line(header)] : []), ...lines].join('\n')}\n`
}

/** One row with its cells in the order of the columns, of which there may be too few or too many. */
export function line(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')
}

export function american(year: number, month: number, day: number): string {
  const two = (number: number) => String(number).padStart(2, '0')
  return `${two(month)}/${two(day)}/${year}`
}
