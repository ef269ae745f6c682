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
/** An operation gets every n-th case of a kind at most, and the next operation of that kind the next one of each. */
const maxSteps = { PostgreSQL: isFull ? 1 : 8, PGlite: 3 }
/** Each case is sent to this many operations at least, so a kind that concerns few of them keeps more of its cases. */
const minOperationsPerCase = 4
const operationsByKind = new Map(
  kinds.map(({ kind, concerns }) => [kind, everyOperation.filter(({ operation, name }) => concerns(operation, name))]),
)
const table = everyOperation.map((named) => ({
  operation: named.name,
  named,
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

  describe.each(entries)('$operation', ({ named, badKinds }) => {
    const requests = new Map<string, readonly Case[]>()
    let before: Fingerprint

    // Reading every table takes longer than most requests do.
    beforeAll(async () => {
      for (const { kind, cases } of badKinds) {
        requests.set(kind, sampleOf(await cases(world, named), { kind, named, maxStep: maxSteps[engine] }))
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

type Sampled = { readonly kind: string; readonly named: NamedOperation; readonly maxStep: number }

/** The cases of a kind that an operation gets. */
function sampleOf(cases: readonly Case[], { kind, named, maxStep }: Sampled): readonly Case[] {
  const operations = operationsByKind.get(kind) ?? []
  const step = Math.min(maxStep, Math.max(Math.floor(operations.length / minOperationsPerCase), 1), cases.length)
  const first = operations.indexOf(named) % step
  return cases.filter((_case, index) => index % step === first)
}

/** Whether a path has as many parts after the prefix as the path of an operation. */
function isBelow(template: string, path: string): boolean {
  const parts = path.split('?', 1)[0]?.slice(platformPrefix.length).split('/') ?? []
  return parts.length === template.split('/').length && parts.slice(1).every((part) => part !== '')
}
