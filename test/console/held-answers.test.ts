import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { change, type Host, openWorld, peopleOn, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: 'Email',
    firstName: 'First Name',
    separatedAt: { column: 'Leaving Date' },
  },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
})
const company = staff(12)

/** A company whose second export is held, and people who look at it. */
async function openHeld(second: typeof company) {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client, feed: { mapping } }))
  await world.night(company, { asOf: '2026-11-19T01:00:00.000Z' })
  const held = await world.night(second, { asOf: '2026-11-20T01:00:00.000Z' })
  const console = opening.use(await openConsole(world))
  const [ana, vera] = ['ana.approver', 'vera.viewer'].map((who) => createVisitor(console.url, who))
  if (!ana || !vera) throw new Error('no one is there')
  const at = `/runs/${held.id}`
  const answer = (path: string, fields: Readonly<Record<string, string>>) =>
    ana.post(`${at}/${path}`, { token: 'token of ana', ...fields })
  const approve = async () => {
    const { location } = await answer('approval', { digest: held.digest ?? '' })
    await world.drain()
    return await world.runOf(location?.split('/').at(-1) ?? '')
  }
  const acts = async () =>
    (await world.sync.store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute())
      .map(({ entry }) => JSON.parse(entry) as { act: string; by: string; details: unknown })
      .filter(({ act }) => act.startsWith('keys.') || act.startsWith('value.'))
  const opened = opening.move()
  return {
    ...{ world, client, held, ana, vera, at, answer, approve, acts },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const shown = (text: string) => text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')

describe('keys that HR has issued again', () => {
  const reissued = company.map((person, at) => (at < 3 ? { ...person, id: `N<${at + 1}>` } : person))

  test('are answered one by one, the answer is taken back, and then for all; the plan is made again', async () => {
    await using opened = await openHeld(reissued)
    const { client, ana, vera, at, answer, approve, acts } = opened
    const pair = { former: 'E0001', key: 'N<1>' }

    const before = await ana.get(`${at}/decision`)
    const question = await ana.get(`${at}/keys/answer?former=E0001&key=N%3C1%3E`)
    const unsaid = await answer('keys/answer', pair)
    const one = await answer('keys/answer', { ...pair, answer: 'two' })
    const resultPage = await ana.get(one.location ?? '')
    const withdrawn = await answer('keys/withdrawal', pair)
    const again = await ana.get(withdrawn.location ?? '')
    const viewers = [await vera.get(`${at}/decision`), await vera.get(`${at}/keys`)]
    const all = await answer('keys', { answer: 'one' })
    const after = await ana.get(all.location ?? '')
    const run = await approve()

    expect(before.text.match(/Answer for E000\d and N&lt;\d&gt;/g)).toHaveLength(3)
    expect(shown(question.text)).toContain(
      'E0001 is missing from the source, and N&lt;1&gt; is new in it. Both have the',
    )
    expect(shown(question.text)).toContain('The answer sends nothing, and later runs use it too.')
    expect([unsaid.status, unsaid.text.includes('Choose one person or two people.')]).toEqual([400, true])
    expect(shown(resultPage.text)).toContain(
      'E0001 and N&lt;1&gt; are two people. After an approval, Rollcall plans again.',
    )
    expect(shown(resultPage.text)).toContain('two people ana')
    expect(shown(again.text)).toContain('There is no longer an answer about E0001 and N&lt;1&gt;.')
    expect(viewers.map(({ status }) => status)).toEqual([200, 403])
    expect(viewers[0]?.text).toContain('only an operator can do this, and you are signed in as a viewer')
    expect(shown(after.text)).toContain('3 pairs are answered. After an approval, Rollcall plans again.')
    expect(shown(after.text)).toContain('Every pair is answered.')
    expect([run.state, run.counts]).toMatchObject(['unchanged', { join: 0, leave: 0 }])
    expect([...(await peopleOn(client)).keys()]).not.toContain('N<1>')
    expect((await acts()).map(({ act, by }) => [act, by])).toEqual(
      ['keys.answered', 'keys.withdrawn', 'keys.answered'].map((act) => [act, 'ana']),
    )
  })
})

test('keys that no run paired because the address changed too can be answered as well', async () => {
  const moved = company.map((person, at) =>
    at < 6 ? { ...person, id: `N${at}`, email: `n${at}@acme.example`, first: `New ${at}` } : person,
  )
  await using opened = await openHeld(moved)
  const { ana, answer } = opened

  const page = await ana.get(`${opened.at}/decision`)
  const question = await ana.get(`${opened.at}/keys/answer`)
  const blank = await answer('keys/answer', { former: 'E0001', answer: 'one' })
  const one = await answer('keys/answer', { former: 'E0001', key: 'N0', answer: 'one' })
  const resultPage = await ana.get(one.location ?? '')

  expect(shown(page.text)).toContain('No two keys look like one person.')
  expect(question.text.match(/<input id="(?:former|key)"/g)).toHaveLength(2)
  expect([blank.status, blank.text.includes('value="E0001"')]).toEqual([400, true])
  expect(shown(resultPage.text)).toContain(
    'N0 is now the key of the person E0001. After an approval, Rollcall plans again.',
  )
})

describe('values that no list holds', () => {
  const second = change(company, { id: 'E0002', status: 'On <Leave>' }, { id: 'E0003', status: 'Dormant' })

  test('get a meaning each; the plan is made again and follows them', async () => {
    await using opened = await openHeld(second)
    const { client, ana, vera, at, answer, approve, acts } = opened

    const before = await ana.get(`${at}/decision`)
    const question = await ana.get(`${at}/values?field=status&value=Dormant`)
    const free = await ana.get(`${at}/values`)
    const unsaid = await answer('values', { value: 'Dormant' })
    const answered = await answer('values', { value: 'Dormant', field: 'status', as: 'left' })
    const resultPage = await ana.get(answered.location ?? '')
    await answer('values', { value: 'On <Leave>', as: 'employed' })
    const after = await ana.get(`${at}/decision`)
    const refused = await vera.post(`${at}/values`, { token: 'token of vera', value: 'Dormant', as: 'employed' })
    const run = await approve()

    expect(shown(before.text)).toContain('“On &lt;Leave&gt;” Status')
    expect(shown(question.text)).toContain('What does “Dormant” mean?')
    expect(question.text.match(/type="radio"/g)).toHaveLength(2)
    expect([free.text.match(/type="radio"/g)?.length, free.text.includes('name="value" type="text"')]).toEqual([
      4,
      true,
    ])
    expect([unsaid.status, unsaid.text.includes('Choose what the value means.')]).toEqual([400, true])
    expect(shown(resultPage.text)).toContain(
      'From now on, a person with “dormant” has left. After an approval, Rollcall plans again.',
    )
    expect(shown(resultPage.text)).toMatch(/After an approval, Rollcall plans again\./)
    expect(shown(after.text)).toContain('Every value of this plan has a meaning now.')
    expect(refused.status).toBe(403)
    expect(run.counts).toMatchObject({ leave: 1, join: 0 })
    const people = await peopleOn(client)
    expect(people.get('E0003')?.separatedAt).not.toBeNull()
    expect(people.get('E0002')?.separatedAt).toBeNull()
    expect(await acts()).toMatchObject([
      { act: 'value.classed', by: 'ana', details: { value: 'dormant', meaning: 'left' } },
      { act: 'value.classed', by: 'ana', details: { value: 'on <leave>', meaning: 'employed' } },
    ])
  })

  test('cannot be answered once another person has decided', async () => {
    await using opened = await openHeld(second)
    const { answer, at, ana } = opened
    await answer('rejection', {})

    const late = await answer('values', { value: 'Dormant', as: 'left' })
    const page = await ana.get(`${at}/values?value=Dormant`)

    expect([late.status, page.status]).toEqual([409, 409])
    expect(page.text).toContain('This run is no longer held: it is rejected, decided by ana.')
  })
})
