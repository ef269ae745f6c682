import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { isFull } from '../../helpers/tier.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'
import { openRawClient, type RawClient } from '../helpers/raw-requests.ts'
import { bodyWith } from './body-fields.ts'
import { fingerprints } from './fingerprint.ts'
import type { Company } from './fixtures/fixture.ts'
import { validCall } from './operations.ts'
import { nastyTexts, unstorableTexts } from './rubbish.ts'
import { fieldName, freeTexts, isAllowed, otherwiseOf, writersOfTexts } from './text-fields.ts'
import { roundTrip } from './text-round-trip.ts'
import { openCompany } from './world.ts'

const tooLong = ['x'.repeat(100_000), '\u{1f600}'.repeat(50_000)]
// Both engines store texts in the same way: one is tested with all texts, the other with a sample. In the small form
// every text is written by one of the writers.
const step = { PostgreSQL: isFull ? 1 : writersOfTexts.length, PGlite: 8 }
const writers = writersOfTexts.map((named, position) => ({ name: named.name, named, position }))

describe.each(databases)('texts that are nasty to computers, on $name', ({ name: engine, createDatabase }) => {
  const isSampled = (position: number) => (_one: unknown, index: number) =>
    index % step[engine] === position % step[engine]
  let opened: TestPlatform
  let http: RawClient
  let refusing: Company

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    http = openRawClient(opened.platform.baseUrl)
    refusing = await openCompany(opened)
  })
  afterAll(async () => {
    await http[Symbol.asyncDispose]()
    await opened[Symbol.asyncDispose]()
  })

  test.each(writers)('are read back from $name as they were written', async ({ named, position }) => {
    const sample = nastyTexts.filter(isSampled(position))
    const company = await openCompany(opened)
    const { body } = validCall(named, company.things)
    const fields = freeTexts(named, body)
    const demanding = fields.filter((field) => otherwiseOf(named, field) === undefined)
    const allowed = sample.filter((text) => demanding.every((field) => isAllowed(named, body, field, text)))

    const results = await roundTrip({ http, company, named }, fields, allowed)

    const sought = results.map(({ text }) => text).join('|')
    expect(allowed.filter((text) => !sought.includes(text))).toEqual([])
    expect(results.filter(({ text, values }) => values.some((value) => value !== text))).toEqual([])
    expect(allowed.length).toBeGreaterThan(sample.length / 2)
  })

  test.each(writers)('are refused by $name if they are invalid for it', async ({ named, position }) => {
    const call = validCall(named, refusing.things)
    const bodies = freeTexts(named, call.body).flatMap((field) =>
      [...nastyTexts, ...unstorableTexts, ...tooLong]
        .filter((text) => !isAllowed(named, call.body, field, text))
        .map((text) => ({ field: fieldName(field), text, body: bodyWith(call.body, field.path, text) })),
    )
    const fingerprint = await fingerprints(opened.platform.database.pool)
    const before = await fingerprint()

    const answers = await Promise.all(
      bodies.filter(isSampled(position)).map(async ({ field, text, body }) => {
        const answer = await http.ask({ ...http.requestOf(named, call, refusing.key), body })
        return { field, text: text.slice(0, 40), status: statusOf(answer) }
      }),
    )

    expect(bodies.length).toBeGreaterThan(unstorableTexts.length)
    expect(answers.length).toBeGreaterThan(0)
    expect(answers.filter(({ status }) => status !== 400)).toEqual([])
    expect(await fingerprint()).toEqual(before)
  })
})

/** The status of the answer, or of the only item that was sent. */
function statusOf({ status, body }: { status: number; body: unknown }): unknown {
  if (status !== 207 || !Array.isArray(body)) return status
  const [item]: { statusCode?: unknown }[] = body
  return item?.statusCode
}
