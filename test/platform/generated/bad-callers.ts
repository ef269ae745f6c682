import type { Operation } from '../../../src/contract/operation.ts'
import type { Badness, Case } from './bad-cases.ts'
import { isReading, type NamedOperation, permissionsOf, validCall } from './operations.ts'
import type { World } from './world.ts'

// Node accepts 16 KiB of headers. Slightly longer ones arrive in one piece, so that they can be answered before the connection ends.
const tooLongForHeaders = 20_000

/** Requests that would succeed from another caller. */
export const badCallers: readonly Badness[] = [
  {
    kind: 'no valid key',
    concerns: () => true,
    cases: (world, named) => [
      ...['unknown', 'expired', 'revoked'].map((key) =>
        by(world, named, `the ${key} key`, [401], `Bearer ${world.keys[key as 'unknown' | 'expired' | 'revoked']}`),
      ),
      by(world, named, 'no header', [401]),
      ...rubbish(world.mine.key).map((header) => by(world, named, 'a header of rubbish', [401], header)),
    ],
  },
  {
    kind: 'headers beyond every limit',
    concerns: () => true,
    cases: (world, named) => [
      by(world, named, 'a huge Authorization', [431], `Bearer ${'k'.repeat(tooLongForHeaders)}`),
      withHeader(world, named, 'x-rubbish', 'x'.repeat(tooLongForHeaders), [431]),
    ],
  },
  {
    kind: 'a missing permission',
    concerns: (operation) => permissionsOf(operation).length > 0,
    cases: (world, named) => [
      by(world, named, 'a key with all other permissions', [403], `Bearer ${world.keys.without(named)}`),
      ...(isReading(named.operation)
        ? []
        : [by(world, named, 'a key for reading', [403], `Bearer ${world.keys.readingOnly}`)]),
    ],
  },
  {
    kind: 'a missing entitlement',
    concerns: (operation: Operation) => operation.entitlement !== undefined,
    cases: (world, named) => [
      by(world, named, 'a plan with everything else', [402], `Bearer ${world.keys.notEntitled(named)}`),
    ],
  },
  {
    kind: 'open terms',
    concerns: () => true,
    cases: (world, named) => [by(world, named, 'terms not accepted', [412], `Bearer ${world.keys.early}`)],
  },
]

function rubbish(key: string): string[] {
  return [
    '',
    'Bearer',
    'Bearer ',
    key,
    `Basic ${key}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key}x`,
    `Bearer ${key.toUpperCase()}`,
    `Bearer "${key}"`,
    `Bearer ${key},`,
    'Bearer __proto__',
    'Bearer constructor',
    "Bearer ' or '1'='1",
    "Bearer '||pg_sleep(9)||'",
    'Bearer %00',
    'Bearer \u00ff\u00fe',
    `Bearer ${'k'.repeat(10_000)}`,
    `${'Bearer '.repeat(1000)}${key}`,
  ]
}

function by(world: World, named: NamedOperation, label: string, expected: readonly number[], header?: string): Case {
  const { authorization: _own, ...headers } = requestOf(world, named).headers
  return {
    label: label,
    request: {
      ...requestOf(world, named),
      headers: header === undefined ? headers : { ...headers, authorization: header },
    },
    expected,
  }
}

function withHeader(world: World, named: NamedOperation, name: string, value: string, expected: number[]): Case {
  const request = requestOf(world, named)
  return { label: `a huge ${name}`, request: { ...request, headers: { ...request.headers, [name]: value } }, expected }
}

function requestOf({ http, mine }: World, named: NamedOperation) {
  return http.requestOf(named, validCall(named, mine.things), mine.key)
}
