import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { type Api, call } from './incremental-source.ts'

const hired = '2024-02-01T00:00:00.000Z'

type Edit = { readonly email: string } & Readonly<Record<string, string>>

/** Edits people one by one, as a command that reads a table of edits does, and returns what became of each line. */
async function editAll(api: Api, edits: readonly Edit[]): Promise<string[]> {
  const outcomes: string[] = []
  for (const { email, ...body } of edits) {
    try {
      const edited = await put(api, `/personnel/email:${encodeURIComponent(email)}`, body)
      outcomes.push(String(edited.employmentStatus))
    } catch (error) {
      outcomes.push(/answered with (\d+)/.exec(String(error))?.[1] ?? String(error))
    }
  }
  return outcomes
}

async function put(api: Api, path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const headers = { 'content-type': 'application/json' }
  return (await call(api, path, { method: 'PUT', headers, body: JSON.stringify(body) })) as Record<string, unknown>
}

describe.each(databases)('a command that edits people, on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('edits each person, reports those it cannot edit, and hands all back to HR', async () => {
    const { name, send, sync } = await newCompany(opened)
    const employee = (id: string) => ({
      identityId: id,
      email: `${id}@acme.example`,
      startedAt: hired,
      isContractor: false,
    })
    await send(['ana', 'bo', "cy+d'arc"].map(employee))
    await sync()
    const { key } = await opened.operator.createKey({ body: { account: name, name: 'edits', permissions: 'all' } })
    const api = { baseUrl: opened.platform.baseUrl, key }
    const statuses = async () => {
      const { data } = (await call(api, '/personnel?sort=createdAt')) as {
        data: { id: number; employmentStatus: string }[]
      }
      return { ids: data.map(({ id }) => id), statuses: data.map(({ employmentStatus }) => employmentStatus) }
    }

    const outcomes = await editAll(api, [
      { email: 'ana@acme.example', employmentStatus: 'CURRENT_CONTRACTOR' },
      { email: 'BO@acme.example', employmentStatus: 'OUT_OF_SCOPE', notHumanReason: 'a shared mailbox' },
      { email: "cy+d'arc@acme.example", separatedAt: '2025-12-31' },
      { email: "cy+d'arc@acme.example", employmentStatus: 'OUT_OF_SCOPE' },
      { email: 'nobody@acme.example', employmentStatus: 'CURRENT_EMPLOYEE' },
      { email: 'ana@acme.example', employmentStatus: 'RETIRED' },
      { email: 'ana@acme.example' },
    ])
    await sync()
    const afterSync = await statuses()
    const reset = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const body = JSON.stringify({ action: 'reset-sync', personnelIds: afterSync.ids })
    const answer = await call(api, '/personnel/actions', { ...reset, body })
    await sync()

    expect(outcomes).toEqual(['CURRENT_CONTRACTOR', 'OUT_OF_SCOPE', 'CURRENT_EMPLOYEE', '400', '404', '400', '400'])
    expect(afterSync.statuses).toEqual(['CURRENT_CONTRACTOR', 'OUT_OF_SCOPE', 'CURRENT_EMPLOYEE'])
    expect(answer).toEqual({ count: 3 })
    expect((await statuses()).statuses).toEqual(Array.from({ length: 3 }, () => 'CURRENT_EMPLOYEE'))
  })
})
