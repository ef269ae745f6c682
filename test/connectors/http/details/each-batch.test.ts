import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { detailFailure, readDetails, type SettingsFor } from '../../../helpers/sources/hr-details.ts'
import {
  type Answer,
  type HttpSettings,
  json,
  openHttp,
  recordsOf,
  startHrServer,
} from '../../../helpers/sources/hr-server.ts'
import { testClock } from '../../../helpers/sources/test-clock.ts'

type Item = { readonly id: string; readonly code: number; readonly body: object | null }
type Items = readonly Item[]

const maxIds = 5

function individual(id: string): Item {
  return { id, code: 200, body: { first_name: `Name ${id}` } }
}

/** A directory, and a second address that answers lists of IDs as Finch does. `change` replaces its answers. */
function directory(keys: readonly string[], change: (items: Items) => unknown = (items) => items) {
  const batches: string[][] = []
  const answer: Answer = async (request, response) => {
    if (request.url === '/directory') return json({ individuals: keys.map((id) => ({ id })) })(request, response)
    const { requests } = JSON.parse(Buffer.concat(await request.toArray()).toString())
    const wanted = requests.map(({ individual_id }: { individual_id: string }) => individual_id)
    batches.push(wanted)
    if (wanted.length > maxIds) return response.writeHead(413).end()
    const changed = change(wanted.map(individual))
    const responses = Array.isArray(changed) ? { responses: changed } : changed
    return json(responses)(request, response)
  }
  return { answer, batches }
}

function batched(size: number, settings: HttpSettings = {}): SettingsFor {
  return (url) => ({
    ...{ url: `${url}/directory`, records: '/individuals' },
    each: [
      {
        ...{ url: `${url}/individual`, method: 'POST', as: 'individual', records: '/body' },
        body: { requests: [{ individual_id: '{id}' }], options: { key: 'open' } },
        batch: { size, list: '/requests', answers: '/responses', on: '/id', with: 'id' },
        ok: { at: '/code', is: '200' },
      },
    ],
    ...settings,
  })
}

const ids = Array.from({ length: 23 }, (_, index) => `P${index + 1}`)

describe('a request for several records', () => {
  test('asks about each of them once, and keeps the order of the list, whatever the order of the answers', async () => {
    const { answer, batches } = directory(ids, (items) => items.toReversed())

    const { records, reading } = await readDetails(answer, batched(5))

    expect(records).toEqual(ids.map((id) => ({ id, 'individual.first_name': `Name ${id}` })))
    expect(batches.map(({ length }) => length)).toEqual([5, 5, 5, 5, 3])
    expect(batches.flat().toSorted()).toEqual(ids.toSorted())
    expect(reading.source?.end).toMatch(/; individual of \S+\/individual: 5 answers, each of them whole$/)
  })

  test('holds the rest of the body, with its secrets', async () => {
    const bodies: unknown[] = []
    const { answer } = directory(ids.slice(0, 2))
    const secrets = { 'each.0.body.options.key': 'secret of {id}' }
    const watched: Answer = async (request, response) => {
      const toArray = request.toArray.bind(request)
      request.toArray = async () => {
        const chunks = await toArray()
        bodies.push(JSON.parse(Buffer.concat(chunks).toString()))
        return chunks
      }
      return answer(request, response)
    }

    await readDetails(watched, batched(5), { secrets })

    const requests = [{ individual_id: 'P1' }, { individual_id: 'P2' }]
    expect(bodies).toEqual([{ requests, options: { key: 'secret of {id}' } }])
  })

  test('asks once about a key that several records of a batch have, and never about a blank one', async () => {
    const { answer, batches } = directory(['P1', '', 'P1', 'P2'])

    const { records } = await readDetails(answer, batched(5, { missingDetails: 'cell' }))

    expect(batches).toEqual([['P1', 'P2']])
    expect(records.map((record) => record['individual.first_name'])).toEqual([
      ...['Name P1', undefined, 'Name P1', 'Name P2'],
    ])
  })

  test('beside one for each record keeps four of those at the same time, so that a rate limit can stop the others', async () => {
    const { answer } = directory(ids, (items) => items)
    const clock = testClock()
    const waiting = { now: 0, max: 0 }
    const wait: typeof clock.wait = async (ms, signal) => {
      waiting.now += 1
      waiting.max = Math.max(waiting.max, waiting.now)
      await clock.wait(ms, signal)
      waiting.now -= 1
    }
    await using folder = await temporaryFolder()
    await using server = await startHrServer((request, response) =>
      (request.url?.startsWith('/jobs/') ? json({ title: request.url }) : answer)(request, response),
    )
    const { each = [], ...settings } = batched(maxIds, { requestsPerMinute: 60 })(server.url)
    const job = { url: `${server.url}/jobs/{id}`, as: 'job' }

    const reading = await openHttp(
      { ...settings, each: [...each, job] },
      { folder: folder.path, clock: { ...clock, wait } },
    )

    const records = await recordsOf(reading)
    expect(records.map((record) => record['job.title'])).toEqual(ids.map((id) => `/jobs/${id}`))
    expect(waiting.max).toBeLessThanOrEqual(4)
  })

  test('sends nothing for a batch whose keys are all blank', async () => {
    const { answer, batches } = directory(['', ''])

    const failure = await detailFailure(answer, batched(5))

    expect(batches).toEqual([])
    expect(failure).toMatchObject({
      message: expect.stringMatching(/record 1 has no individual: it has nothing in id/),
    })
  })
})

function isSecond(items: Items): boolean {
  return items.some(({ id }) => id === 'P6')
}

const faults: readonly (readonly [string, (items: Items) => unknown, RegExp])[] = [
  ['lacks an ID', (items) => items.slice(1), /for directory page 1 record 6 and 4 more: 1 record of 5 got no answer/],
  ['lacks all IDs', () => [], /5 records of 5 got no answer/],
  ['has an ID twice', (items) => [...items, items[0]], /two answers are about the same record/],
  ['has an ID twice and lacks another', (items) => [...items.slice(1), items[1]], /two answers are about the same/],
  ['has a foreign ID', (items) => [...items, individual('X1')], /an answer is about a record that was not asked for/],
  ['has a foreign ID in place of another', (items) => [...items.slice(1), individual('P1')], /not asked for/],
  ['has an answer without an ID', (items) => [...items.slice(1), { code: 200 }], /an answer has no key at \/id/],
  ['has no list', () => ({ responses: null }), /expected a list of answers at \/responses/],
  ['states that there is more', (items) => ({ responses: items, has_more: true }), /says that there is more/],
  ['states a larger total', (items) => ({ responses: items, total: 6 }), /total counts 6 records, and 5 were read/],
]

describe('an answer to several records that', () => {
  test.each(faults)('%s is refused, without a word of its people', async (_case, change, message) => {
    const { answer } = directory(ids, (items) => (isSecond(items) ? change(items) : items))

    const failure = await detailFailure(answer, batched(5))

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(message) })
    expect(String(failure)).not.toMatch(/\b[PX]\d/)
  })

  test('reports an error about one record refuses the list, or makes the cells of this record unknown', async () => {
    const error = { id: 'P7', code: 404, body: { message: 'not found' } }
    const change = (items: Items) => items.map((item) => (item.id === 'P7' ? error : item))

    const failure = await detailFailure(directory(ids, change).answer, batched(5))
    const { rows, warnings } = await readDetails(directory(ids, change).answer, batched(5, { missingDetails: 'cell' }))

    expect(failure).toMatchObject({ message: expect.stringMatching(/record 7: \/code is not 200/) })
    expect(rows.flatMap(({ missingDetails }, index) => (missingDetails ? [index] : []))).toEqual([6])
    expect(warnings.join()).toMatch(/individual: it could not be read for 1 of 23 records/)
  })

  test('does not come, because fewer records may be asked for at once, is refused', async () => {
    const failure = await detailFailure(directory(ids).answer, batched(6))

    expect(failure).toMatchObject({ message: expect.stringMatching(/record 1 and 5 more .*\(status 413\)/) })
  })

  test('lacks an ID makes the cells of its whole batch unknown, with missingDetails: cell', async () => {
    const { answer } = directory(ids, (items) => (isSecond(items) ? items.slice(1) : items))

    const { rows } = await readDetails(answer, batched(5, { missingDetails: 'cell' }))

    expect(rows.filter(({ missingDetails }) => missingDetails)).toHaveLength(5)
  })
})
