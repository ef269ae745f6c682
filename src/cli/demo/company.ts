import { familyNames, givenNames, jobTitles } from './names.ts'

/** A person as the HR system of an imaginary company exports them. Dates are texts as in the export: `YYYY-MM-DD`, or blank. */
export type Person = {
  readonly workerId: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string
  readonly jobTitle: string
  readonly managerId: string
  readonly managerName: string
  readonly contractor: boolean
  readonly hireDate: string
  readonly terminationDate: string
}

/** How many people each event happens to in one night. */
export const usualNight = {
  joiner: 6,
  mover: 9,
  /** A leaving date in the past. */
  leaver: 4,
  /** Missing from the export, with no leaving date ever stated. */
  absentee: 1,
  /** A leaving date that lies ahead. */
  futureLeaver: 1,
  /** Left before, hired again. */
  returner: 1,
  /** Left before; HR now states another leaving date. */
  correction: 1,
  /** A row that no date can be read from. */
  brokenRow: 1,
} as const

/** What can happen to a person in one night. */
export type NightEvent = keyof typeof usualNight

/** The next export, and what changed in it. */
export type Night = {
  readonly people: readonly Person[]
  /** Whom each event happened to, by worker id. */
  readonly story: Readonly<Record<NightEvent, readonly string[]>>
}

const columns = {
  'Worker ID': ({ workerId }: Person) => workerId,
  'First Name': ({ firstName }: Person) => firstName,
  'Last Name': ({ lastName }: Person) => lastName,
  'Work Email': ({ email }: Person) => email,
  'Job Title': ({ jobTitle }: Person) => jobTitle,
  'Manager ID': ({ managerId }: Person) => managerId,
  'Manager Name': ({ managerName }: Person) => managerName,
  Contractor: ({ contractor }: Person) => (contractor ? 'yes' : 'no'),
  'Hire Date': ({ hireDate }: Person) => hireDate,
  'Termination Date': ({ terminationDate }: Person) => terminationDate,
} as const

const reportsPerManager = 8
const formerShare = 0.04
const impossibleDate = '2026-02-31'

type CompanyOptions = {
  readonly seed: number
  readonly size: number
  readonly today: string
}

/**
 * A company on an ordinary day: a tree of managers, some contractors, some people who have left lately. Equal arguments give equal
 * people. `size` is 50 or more, so that every event of a usual night finds somebody.
 */
export function company({ seed, size, today }: CompanyOptions): readonly Person[] {
  const random = randomFrom(seed)
  const people: Person[] = []
  for (let index = 0; index < size; index += 1) {
    const manager = people[Math.floor((index - 1) / reportsPerManager)]
    people.push(newPerson(index + 1, { random, manager, hireDate: daysFrom(today, -random(30, 4000)) }))
  }
  const former = new Set(shuffled(withoutReports(people), random).slice(0, Math.ceil(size * formerShare)))
  return people.map((person) =>
    former.has(person) ? { ...person, terminationDate: daysFrom(today, -random(10, 29)) } : person,
  )
}

type NightOptions = {
  readonly seed: number
  readonly today: string
  readonly counts?: Readonly<Record<NightEvent, number>>
}

/** The next export of the same company, and what happened to whom. No person has two events. */
export function nextNight(people: readonly Person[], { seed, today, counts = usualNight }: NightOptions): Night {
  const random = randomFrom(seed)
  const managers = withReports(people)
  const staff = shuffled(withoutReports(people), random)
  const employed = staff.filter(({ terminationDate }) => terminationDate === '')
  const former = staff.filter(({ terminationDate }) => terminationDate !== '')
  const mover = employed.splice(0, counts.mover)
  const leaver = employed.splice(0, counts.leaver)
  const absentee = employed.splice(0, counts.absentee)
  const futureLeaver = employed.splice(0, counts.futureLeaver)
  const brokenRow = employed.splice(0, counts.brokenRow)
  const returner = former.splice(0, counts.returner)
  const correction = former.splice(0, counts.correction)
  const nextNumber = people.reduce((highest, person) => Math.max(highest, numberOf(person)), 0) + 1
  const joiner = Array.from({ length: counts.joiner }, (_, index) =>
    newPerson(nextNumber + index, { random, manager: oneOf(managers, random), hireDate: today }),
  )

  const changed = new Map<Person, readonly Person[]>()
  for (const [index, person] of mover.entries())
    changed.set(person, [changeOneDetail(person, { index, managers, random })])
  for (const person of leaver) changed.set(person, [{ ...person, terminationDate: daysFrom(today, -random(1, 5)) }])
  for (const person of absentee) changed.set(person, [])
  for (const person of futureLeaver)
    changed.set(person, [{ ...person, terminationDate: daysFrom(today, random(20, 60)) }])
  for (const person of brokenRow) changed.set(person, [{ ...person, hireDate: impossibleDate }])
  for (const person of returner) changed.set(person, [{ ...person, terminationDate: '', hireDate: today }])
  for (const person of correction)
    changed.set(person, [{ ...person, terminationDate: daysFrom(person.terminationDate, -3) }])
  return {
    people: [...people.flatMap((person) => changed.get(person) ?? [person]), ...joiner],
    story: {
      joiner: idsOf(joiner),
      mover: idsOf(mover),
      leaver: idsOf(leaver),
      absentee: idsOf(absentee),
      futureLeaver: idsOf(futureLeaver),
      returner: idsOf(returner),
      correction: idsOf(correction),
      brokenRow: idsOf(brokenRow),
    },
  }
}

/** The export as a CSV file, with the columns that the generic preset knows. */
export function toCsv(people: readonly Person[]): string {
  const lines = people.map((person) => Object.values(columns).map((cell) => quoteCell(cell(person))))
  return [Object.keys(columns), ...lines].map((cells) => `${cells.join(',')}\n`).join('')
}

type Random = (from: number, to: number) => number

/** Whole numbers from a seed (mulberry32), both ends included. */
function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return (from, to) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return from + (((mixed ^ (mixed >>> 14)) >>> 0) % (to - from + 1))
  }
}

type NewPersonOptions = { readonly random: Random; readonly manager: Person | undefined; readonly hireDate: string }

function newPerson(number: number, { random, manager, hireDate }: NewPersonOptions): Person {
  const firstName = oneOf(givenNames, random)
  const lastName = oneOf(familyNames, random)
  return {
    workerId: `W${String(number).padStart(5, '0')}`,
    firstName,
    lastName,
    email: emailOf({ firstName, lastName, number }),
    jobTitle: oneOf(jobTitles, random),
    managerId: manager?.workerId ?? '',
    managerName: manager ? nameOf(manager) : '',
    contractor: random(1, 10) === 1,
    hireDate,
    terminationDate: '',
  }
}

type MoveOptions = { readonly index: number; readonly managers: readonly Person[]; readonly random: Random }

/** Changes one thing by turns: the job title, the manager, or the last name with the e-mail address. */
function changeOneDetail(person: Person, { index, managers, random }: MoveOptions): Person {
  if (index % 3 === 0) return { ...person, jobTitle: otherThan(person.jobTitle, jobTitles, random) }
  if (index % 3 === 1) {
    const others = managers.filter(({ workerId }) => workerId !== person.managerId)
    const manager = oneOf(others, random)
    return { ...person, managerId: manager.workerId, managerName: nameOf(manager) }
  }
  const lastName = otherThan(person.lastName, familyNames, random)
  return { ...person, lastName, email: emailOf({ firstName: person.firstName, lastName, number: numberOf(person) }) }
}

function otherThan(present: string, all: readonly string[], random: Random): string {
  return oneOf(
    all.filter((one) => one !== present),
    random,
  )
}

function withReports(people: readonly Person[]): readonly Person[] {
  const managers = new Set(people.map(({ managerId }) => managerId))
  return people.filter(({ workerId }) => managers.has(workerId))
}

function withoutReports(people: readonly Person[]): readonly Person[] {
  const managers = new Set(withReports(people))
  return people.filter((person) => !managers.has(person))
}

function nameOf({ firstName, lastName }: Person): string {
  return `${firstName} ${lastName}`
}

function numberOf({ workerId }: Person): number {
  return Number(workerId.slice(1))
}

type PersonName = Pick<Person, 'firstName' | 'lastName'> & { readonly number: number }

// The number keeps namesakes apart.
function emailOf({ firstName, lastName, number }: PersonName): string {
  return `${toAscii(firstName)}.${toAscii(lastName)}.${number}@example.com`
}

function toAscii(name: string): string {
  const spelled = name.replaceAll(/[øØ]/g, 'o').replaceAll(/[łŁ]/g, 'l').replaceAll('ß', 'ss').replaceAll('ı', 'i')
  return spelled
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '')
}

function idsOf(people: readonly Person[]): readonly string[] {
  return people.map(({ workerId }) => workerId)
}

function daysFrom(date: string, days: number): string {
  return Temporal.PlainDate.from(date).add({ days }).toString()
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = items.map((item) => ({ item, rank: random(0, 0xffffffff) }))
  return order.sort((a, b) => a.rank - b.rank).map(({ item }) => item)
}

function oneOf<T>(items: readonly T[], random: Random): T {
  const item = items[random(0, items.length - 1)]
  if (item === undefined) throw new RangeError('there is nobody to choose from: the company is too small')
  return item
}

function quoteCell(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
