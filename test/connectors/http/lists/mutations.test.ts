import { describe, expect, test } from 'vitest'
import { Failure } from '../../../../src/errors.ts'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { openHttp, recordsOf, startHrServer } from '../../../helpers/sources/hr-server.ts'
import {
  answerPages,
  type PageChange,
  type PagedPeople,
  type Paging,
  type PeoplePage,
  type Statements,
  settingsOf,
} from '../../../helpers/sources/paged-people.ts'

const pagings: readonly Paging[] = ['next', 'link', 'cursor', 'offset', 'startIndex', 'page']
const statements: readonly Statements[] = ['nothing', 'total', 'stated', 'more']

/** A change of the second page, or of its neighbours. */
function second(change: PageChange): PageChange {
  return (page, pageAt) => (page.number === 2 ? change(page, pageAt) : page)
}

function withTotal(page: PeoplePage, change: (total: number) => number | undefined): PeoplePage {
  const { total } = page.meta
  return typeof total === 'number' ? { ...page, meta: { ...page.meta, total: change(total) } } : page
}

/** Pages that a server, or something on the way, has damaged in the same way each time. */
const damages: Readonly<Record<string, PageChange>> = {
  'cut as text': second((page) => JSON.stringify(page).slice(0, 40)),
  'without its last record': second((page) => ({ ...page, records: page.records.slice(0, -1) })),
  'without its first record': second((page) => ({ ...page, records: page.records.slice(1) })),
  'a first page without its last record': (page) =>
    page.number === 1 ? { ...page, records: page.records.slice(0, -1) } : page,
  doubled: second((page) => ({ ...page, records: [...page.records, ...page.records] })),
  repeated: (page, pageAt) => (page.number === 3 ? { ...page, records: pageAt(2).records } : page),
  'the first one, repeated': second((page, pageAt) => ({ ...page, records: pageAt(1).records })),
  'in place of the next one': (page, pageAt) => {
    const other = page.number === 2 ? 3 : page.number === 3 ? 2 : page.number
    return { ...page, records: pageAt(other).records }
  },
  empty: second((page) => ({ ...page, records: [] })),
  'without content': second(() => null),
  'with a total that is too high': (page) => withTotal(page, (total) => total + 1),
  'with a total that is too low': (page) => withTotal(page, (total) => total - 1),
  'with a total of the page': (page) => withTotal(page, () => page.records.length),
  'with another total': second((page) => withTotal(page, (total) => total + 1)),
  'without a total': second((page) => withTotal(page, () => undefined)),
}

/** What happens to the list after its first page was read for the first time. */
const changes: Readonly<Record<string, (people: readonly string[]) => readonly string[]>> = {
  'a person removed who was read': (people) => people.slice(1),
  'a person removed who was not read': (people) => people.slice(0, -1),
  'a person removed at the end of the first page': (people) => people.toSpliced(2, 1),
  'a person added at the start': (people) => ['a', ...people],
  'a person added at the end': (people) => [...people, 'z'],
  'the first person moved to the end': ([first = '', ...others]) => [...others, first],
  'the last person moved to the start': (people) => [people.at(-1) ?? '', ...people.slice(0, -1)],
}

function peopleOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `p${String(index).padStart(4, '0')}`)
}

type Outcome = readonly string[] | 'refused'
type Answer = ReturnType<typeof answerPages>

/** Reads lists from one server: the people of each, or that it is refused as unreadable. */
async function openReader(paged: PagedPeople) {
  await using opening = new AsyncDisposableStack()
  let answer: Answer = answerPages(paged, () => [])
  const server = opening.use(await startHrServer((request, response) => answer(request, response)))
  const folder = opening.use(await temporaryFolder())
  const settings = { url: `${server.url}/people`, ...settingsOf(paged) }
  const opened = opening.move()
  return {
    read: async (people: () => readonly string[], change?: PageChange): Promise<Outcome> => {
      answer = answerPages(paged, people, change)
      try {
        const records = await recordsOf(await openHttp(settings, { folder: folder.path }))
        return records.map(({ id }) => id ?? '').toSorted()
      } catch (error) {
        if (error instanceof Failure && error.code === 'source_unreadable') return 'refused'
        throw error
      }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function isSame(outcome: Outcome, people: readonly string[]): boolean {
  return JSON.stringify(outcome) === JSON.stringify(people.toSorted())
}

/** The damages after which a part of the list was accepted, and how large it was. */
async function acceptedParts(paged: PagedPeople, people: readonly string[]): Promise<string[]> {
  await using reader = await openReader(paged)
  const accepted: string[] = []
  for (const [name, damage] of Object.entries(damages)) {
    const outcome = await reader.read(() => people, damage)
    if (outcome !== 'refused' && !isSame(outcome, people)) accepted.push(`${name}: ${outcome.length}`)
  }
  return accepted
}

/** The changes during a reading after which neither the former nor the new list was read. */
async function wrongLists(paged: PagedPeople, people: readonly string[]): Promise<string[]> {
  await using reader = await openReader(paged)
  const wrong: string[] = []
  for (const [name, change] of Object.entries(changes)) {
    const changed = change(people)
    let requests = 0
    const outcome = await reader.read(() => {
      requests += 1
      return requests === 1 ? people : changed
    })
    if (!isSame(outcome, people) && !isSame(outcome, changed)) wrong.push(`${name}: ${outcome.length}`)
  }
  return wrong
}

/** The paging and the statements of lists in the short form of the test. */
const largeCases: readonly (readonly [Paging, Statements])[] = [
  ['cursor', 'nothing'],
  ['offset', 'nothing'],
  ['page', 'total'],
]
/** One page without a stated number is as whole as the server says. */
const singleCases: readonly (readonly [Paging, Statements])[] = [
  ['single', 'total'],
  ['single', 'stated'],
]
const allCases = [...singleCases, ...pagings.flatMap((by) => statements.map((states) => [by, states] as const))]

describe.each([
  { count: 7, size: 3, cases: allCases, tags: [] },
  { count: 2500, size: 200, cases: largeCases, tags: [] },
  { count: 2500, size: 200, cases: allCases, tags: ['full'] },
])('$count people on pages of $size', ({ count, size, cases, tags }) => {
  const people = peopleOf(count)

  test.each(cases)('by %s that state %s are read whole', { tags }, async (by, states) => {
    await using reader = await openReader({ by, states, size })

    expect(await reader.read(() => people)).toEqual(people)
  })

  test.each(cases)('by %s that state %s are never accepted in part', { tags }, async (by, states) => {
    expect(await acceptedParts({ by, states, size }, people)).toEqual([])
  })

  test.each(cases)('by %s that state %s are read right while they change', { tags }, async (by, states) => {
    expect(await wrongLists({ by, states, size }, people)).toEqual([])
  })
})
