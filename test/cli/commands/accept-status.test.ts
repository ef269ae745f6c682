import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../../helpers/installation.ts'
import { change, type Host, peopleOn, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

async function open() {
  const { key, client } = await host.tenant()
  return { client, at: await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true }) }
}

test('an unlisted status holds the plan until a person states its meaning', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(12))
  await at.run('sync')
  await at.writeExport(change(staff(12), { id: 'E0003', status: 'Exited' }, { id: 'E0004', status: 'Sabbatical' }))

  const held = await at.run('sync')
  const gone = await at.run('accept-status', 'exited', '--as', 'left', '--by', 'ana')
  const half = await at.run('sync')
  const employed = await at.json('accept-status', 'Sabbatical', '--as', 'employed', '--by', 'ana')
  const done = await at.run('sync')
  const listed = await at.run('accept-status')

  expect(held).toMatchObject({ exit: 65, stdout: expect.stringContaining('status "Exited" in 1 row (such as line 4)') })
  expect(gone).toMatchObject({ exit: 0, stdout: expect.stringContaining('status "exited" means left from now on') })
  expect(half).toMatchObject({ exit: 65, stdout: expect.not.stringContaining('Exited') })
  expect(employed).toMatchObject({
    exit: 0,
    document: { field: 'status', value: 'sabbatical', as: 'employed', by: 'ana' },
  })
  expect(done.exit).toBe(0)
  const people = await peopleOn(client)
  expect([people.get('E0003')?.separatedAt, people.get('E0004')?.separatedAt]).toEqual([expect.any(String), null])
  expect(listed.stdout).toMatch(/^"exited" +left +status +ana, .*\n"sabbatical" +employed +status +ana, /)
})

test('the last meaning given to a value applies', async () => {
  const { at } = await open()
  await using _installation = at
  await at.run('accept-status', 'Exited', '--as', 'employed')
  await at.run('accept-status', ' EXITED ', '--as', 'left')

  const { document } = await at.json<{ values: object[] }>('accept-status')

  expect(document.values).toMatchObject([{ value: 'exited', as: 'left' }])
})

test.each([
  [['Exited'], 'give a value and --as'],
  [['--as', 'left'], 'give a value and --as'],
  [['Exited', '--as', 'gone'], 'Allowed choices are employed, left, contractor, employee'],
  [['Extern', '--as', 'contractor'], 'maps no column to isContractor'],
])('invalid arguments are refused: %j', async (args, sentence) => {
  const { at } = await open()
  await using _installation = at

  const { exit, stderr } = await at.run('accept-status', ...args)

  expect(exit).toBe(2)
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain(sentence)
})
