import { afterAll, beforeAll, expect, test } from 'vitest'
import { worldMapping } from '../helpers/connected.ts'
import { csvOf, openSourceWorkplace } from '../helpers/sources/source-workplace.ts'
import { type Host, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const everybody = csvOf(staff(20))
const withoutStatus = everybody.replace('Status', 'State')
const reason = 'column "Status" (status) is not in the header'

/** An installation that reads every export in turn. */
async function openEach(afterwards: 'archive' | 'keep') {
  const workplace = await openSourceWorkplace(host)
  await workplace.connect({
    ...{ type: 'csv', path: 'exports/*.csv', take: 'each', complete: { quietSeconds: 0 } },
    ...{ afterwards: { accepted: afterwards }, ...worldMapping },
    status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  })
  return workplace
}

test('where each export is read and archived, a check finds nothing new afterwards, and that is no failure', async () => {
  await using workplace = await openEach('archive')
  const { work } = workplace
  await work.drop('1.csv', everybody)
  const synced = [await work.run('sync'), await work.run('sync')]
  const checked = await work.run('check')

  expect([...synced, checked].map(({ exit }) => exit)).toEqual([0, 0, 0])
  expect(checked.stdout).toContain('source of acme: nothing new to read')
})

test('where each export is read, a check fails as the next run does, whatever newer exports say', async () => {
  await using workplace = await openEach('keep')
  const { work } = workplace
  await work.drop('1.csv', withoutStatus)
  await work.drop('2.csv', everybody)
  const [checked, planned] = [await work.run('check'), await work.run('plan')]

  expect([checked.exit, planned.exit]).toEqual([65, 65])
  expect(checked.stdout).toContain(reason)
})

test('where each export is read, a check of an accepted one fails as the run of the next one would', async () => {
  await using workplace = await openEach('keep')
  const { work } = workplace
  await work.drop('1.csv', everybody)
  const synced = await work.run('sync')
  await work.drop('2.csv', withoutStatus)
  await work.drop('3.csv', everybody)
  const [lacking, held] = [await work.run('check'), await work.run('plan')]
  await work.drop('2.csv', 'PK\u0003\u0004 \u0000\u0001\u0002 rubbish')
  await work.drop('3.csv', everybody)
  const [unreadable, failed] = [await work.run('check'), await work.run('plan')]

  expect([synced.exit, lacking.exit, held.exit]).toEqual([0, 65, 65])
  expect(lacking.stdout.split(reason)).toHaveLength(2)
  expect(failed.exit).not.toBe(0)
  expect([unreadable.exit, unreadable.stdout]).toEqual([failed.exit, expect.stringContaining('2.csv')])
})
