import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { badAddresses } from './bad-addresses.ts'
import { badBodies } from './bad-bodies.ts'
import { badCallers } from './bad-callers.ts'
import { type Case, objection } from './bad-cases.ts'
import { badDocuments } from './bad-documents.ts'
import { badQueries } from './bad-queries.ts'
import { everyOperation } from './operations.ts'
import { openWorld, type World } from './world.ts'

const kinds = [...badCallers, ...badAddresses, ...badQueries, ...badBodies, ...badDocuments]
/** What reaches the database; the rest never gets to where engines differ. The second engine is asked a sample of it. */
const reaching = new Set([
  ...['ids of nothing', 'ids of another account', 'queries not storable or too long'],
  ...['numbers out of range', 'texts too long or not storable', 'free objects that cannot be stored'],
])
const step = { PostgreSQL: 1, PGlite: 3 }
const table = everyOperation.flatMap((named) =>
  kinds
    .filter(({ concerns }) => concerns(named.operation, named.name))
    .map(({ kind, cases }) => ({ operation: named.name, kind, named, cases })),
)

describe.each(databases)('whatever is bad is refused and changes nothing on $name', ({ name: engine, place }) => {
  const entries = engine === 'PostgreSQL' ? table : table.filter(({ kind }) => reaching.has(kind))
  let world: World

  beforeAll(async () => {
    world = await openWorld(place)
  })
  afterAll(async () => {
    await world[Symbol.asyncDispose]()
  })

  test.each(entries)('$operation: $kind', async ({ named, cases }) => {
    const requests = (await cases(world, named)).filter((_case, index) => index % step[engine] === 0)
    const before = await world.fingerprint()

    const objections = await Promise.all(requests.map(objectionTo))

    expect(requests.length).toBeGreaterThan(0)
    expect(objections.filter((one) => one !== null)).toEqual([])
    expect(await world.fingerprint()).toEqual(before)
  })

  async function objectionTo(one: Case): Promise<string | null> {
    return objection(one, await world.http.ask(one.request))
  }
})
