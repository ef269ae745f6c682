import { z } from 'zod'
import type { Operation } from '../../../src/contract/operation.ts'
import { platformAreas, type platformOperations } from '../../../src/contract/platform/platform.ts'
import { exampleOf } from './example.ts'
import { fixtureOf } from './fixtures/areas.ts'
import { type Things, thing } from './fixtures/fixture.ts'
import { jsonSchemaOf } from './json-schema.ts'

export type OperationName = keyof typeof platformOperations

export type NamedOperation = { readonly name: OperationName; readonly operation: Operation }

/** The parts of a request, before they become text. */
export type Call = {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

export const isReading = ({ method }: Operation): boolean => method === 'GET'

/** Every operation of the platform's table. */
export const everyOperation: readonly NamedOperation[] = platformAreas.flatMap(({ operations }) =>
  Object.entries(operations).map(([name, operation]) => ({ name: name as OperationName, operation })),
)

/** Every operation that reads a list by pages. Operations that change a list may answer a page too, but are left out. */
export const everyList: readonly NamedOperation[] = everyOperation.filter(({ operation }) => {
  if (!isReading(operation)) return false
  const [answer] = Object.values(operation.success)
  return answer instanceof z.ZodObject && 'data' in answer.shape && 'pagination' in answer.shape
})

/** Every feature that an operation or one of its expansions requires. */
export const everyEntitlement: readonly string[] = [
  ...new Set(everyOperation.flatMap(({ operation }) => operation.entitlement ?? [])),
  'CUSTOM_FIELDS_AND_FORMULAS',
]

export const permissionsOf = ({ permission = [] }: Operation): readonly string[] => [permission].flat()

/** A call that succeeds in a company with these objects. Reading calls expand everything. */
export function validCall({ name, operation }: NamedOperation, things: Things): Call {
  return {
    params: paramsOf({ name, operation }, things),
    query: { ...(operation.query && expansionsOf(operation.query)) },
    ...(operation.body && { body: bodyOf({ name, operation, body: operation.body }, things) }),
  }
}

/** The beginning of the message about a valid call that was refused. */
export function suspicion({ name, operation }: NamedOperation): string {
  const isGuessed = operation.body !== undefined && fixtureOf(name).body === undefined
  return isGuessed ? `no fixture for the body of ${name}, and what its schema gives was refused: ` : ''
}

/** The status of a refusal of an id that does not exist for the caller. */
export function absentStatus({ errors, success, method }: Operation): number {
  if (errors.includes(404)) return 404
  if (method === 'DELETE' && 204 in success) return 204
  return 400
}

function paramsOf({ name, operation }: NamedOperation, things: Things): Things {
  const values = fixtureOf(name).params?.(things) ?? {}
  const names = Object.keys(operation.params?.shape ?? {})
  return Object.fromEntries(
    names.map((parameter) => {
      const value = values[parameter] ?? things[parameter]
      if (value === undefined) throw new Error(`no fixture for the path parameter ${parameter} of ${name}`)
      return [parameter, value]
    }),
  )
}

function bodyOf({ name, body }: NamedOperation & { body: z.ZodType }, things: Things): unknown {
  const fixture = fixtureOf(name).body?.(things)
  if (fixture !== undefined) return fixture
  const made = exampleOf(jsonSchemaOf(body), (field) =>
    things[field] !== undefined ? thing(things, field) : undefined,
  )
  const parsed = body.safeParse(made)
  if (parsed.success) return made
  throw new Error(`no fixture for the body of ${name}: what its schema gives is refused (${parsed.error.message})`)
}

function expansionsOf(query: z.ZodObject): Readonly<Record<string, unknown>> {
  const expand = jsonSchemaOf(query).properties?.['expand[]']
  return expand?.items?.enum ? { 'expand[]': expand.items.enum } : {}
}
