import type { z } from 'zod'
import type { Operation } from '../../../src/contract/operation.ts'
import { parseParameter } from '../../../src/http/text.ts'
import { refusalOfUnknown } from '../../../src/platform/core/unimplemented.ts'
import type { Badness, Case } from './bad-cases.ts'
import { fixtureOf } from './fixtures/areas.ts'
import { alternativesOf, jsonSchemaOf } from './json-schema.ts'
import { absentStatus, everyOperation, type NamedOperation, validCall } from './operations.ts'
import { sqlFragments, wordsOfJavaScript } from './rubbish.ts'
import type { World } from './world.ts'

const wrongUuids = [
  'not-a-uuid',
  '00000000-0000-4000-8000-00000000000',
  '00000000-0000-4000-8000-0000000000000',
  '0000000g-0000-4000-8000-000000000000',
  '00000000000040008000000000000000',
  '{00000000-0000-4000-8000-000000000000}',
  'urn:uuid:00000000-0000-4000-8000-000000000000',
]
/** Texts that are either no id, or an unknown id. The parameter's own schema decides which. */
const unlikelyIds = [
  ...['0', '-1', '1.5', '1e3', '1e400', '-1e400', '0x10', '007', '+999', ' 999', '9'.repeat(20), '9007199254740993'],
  ...['NaN', 'Infinity', 'null', 'undefined', 'true', '[object Object]', 'abc', '٣', '..', '.', '*', '999,998', '[]'],
  ...['999999999', '2147483648', String(Number.MAX_SAFE_INTEGER), '00000000-0000-4000-8000-000000000000'],
  ...wrongUuids,
  ...wordsOfJavaScript,
  ...sqlFragments,
]
/** What follows a prefix such as `email:` in references by another key. */
const unlikelyKeys = ['', ' ', 'nobody', 'nobody@one.example', 'x'.repeat(3000), '%', '\u{1f600}', ...sqlFragments]
/** Segments that are not UTF-8, or that are no single segment once they are decoded. */
const rawSegments = [
  '%',
  '%zz',
  '%E0%A4%A',
  '%ff',
  '%C0%80',
  '%ED%A0%80',
  '%00',
  '1%00',
  '%2e%2e%2f',
  '..%2f..%2fetc',
  '',
]
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const tooLongForPath = 5000

/** Requests that are valid except that they name unknown objects. */
export const badAddresses: readonly Badness[] = [
  {
    kind: 'ids that cannot be',
    concerns: ({ params }) => params !== undefined,
    cases: (world, named) => idCases(world, named).filter(({ isMalformed }) => isMalformed),
  },
  {
    kind: 'ids of nothing',
    concerns: (operation, name) => without(operation, fixtureOf(name).chosen).length > 0,
    cases: (world, named) => idCases(world, named).filter(({ isMalformed }) => !isMalformed),
  },
  {
    kind: 'ids of another account',
    concerns: (operation, name) => ownIds({ operation, name }).length > 0,
    cases: foreignIds,
  },
  {
    kind: 'paths that are not text',
    concerns: ({ params }) => params !== undefined,
    cases: (world, named) =>
      [...rawSegments, 'x'.repeat(tooLongForPath)].flatMap((segment) =>
        names(named).map((name) =>
          withPath(world, named, `${name}: ${segment.slice(0, 20)}`, replaced(world, named, name, segment), [
            ...new Set([400, 404, absentStatus(named.operation)]),
          ]),
        ),
      ),
  },
  {
    kind: 'other methods',
    leadsElsewhere: true,
    concerns: () => true,
    cases: (world, named) =>
      methods
        .filter((method) => !isServed(method, named))
        .map((method) => {
          const { authorization = '' } = requestOf(world, named).headers
          const { path } = requestOf(world, named)
          // The contract has an operation for some of these that is not served.
          const expected = [refusalOfUnknown({ method, url: path })?.status ?? 405]
          return { label: method, request: { method, path, headers: { authorization } }, expected }
        }),
  },
]

function idCases(world: World, named: NamedOperation): (Case & { readonly isMalformed: boolean })[] {
  const { chosen = [] } = fixtureOf(named.name)
  return names(named).flatMap((name) => {
    const field: z.ZodType = named.operation.params?.shape[name]
    const prefix = prefixOf(field)
    const texts = [...unlikelyIds, ...(prefix ? unlikelyKeys.map((key) => `${prefix}${key}`) : [])]
    return texts.flatMap((text) => {
      const isMalformed = !field.safeParse(parseParameter(field, text)).success
      if (!isMalformed && chosen.includes(name)) return []
      const expected = [isMalformed ? 400 : absentStatus(named.operation)]
      const call = validCall(named, world.mine.things)
      const request = world.http.requestOf(named, { ...call, params: { ...call.params, [name]: text } }, world.mine.key)
      return [{ label: `${name} ${text.slice(0, 40)}`, request, expected, isMalformed }]
    })
  })
}

/** The prefix of a reference by another key, such as `email:`. */
function prefixOf(field: z.ZodType): string | undefined {
  const patterns = alternativesOf(jsonSchemaOf(field)).map(({ pattern = '' }) => /^\^([a-z-]+:)/.exec(pattern)?.[1])
  return patterns.find((prefix) => prefix !== undefined)
}

function foreignIds(world: World, named: NamedOperation): Case[] {
  const [own, foreign] = [validCall(named, world.mine.things), validCall(named, world.theirs.things)]
  const ids = ownIds(named)
  const same = ids.find((name) => own.params[name] === foreign.params[name])
  if (same !== undefined) throw new Error(`no fixture for ${named.name}: ${same} is the same in every account`)
  const swaps = [...ids.map((name) => [name]), ...(ids.length > 1 ? [ids] : [])]
  return swaps.map((swapped) => {
    const params = { ...own.params, ...Object.fromEntries(swapped.map((name) => [name, foreign.params[name]])) }
    const request = world.http.requestOf(named, { ...own, params }, world.mine.key)
    return { label: `their ${swapped.join(' and ')}`, request, expected: [absentStatus(named.operation)] }
  })
}

/** The path parameters that name things of one account. */
function ownIds({ operation, name }: { operation: Operation; name: string }): string[] {
  const { chosen = [], shared = [] } = fixtureOf(name)
  return without(operation, [...chosen, ...shared])
}

function without({ params }: Operation, kept: readonly string[] = []): string[] {
  return Object.keys(params?.shape ?? {}).filter((name) => !kept.includes(name))
}

function replaced(world: World, named: NamedOperation, name: string, segment: string): string {
  const marker = 'the-segment-to-replace'
  const call = validCall(named, world.mine.things)
  const { path } = world.http.requestOf(named, { ...call, params: { ...call.params, [name]: marker } }, world.mine.key)
  return path.replace(marker, segment)
}

function withPath(world: World, named: NamedOperation, label: string, path: string, expected: readonly number[]): Case {
  return { label: label, request: { ...requestOf(world, named), path }, expected }
}

/** Whether an operation of the table answers this method where `named` is; a parameter takes any segment. */
function isServed(method: string, { operation }: NamedOperation): boolean {
  return everyOperation.some(
    (other) => other.operation.method === method && takes(other.operation.path, operation.path),
  )
}

function takes(pattern: string, path: string): boolean {
  const [one, other] = [pattern.split('/'), path.split('/')]
  return one.length === other.length && one.every((part, index) => part.startsWith(':') || part === other[index])
}

function requestOf({ http, mine }: World, named: NamedOperation) {
  return http.requestOf(named, validCall(named, mine.things), mine.key)
}

function names({ operation }: NamedOperation): string[] {
  return Object.keys(operation.params?.shape ?? {})
}
