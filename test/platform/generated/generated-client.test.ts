import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import { generateSource } from 'oazapfts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../../src/contract/operation.ts'
import { bothDatabases } from '../../helpers/servers/databases.ts'
import { isFull } from '../../helpers/tier.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { type Document, documentOf, strictReader } from './document.ts'
import type { Company } from './fixtures/fixture.ts'
import { everyOperation, isReading, type NamedOperation, suspicion, validCall } from './operations.ts'
import { openCompany } from './world.ts'

type Answer = { readonly status: number; readonly data: unknown }
type Generated = Readonly<Record<string, (...args: unknown[]) => Promise<Answer>>>
type Settings = { readonly defaults: { baseUrl: string } }

const packages = fileURLToPath(new URL('../../../node_modules', import.meta.url))

describe.each(bothDatabases)('a client generated from the document on $name', ({ name: engine, createDatabase }) => {
  // In the small form every operation is called on one engine: readings in turns, since they share a company.
  const called = everyOperation.filter(
    ({ operation }, position) => isFull || (engine === 'PGlite') === (isReading(operation) && position % 2 === 0),
  )
  let opened: TestPlatform
  let company: Company
  let document: Document
  let folder: string
  let generated: Generated

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    company = await openCompany(opened)
    document = await documentOf(opened.platform.baseUrl)
    folder = await mkdtemp(join(tmpdir(), 'generated-client-'))
    generated = await generate(document, folder, opened.platform.baseUrl)
  })
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true })
    await opened[Symbol.asyncDispose]()
  })

  test('is made of a valid document', async () => {
    const verdict = await new Validator().validate(structuredClone(document))

    expect(verdict).toEqual({ valid: true })
  })

  test.each(called)('calls $name, and reads its answer strictly', async (named) => {
    const { key, things } = isReading(named.operation) ? company : await openCompany(opened)
    const call = { ...validCall(named, things) }
    const operation = generated[named.name]
    if (!operation) throw new Error(`the generated client has no ${named.name}`)

    const { status, data } = await operation(...argumentsOf(operation, call), {
      headers: { authorization: `Bearer ${key}` },
    })

    expect(successesOf(named), `${suspicion(named)}${JSON.stringify(data)}`).toContain(status)
    expect(strictReader(document).complaints(named.operation, status, data)).toEqual([])
  })

  test.each(called.filter(({ operation }) => takesExpansions(operation)))(
    'sends every expansion of $name by itself',
    async (named) => {
      const call = validCall(named, company.things)
      const operation = generated[named.name]
      let requestedUrl = ''
      const answer = async (url: string) => {
        requestedUrl = url
        return Response.json({})
      }

      await operation?.(...argumentsOf(operation, call), { fetch: answer })

      expect(new URL(requestedUrl).searchParams.getAll('expand[]')).toEqual(call.query['expand[]'])
    },
  )
})

/** The client as TypeScript that Node runs directly. */
async function generate(document: Document, folder: string, baseUrl: string): Promise<Generated> {
  const [source, target] = [join(folder, 'openapi.json'), join(folder, 'client.mts')]
  await writeFile(source, JSON.stringify(document))
  await writeFile(target, await generateSource(source, { argumentStyle: 'object' }))
  await symlink(packages, join(folder, 'node_modules'))
  const client = createRequire(import.meta.url)(target) as Generated & Settings
  client.defaults.baseUrl = baseUrl
  return client
}

/** The arguments by the names that the generated function takes apart: parameters without brackets, and the body. */
function argumentsOf(operation: Generated[string], { params, query, body }: ReturnType<typeof validCall>): unknown[] {
  const names = /^function \w+\(\{([^}]*)\}/.exec(operation.toString())?.[1]
  if (names === undefined) return []
  const parameters = Object.entries({ ...params, ...query }).map(([name, value]) => [name.replace('[]', ''), value])
  const known: Readonly<Record<string, unknown>> = Object.fromEntries(parameters)
  const taken = names.split(',').map((name) => name.trim())
  const rest = taken.filter((name) => !(name in known))
  return [{ ...known, ...(body !== undefined && { [rest.at(-1) ?? 'body']: body }) }]
}

function takesExpansions({ query }: Operation): boolean {
  return query !== undefined && 'expand[]' in query.shape
}

// A batch answers 207 if some items were refused, which happens in none of these calls.
function successesOf({ operation }: NamedOperation): number[] {
  return Object.keys(operation.success)
    .map(Number)
    .filter((status) => status !== 207)
}
