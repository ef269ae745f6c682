import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { csvOf } from '../helpers/hr-systems/csv.ts'
import { type Fault, isNoticeable } from '../helpers/hr-systems/faults.ts'
import { inventRoster } from '../helpers/hr-systems/roster.ts'
import { requireSystem } from '../helpers/hr-systems/systems.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { type Certificates, type HttpSettings, makeCertificates, openHttp } from '../helpers/sources/hr-server.ts'
import { isFull } from '../helpers/tier.ts'
import { type OpenedSystem, openSystem } from './opened-system.ts'

import { type MappedPerson, mapCsv, mappingOf, mapReading } from './roster-of.ts'
import { readRecipeFile, systemConnections } from './systems.ts'

const opened = new AsyncDisposableStack()
let certificates: Certificates

beforeAll(async () => {
  const { path } = opened.use(await temporaryFolder())
  certificates = await makeCertificates(path)
})

afterAll(() => opened.disposeAsync())

/** The pages of the small form hold so few records that few people fill several of them. */
const smallPageSize = 20
/** Recipes of systems that decide alone how large a page is. */
const fixedPages: ReadonlySet<string> = new Set(['successfactors-api'])
const faultyPages = isFull ? [1, 2] : [2]
const lasting: readonly Fault[] = faultyPages.flatMap((page): Fault[] => [
  { kind: 'textCut', page },
  { kind: 'recordsCut', page },
  { kind: 'pageDoubled', page },
  { kind: 'pageRepeated', page },
  { kind: 'pageEmpty', page },
  { kind: 'totalOff', by: 1, page },
  { kind: 'totalOff', by: -1, page },
  { kind: 'totalMissing', page },
  { kind: 'html', page },
  { kind: 'loginPage', page },
  { kind: 'unauthorized', page },
  { kind: 'status', status: 500, page },
])
const passing: readonly Fault[] = [1, ...(isFull ? [2] : [])].flatMap((page): Fault[] => [
  { kind: 'pagesSwapped', page },
  { kind: 'recordsCut', page, times: 1 },
  { kind: 'personAdded', page, times: 1 },
  { kind: 'personMoved', page, times: 1 },
  { kind: 'tooManyRequests', wait: 'seconds', seconds: 0, page, times: 1 },
])
/** The people of later pages move up, so that the first one of the page would be missing. */
const removed: Fault = { kind: 'personRemoved', page: 2, times: 1 }

/** In the small form every recipe is tried with every third fault, the next recipe with the next ones, and with one of the sizes. */
const step = isFull ? 1 : 3
const sizes = isFull ? [7, 2500] : [7, 130]
const connections = systemConnections.map(({ name, recipe }, position) => ({ name, recipe, position }))

describe.each(connections)('the recipe of $name', ({ name, recipe, position }) => {
  const system = requireSystem(recipe)
  const pageSize = isFull ? undefined : smallPageSize
  const pageCount = system.maxPageSize === null ? 1 : 3
  const isSmall = !isFull && !fixedPages.has(recipe)
  const size = Math.floor((isSmall ? smallPageSize : (system.maxPageSize ?? smallPageSize)) * 2.5)
  const lasts = lasting.filter((fault) => fault.page <= pageCount && isNoticeable(fault, system, pageCount))

  const faults = [...lasts, ...[...passing, removed].filter(({ page }) => page < pageCount)]
  const tried = faults.filter((_fault, index) => index % step === position % step)

  const ownSizes = sizes.filter((_size, index) => isFull || index === position % 2)

  test.each(ownSizes)('reads %i people as the CSV of the same people has them', async (people) => {
    await using server = await openSystem(name, { people, certificates, pageSize })

    const read = await readPeople(server, recipe)

    expect(read).toEqual(await peopleOfCsv(recipe, people))
  })

  test('never takes a part for the whole', async () => {
    const everybody = inventRoster(size).map(system.keyOf)

    for (const fault of tried) {
      await using server = await openSystem(name, { people: size, certificates, pageSize, faults: [fault] })
      const keys = await readPeople(server, recipe).then(
        (people) => new Set(people.map(({ identityId }) => String(identityId))),
        ({ code }) => code,
      )
      const present = fault === removed ? everybody.slice(1) : everybody
      const isRefused = keys === 'source_unreadable' || keys === 'source_unreachable'
      expect([fault, isRefused || present.every((key) => keys.has(key))]).toEqual([fault, true])
    }
  })
})

test.each(systemConnections)(
  'the recipe $recipe takes no key twice for a change if people may have several rows',
  async ({ recipe }) => {
    const { source, traps } = z
      .looseObject({ source: Source, traps: z.array(Trap) })
      .parse(await readRecipeFile(recipe))

    const hasSeveralRows = traps.some(({ check }) => check === 'several-rows')

    expect(hasSeveralRows && source.pages?.key !== undefined).toBe(false)
  },
)

const Source = z.looseObject({ pages: z.looseObject({ key: z.string().optional() }).optional() })
const Trap = z.looseObject({ check: z.string() })

async function readPeople({ settings, secrets }: OpenedSystem, recipe: string): Promise<readonly MappedPerson[]> {
  await using folder = await temporaryFolder()
  const { type: _, ...http } = settings
  const reading = await openHttp(http as HttpSettings, { folder: folder.path, secrets })
  try {
    return await mapReading(reading, mappingOf(await readRecipeFile(recipe)))
  } finally {
    await reading.close?.()
  }
}

async function peopleOfCsv(recipe: string, people: number): Promise<readonly MappedPerson[]> {
  await using folder = await temporaryFolder()
  const generic = parse(await readFile(new URL('../../config/presets/generic.yaml', import.meta.url), 'utf8'))
  const { statusMeans = generic.statusMeans } = await readRecipeFile(recipe)
  return await mapCsv(csvOf(requireSystem(recipe), people), mappingOf({ ...generic, statusMeans }), folder.path)
}
