import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Operation } from '../../../src/contract/operation.ts'
import { platformAreas } from '../../../src/contract/platform/platform.ts'
import { unimplementedOperations } from '../../../src/contract/platform/unimplemented-operations.ts'
import { openapi } from '../../../src/http/openapi.ts'
import { differences, factsOf } from './facts.ts'
import { intendedDifferences } from './intended-differences.ts'
import { type Published, publishedFacts } from './published.ts'

const published: Published = JSON.parse(
  readFileSync(new URL('../../fixtures/published-contract.json', import.meta.url), 'utf8'),
)
const publishedFile = new URL('../../../../shared/contract/published-openapi-v2.json', import.meta.url)
const operations: readonly [string, Operation][] = platformAreas.flatMap((area) => Object.entries(area.operations))

describe.each(operations)('the operation %s', (_name, operation) => {
  test('declares exactly the parameters that its path names', () => {
    const named = [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => name)

    const declared = Object.keys(operation.params?.shape ?? {})

    expect(declared.sort()).toEqual(named.sort())
  })

  test('lists the refusals that its own declarations make possible', () => {
    const expected = [401, 403, 412, 500]
    if (operation.entitlement) expected.push(402)
    if (operation.params || operation.query || operation.method !== 'GET') expected.push(400)

    const missing = expected.filter((status) => !operation.errors.includes(status))

    expect(missing).toEqual([])
  })

  test('has a body only where the method carries one', () => {
    const carriesBody = operation.method === 'POST' || operation.method === 'PUT'

    expect(operation.body !== undefined).toBe(carriesBody)
  })
})

test('no two operations share a method and a path', () => {
  const addresses = operations.map(([, { method, path }]) => `${method} ${path.replace(/:\w+/g, ':')}`)

  expect(new Set(addresses).size).toBe(addresses.length)
})

describe('the table against the published contract', () => {
  const ours = openapi(platformAreas, { title: 'ours', version: '2', isLimited: true })
  const paths = [...new Set(operations.map(([, { path }]) => path.replace(/:(\w+)/g, '{$1}')))]
  const result = differences(factsOf(published, paths), factsOf(ours, paths))

  test('every difference is an intended one', () => {
    const unexplained = result.filter(
      (difference) => !intendedDifferences.some(({ matches }) => matches.test(difference)),
    )

    expect(unexplained).toEqual([])
  })

  test.each(intendedDifferences)('the difference $matches is still there', ({ matches }) => {
    const explained = result.filter((difference) => matches.test(difference))

    expect(explained).not.toEqual([])
  })

  test('every published operation is served or known as one that is not', () => {
    const named = Object.entries(published.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const served = new Set(operations.map(([, { method, path }]) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`))

    expect(Object.keys(unimplementedOperations).sort()).toEqual(named.filter((one) => !served.has(one)).sort())
  })

  test('the facts name their source, and hold no prose', () => {
    expect(published).toMatchObject({ stored: '2026-08', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(JSON.stringify(published)).not.toMatch(/"(?:description|summary|title|example|externalDocs)":"/)
  })
})

if (existsSync(publishedFile)) {
  test('the facts are those of the document beside this checkout', () => {
    expect(publishedFacts(readFileSync(publishedFile))).toEqual(published)
  })
}
