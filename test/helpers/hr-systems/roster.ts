import { familyNames, givenNames, jobTitles } from '../../../src/cli/demo/names.ts'
import { createDice, type Dice } from '../dice.ts'

/** The day on which every HR system is read. */
export const readingDay = Temporal.PlainDate.from('2026-11-20')

/** How a person is employed on that day. */
export type Employment = 'active' | 'on leave' | 'left' | 'leaving' | 'starting'

/** One invented person. Every HR system holds the same people and writes them in its own form. */
export type Person = {
  /** From 0. Systems derive their keys from it. */
  readonly index: number
  readonly first: string
  readonly last: string
  readonly email: string
  readonly privateEmail: string
  readonly title: string
  readonly isContractor: boolean
  readonly employment: Employment
  readonly start: Temporal.PlainDate
  /** The last day of employment of leavers; null for everybody else. */
  readonly end: Temporal.PlainDate | null
  readonly manager: Person | null
}

/** An imaginary company. The first people of a larger company are those of a smaller one. */
export function inventRoster(size: number): Person[] {
  const dice = createDice('hr-systems')
  const people: Person[] = []
  for (let index = 0; index < size; index += 1)
    people.push(inventPerson(index, dice, people[Math.floor((index - 1) / 8)] ?? null))
  return people
}

/** One more person of the company, for a system whose people change while it is read. */
export function inventJoiner(index: number, manager: Person | null): Person {
  return { ...inventPerson(index, createDice(`joiner ${index}`), manager), employment: 'active', end: null }
}

function inventPerson(index: number, dice: Dice, manager: Person | null): Person {
  const first = pickName(givenNames, dice)
  const last = pickName(familyNames, dice)
  const employment = employmentOf(index)
  const address = `${latin(first)}.${latin(last)}${index}`
  const days = dice.integer(60, 3600)
  return {
    index,
    first,
    last,
    email: `${address}@example.com`,
    privateEmail: `${address}@mail.example.org`,
    title: dice.pick(jobTitles),
    isContractor: employment === 'active' && index % 17 === 5,
    employment,
    start: startOf(employment, days),
    end: endOf(employment, index),
    manager: index === 0 ? null : manager,
  }
}

function pickName(names: readonly string[], dice: Dice): string {
  return names[dice.integer(0, 9999) % names.length] ?? ''
}

// Of seven people, one has left, one leaves soon and one is on leave.
function employmentOf(index: number): Employment {
  if (index % 25 === 4) return 'left'
  if (index % 60 === 2) return 'leaving'
  if (index % 70 === 6) return 'on leave'
  return index % 300 === 299 ? 'starting' : 'active'
}

function startOf(employment: Employment, days: number): Temporal.PlainDate {
  if (employment === 'starting') return readingDay.add({ days: 10 + (days % 40) })
  return readingDay.subtract({ days: employment === 'left' ? days + 3000 : days })
}

function endOf(employment: Employment, index: number): Temporal.PlainDate | null {
  if (employment === 'left') return readingDay.subtract({ days: 20 + index })
  return employment === 'leaving' ? readingDay.add({ days: 11 + (index % 30) }) : null
}

function latin(name: string): string {
  const plain = name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const spelled = plain.replaceAll('ß', 'ss').replaceAll('ø', 'o').replaceAll('ł', 'l').replaceAll('ı', 'i')
  return spelled.replaceAll(/[^a-z]/g, '')
}
