import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../helpers/connected.ts'
import { openWorkplace } from '../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('a hostile name arrives unchanged, or its person arrives without it and the reason is listed', async () => {
  const { key, client } = await host.tenant()
  const { baseUrl } = host.platform
  await using work = await openWorkplace({ baseUrl, key }, { hasStore: true })
  const source = {
    type: 'csv',
    path: 'exports/*.csv',
    mode: 'snapshot',
    complete: { quietSeconds: 0 },
    preset: 'generic',
  }
  const guards = { rejectedRows: { count: naughtyStrings.length } }
  await connect(work, { baseUrl, connections: { acme: { source, guards } } })
  const rows = naughtyStrings.map((name, index) => `K${index},"${name.replaceAll('"', '""')}"\r\n`)
  await work.drop('people.csv', `Worker ID,First Name\r\n${rows.join('')}`)

  const { exit, document: run } = await work.json<{ id: string; rows: number }>('sync')
  const { document } = await work.json<{ rejects: { identityId: string; column: string; reason: string }[] }>(
    'run',
    run.id,
  )

  const people = await peopleOn(client)
  const rejects = new Map(document.rejects.map((reject) => [reject.identityId, reject]))
  const arrived = naughtyStrings.map(
    (_, index) => rejects.get(`K${index}`)?.reason ?? people.get(`K${index}`)?.firstName,
  )
  const expected = naughtyStrings.map((name, index) => {
    const text = name.trim().normalize('NFC')
    const reject = rejects.get(`K${index}`)
    if (!reject) return text === '' ? null : text
    return /\p{Cc}/u.test(text) || [...text].length > 191 ? reject.reason : `${text} should have arrived`
  })
  expect({ exit, rows: run.rows }).toEqual({ exit: 0, rows: naughtyStrings.length })
  expect(arrived).toEqual(expected)
  expect(people.size).toBe(naughtyStrings.length)
  expect([...rejects.keys()].map((identityId) => people.get(identityId)?.firstName)).toEqual(
    document.rejects.map(() => null),
  )
  expect(new Set(document.rejects.map(({ column }) => column))).toEqual(new Set(['First Name']))
})
