import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faults } from '../../helpers/faults/faults.ts'
import { openStory } from '../../helpers/faults/story.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { json, makeCertificates, startHrServer } from '../../helpers/sources/hr-server.ts'
import { firstOf } from '../../helpers/tier.ts'
import { type Host, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

describe('a first night, before the connection exists', () => {
  test.each(
    firstOf(3, [
      ['a reset', faults.resetAfter],
      ['JSON that is cut short', faults.truncated],
      ['a failure', faults.answer({ status: 500, forwarded: true })],
      ['a reset before it was applied', faults.resetBefore],
      ['half of a body', faults.half('length')],
      ['a page for people', faults.html({ status: 200, forwarded: true })],
      ['silence', faults.hang({ forwarded: true })],
    ]),
  )('its creation is answered with %s: it is created once', async (_name, fault) => {
    await using story = await openStory(host)
    story.useShortTimeout()
    story.proxy.fault(({ operation }) => (operation === 'createCustomConnection' ? fault : faults.pass))
    const run = await story.night()
    await story.heal()

    const ended = await story.end(run)

    expect(run.state).toBe('delivering')
    expect(ended.state).toBe('finished')
    expect(await story.findings()).toEqual([])
  })

  test.each(
    firstOf(3, [
      ['a page for people', faults.html({ status: 200 })],
      ['a refused key', faults.answer({ status: 401 })],
      ['nothing found', faults.answer({ status: 404 })],
      ['patience', faults.answer({ status: 429 })],
      ['a refusal', faults.answer({ status: 400 })],
      ['silence', faults.hang({ forwarded: false })],
    ]),
  )('every request is answered with %s: nothing is created, and everybody arrives afterwards', async (_name, fault) => {
    await using story = await openStory(host)
    story.useShortTimeout()
    story.proxy.fault(() => fault)
    const run = await story.night()
    const made = story.proxy.requests.filter(({ applied }) => applied !== null)
    await story.heal()

    const ended = await story.end(run)

    expect(run.state).toBe('delivering')
    expect(made).toEqual([])
    expect(ended.state).toBe('finished')
    expect(story.timesSent()).toEqual(Object.fromEntries([...story.hr.people.keys()].map((id) => [id, 1])))
    expect(await story.findings()).toEqual([])
  })
})

test.each(firstOf(1, ['refused', 'reset', 'silent']))(
  'every connection %s on the first night: everybody comes once it is over',
  async (line) => {
    await using story = await openStory(host)
    story.useShortTimeout()
    await story.proxy.line(line)
    const run = await story.night()
    await story.heal()

    const ended = await story.end(run)

    expect(run.state).toBe('delivering')
    expect(ended.state).toBe('finished')
    expect(await story.findings()).toEqual([])
  },
)

describe('the key goes to the configured address only', () => {
  test.each(firstOf(2, [301, 308, 302, 303, 307]))('whatever %i says', async (status) => {
    await using elsewhere = await startHrServer(json({ data: [], pagination: {} }))
    await using story = await openStory(host)
    story.proxy.fault(() => faults.redirect({ status, to: elsewhere.url }))

    const run = await story.night()

    expect(elsewhere.requests).toEqual([])
    expect(story.proxy.requests.map(({ fault }) => fault)).toEqual([`redirect ${status}`])
    expect((await story.batchesOf(run))[0]).toMatchObject({ last_code: 'redirected', state: 'due' })
  })

  test('and only after the server has proved its identity', async () => {
    await using folder = await temporaryFolder()
    const { server } = await makeCertificates(folder.path)
    await using stranger = await startHrServer(json({ data: [], pagination: {} }), server)
    await using story = await openStory(host)
    story.useAddress(stranger.url)

    const run = await story.night()

    expect(stranger.requests).toEqual([])
    expect((await story.batchesOf(run))[0]).toMatchObject({ last_code: 'tls_failed', state: 'due' })
  })
})

describe('a list that is read to verify', () => {
  test.each(
    firstOf(2, [
      ['is cut short', faults.truncated],
      ['fails', faults.answer({ status: 500 })],
      ['breaks off', faults.half('chunked')],
      ['is a page for people', faults.html({ status: 200 })],
    ]),
  )('%s: nobody counts as lost, and nothing is sent', async (_name, fault) => {
    await using story = await openStory(host)
    await story.night()
    story.proxy.forget()
    story.proxy.fault(({ operation }) => (operation === 'listHrisUserIdentities' ? fault : faults.pass))

    await story.night({ verify: true })

    expect(story.changes()).toEqual([])
    await story.heal()
    await story.advanceMinutes(61)
    expect(story.changes()).toEqual([])
    expect(await story.findings()).toEqual([])
  })
})
