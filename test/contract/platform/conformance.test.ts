import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Operation } from '../../../src/contract/operation.ts'
import { platformAreas } from '../../../src/contract/platform/platform.ts'
import { openapi } from '../../../src/http/openapi.ts'
import { differences, factsOf } from './facts.ts'
import { intendedDifferences } from './intended-differences.ts'

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

if (existsSync(publishedFile)) {
  describe('the table against the published contract', () => {
    const published: Record<string, unknown> = JSON.parse(readFileSync(publishedFile, 'utf8'))
    const ours = openapi(platformAreas, { title: 'ours', version: '2', isLimited: true })
    const paths = [...new Set(operations.map(([, { path }]) => path.replace(/:(\w+)/g, '{$1}')))]
    const found = differences(factsOf(published, paths), factsOf(ours, paths))

    test('every difference is an intended one', () => {
      const unexplained = found.filter(
        (difference) => !intendedDifferences.some(({ matches }) => matches.test(difference)),
      )

      expect(unexplained).toEqual([])
    })

    test.each(intendedDifferences)('the difference $matches is still there', ({ matches }) => {
      const explained = found.filter((difference) => matches.test(difference))

      expect(explained).not.toEqual([])
    })
  })
} else {
  console.log('the published contract is not beside this checkout: the table was checked against itself only')
}
