import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { openRawClient, type RawClient } from '../helpers/raw-requests.ts'
import { type Document, declaredStatuses, documentOf } from './document.ts'
import type { Company } from './fixtures/fixture.ts'
import { largeRequests, oddRequest } from './odd-requests.ts'
import { everyOperation, isReading, suspicion } from './operations.ts'
import { openCompany } from './world.ts'

describe.each(databases)('input that is odd and allowed, on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let http: RawClient
  let shared: Company
  let document: Document

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    http = openRawClient(opened.platform.baseUrl)
    shared = await openCompany(opened)
    document = await documentOf(opened.platform.baseUrl)
  })
  afterAll(async () => {
    await http[Symbol.asyncDispose]()
    await opened[Symbol.asyncDispose]()
  })

  test.each(everyOperation)('$name reads it', async (named) => {
    const company = isReading(named.operation) ? shared : await openCompany(opened)
    const request = oddRequest(http, company, named)

    const { status, text } = await http.ask(request)

    expect(
      Object.keys(named.operation.success).map(Number),
      `${suspicion(named)}${request.path} ${request.body} ${text}`,
    ).toContain(status)
  })

  test.each(everyOperation.filter(({ operation }) => operation.body))(
    '$name has a declared answer to the largest and the smallest numbers',
    async (named) => {
      const failures: string[] = []
      for (const request of largeRequests(http, shared, named)) {
        const { status, text } = await http.ask(request)
        if (status >= 500 || !declaredStatuses(document, named.operation).includes(status))
          failures.push(`${request.path} ${request.body} was answered with ${status} ${text}`)
      }

      expect(failures).toEqual([])
    },
  )
})
