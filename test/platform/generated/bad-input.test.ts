import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { platformPrefix } from '../../../src/contract/platform/platform.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { isFull } from '../../helpers/tier.ts'
import type { RawAnswer } from '../helpers/raw-requests.ts'
import { badAddresses } from './bad-addresses.ts'
import { badBodies } from './bad-bodies.ts'
import { badCallers } from './bad-callers.ts'
import { type Case, objection } from './bad-cases.ts'
import { badDocuments } from './bad-documents.ts'
import { badQueries } from './bad-queries.ts'
import { type Document, declaredStatuses, documentOf } from './document.ts'
import type { Fingerprint } from './fingerprint.ts'
import { everyOperation, type NamedOperation } from './operations.ts'
import { openWorld, type World } from './world.ts'

const kinds = [...badCallers, ...badAddresses, ...badQueries, ...badBodies, ...badDocuments]
/** Cases that reach the database, where engines can differ. The second engine gets a sample of them. */
const reachingDatabase = new Set([
  ...['ids of nothing', 'ids of another account', 'queries not storable or too long'],
  ...['numbers out of range', 'texts too long or not storable', 'free objects that cannot be stored'],
])
/** Every operation gets every step-th case of a kind, and the next operation the next one of each. */
const step = { PostgreSQL: isFull ? 1 : 8, PGlite: 3 }
const table = everyOperation.map((named, position) => ({
  operation: named.name,
  named,
  position,
  badKinds: kinds.filter(({ concerns }) => concerns(named.operation, named.name)),
}))

describe.each(databases)('bad requests are refused and change nothing on $name', ({ name: engine, createDatabase }) => {
  const entries = table
    .map(({ badKinds, ...entry }) => ({
      ...entry,
      badKinds: badKinds.filter(({ kind }) => engine === 'PostgreSQL' || reachingDatabase.has(kind)),
    }))
    .filter(({ badKinds }) => badKinds.length > 0)
  let world: World
  let document: Document

  beforeAll(async () => {
    world = await openWorld(createDatabase)
    document = await documentOf(world.opened.platform.baseUrl)
  })
  afterAll(async () => {
    await world[Symbol.asyncDispose]()
  })

  describe.each(entries)('$operation', ({ named, position, badKinds }) => {
    const requests = new Map<string, readonly Case[]>()
    let before: Fingerprint

    // Reading every table takes longer than most requests do.
    beforeAll(async () => {
      for (const { kind, cases } of badKinds) {
        const all = await cases(world, named)
        const ownStep = Math.min(step[engine], all.length)
        requests.set(
          kind,
          all.filter((_case, index) => index % ownStep === position % ownStep),
        )
      }
      before = await world.fingerprint()
    })

    test.each(badKinds)('$kind', async ({ kind, leadsElsewhere = false }) => {
      const sent = requests.get(kind) ?? []

      const answers = await Promise.all(sent.map(answerTo))
      const objections = answers.map(([one, answer]) => objection(one, answer))
      const undeclared = answers.filter(([one, answer]) => isUndeclared(named, one, answer))

      expect(sent.length).toBeGreaterThan(0)
      expect(objections.filter((one) => one !== null)).toEqual([])
      expect(leadsElsewhere ? [] : undeclared.map(([{ label }, { status }]) => `${label}: ${status}`)).toEqual([])
    })

    test('none of these requests has changed a row of any table', async () => {
      expect(await world.fingerprint()).toEqual(before)
    })
  })

  async function answerTo(one: Case): Promise<readonly [Case, RawAnswer]> {
    return [one, await world.http.ask(one.request)]
  }

  /** Whether a request that leads to its operation got an answer that the document does not have. */
  function isUndeclared({ operation }: NamedOperation, { request }: Case, { status }: RawAnswer): boolean {
    return isBelow(operation.path, request.path) && !declaredStatuses(document, operation).includes(status)
  }
})

/** Whether a path has as many parts after the prefix as the path of an operation. */
function isBelow(template: string, path: string): boolean {
  const parts = path.split('?', 1)[0]?.slice(platformPrefix.length).split('/') ?? []
  return parts.length === template.split('/').length && parts.slice(1).every((part) => part !== '')
}
