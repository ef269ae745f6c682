import type { Observation } from '../../../src/identity/record.ts'

/** The twelve people of test/fixtures/presets, who are the same in every system, in the order of their rows. */
const cast = {
  top: { first: 'Ines', last: 'Albrecht', title: 'Chief Executive', manager: null, start: '2015-02-01' },
  head: { first: 'Jonas', last: 'Weiß', title: 'Head of Engineering', manager: 'top', start: '2018-05-14' },
  engineer: { first: 'Mira', last: "O'Neill", title: 'Engineer, Platform', manager: 'head', start: '2021-09-01' },
  joiner: { first: 'Tariq', last: 'Haddad', title: 'Engineer', manager: 'head', start: '2026-11-16' },
  starter: { first: 'Lena', last: 'Sørensen', title: 'Designer', manager: 'top', start: '2027-01-04' },
  leaver: { first: 'Paul', last: 'Mercier', title: 'Accountant', manager: 'top', start: '2019-06-03' },
  leaving: { first: 'Ana', last: 'Lima', title: 'Recruiter', manager: 'top', start: '2020-03-02' },
  garden: { first: 'Oskar', last: 'Nyberg', title: 'Sales Lead', manager: 'top', start: '2017-08-21' },
  onLeave: { first: 'Grace', last: 'Kim', title: 'Support Agent', manager: 'head', start: '2022-04-11' },
  contractor: { first: 'Dmitri', last: 'Volkov', title: 'Consultant', manager: 'head', start: '2025-07-01' },
  returner: { first: 'Sofia', last: 'Rossi', title: 'Engineer', manager: 'head', start: '2026-06-01' },
  plain: { first: 'Wei', last: 'Chen', title: 'Analyst', manager: 'top', start: '2016-11-28' },
} as const

export type Role = keyof typeof cast
export const roles = Object.keys(cast) as Role[]

/** What an export of one system contains about these people. */
export type ExportContent = {
  /** The keys of the people, in the order of their rows; blank for whom the export leaves out. */
  readonly keys: readonly string[]
  readonly managers: readonly ('managerId' | 'managerName')[]
  readonly hasContractors: boolean
  readonly hasStatus: boolean
  /** The last day of employment of those who have one; empty where the export has no column for it. */
  readonly lastDays: Partial<Record<Role, string>>
  /** People whose status says that they left. */
  readonly leavers: readonly Role[]
  /** People whose status announces a departure; only the leaving date takes effect. */
  readonly announced?: readonly Role[]
  readonly firstLine?: number
}

/** What every row of such an export must become. */
export function observationsOf(file: string, telling: ExportContent): Observation[] {
  const keyOf = (role: Role) => telling.keys[roles.indexOf(role)] ?? ''
  const { announced = [] } = telling
  const included = roles.filter((role) => keyOf(role) !== '')
  return included.map((role, index) => {
    const { first, last, title, manager, start } = cast[role]
    return {
      identityId: keyOf(role),
      fields: {
        email: addressOf(first, last),
        firstName: first,
        lastName: last,
        jobTitle: title,
        startedAt: `${start}T00:00:00.000Z`,
        ...(telling.managers.includes('managerId') && { managerId: manager && keyOf(manager) }),
        ...(telling.managers.includes('managerName') && { managerName: manager && nameOf(manager) }),
        ...(telling.hasContractors && { isContractor: role === 'contractor' }),
      },
      leavingDate: Object.keys(telling.lastDays).length === 0 ? undefined : (telling.lastDays[role] ?? null),
      statesDeparture: telling.leavers.includes(role),
      statesEmployed: telling.hasStatus && ![...telling.leavers, ...announced].includes(role),
      isUncertain: announced.includes(role),
      hasEmploymentCell: true,
      origin: { file, line: index + (telling.firstLine ?? 2) },
    }
  })
}

function nameOf(role: Role): string {
  return `${cast[role].first} ${cast[role].last}`
}

function addressOf(first: string, last: string): string {
  const name = `${first}.${last}`.toLowerCase().replace('ß', 'ss').replace('ø', 'o').replace("'", '')
  return `${name}@example.com`
}
