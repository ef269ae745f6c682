import { familyNames, givenNames, jobTitles } from '../../src/cli/demo/names.ts'
import { createDice, type Dice } from '../helpers/dice.ts'

/** The day on which every sample was exported. */
export const exportDay = Temporal.PlainDate.from('2026-11-20')

const size = 300
const departments = ['Engineering', 'Finance', 'Legal', 'Marketing', 'Operations', 'People', 'Sales'] as const
const locations = ['Berlin', 'Lisbon', 'London', 'Malmö', 'New York', 'Remote', 'Zürich'] as const

/** Where a person stands on the day of the export. */
export type EmploymentState = 'active' | 'on leave' | 'left' | 'leaving' | 'starting'

/** One of the 300 invented people, who are the same in every sample but for their names' spelling. */
export type Invented = {
  readonly index: number
  readonly first: string
  readonly last: string
  /** Blank for a few. */
  readonly email: string
  readonly title: string
  readonly department: string
  readonly location: string
  readonly isContractor: boolean
  readonly isPartTime: boolean
  readonly employment: EmploymentState
  readonly start: Temporal.PlainDate
  /** The last day of those who have left or will. */
  readonly end: Temporal.PlainDate | null
  /** null: nobody. */
  readonly manager: Invented | null
}

/** An imaginary company, always the same one. `spells` says which names the sample's encoding can hold. */
export function inventCompany({
  spells = () => true,
}: {
  readonly spells?: (name: string) => boolean
} = {}): Invented[] {
  const dice = createDice('samples')
  const [firsts, lasts] = [givenNames.filter(spells), familyNames.filter(spells)]
  const people: Invented[] = []
  for (let index = 0; index < size; index += 1) {
    const first = firsts[dice.integer(0, 9999) % firsts.length] ?? ''
    const last = lasts[dice.integer(0, 9999) % lasts.length] ?? ''
    const employment = employmentOf(index)
    const isContractor = employment === 'active' && index % 17 === 9
    const start = startOf(employment, dice)
    people.push({
      index,
      first,
      last,
      // Contractors commonly have no address of the company.
      email: isContractor && index % 4 === 0 ? '' : `${latin(first)}.${latin(last)}${index}@example.com`,
      title: dice.pick(jobTitles),
      department: dice.pick(departments),
      location: dice.pick(locations),
      isContractor,
      isPartTime: dice.chance(0.1),
      employment: employment,
      start,
      end: endOf(employment, index),
      manager: index === 0 ? null : (people[Math.floor((index - 1) / 8)] ?? null),
    })
  }
  return people
}

function employmentOf(index: number): EmploymentState {
  if (index % 25 === 24) return 'left'
  if (index % 60 === 31) return 'leaving'
  if (index % 70 === 45) return 'on leave'
  return index > size - 4 ? 'starting' : 'active'
}

function startOf(employment: EmploymentState, dice: Dice): Temporal.PlainDate {
  const days = dice.integer(60, 3600)
  if (employment === 'starting') return exportDay.add({ days: 10 + (days % 40) })
  return exportDay.subtract({ days: employment === 'left' ? days + 400 : days })
}

function endOf(employment: EmploymentState, index: number): Temporal.PlainDate | null {
  if (employment === 'left') return exportDay.subtract({ days: 20 + index })
  return employment === 'leaving' ? exportDay.add({ days: 11 + (index % 30) }) : null
}

function latin(name: string): string {
  const plain = name.normalize('NFD').replaceAll(/\p{M}/gu, '')
  return plain
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('ø', 'o')
    .replaceAll('ł', 'l')
    .replaceAll('ı', 'i')
    .replaceAll(/[^a-z]/g, '')
}
