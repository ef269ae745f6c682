import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { worldMapping } from '../helpers/connected.ts'
import { csvOf, openSourceWorkplace } from '../helpers/sources/source-workplace.ts'
import { isFull } from '../helpers/tier.ts'
import type { Workplace } from '../helpers/workplace.ts'
import { type Host, type HrPerson, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

describe('deltas that are all read', () => {
  const days = [1, 2, 3, 4]
  const action = { column: 'Status', join: ['joined'], change: ['changed'], leave: ['left'] }
  const source = {
    type: 'csv',
    mode: 'delta',
    path: 'exports/delta-*.csv',
    take: 'each',
    complete: { quietSeconds: 0 },
    afterwards: { accepted: 'archive' },
    ...worldMapping,
    action,
  }
  /** On each day one person joins, the joiner of the day before leaves, and one person gets another title. */
  const rowsOf = (day: number): readonly HrPerson[] => [
    { id: 'BOSS', status: day === 1 ? 'joined' : 'changed', title: `Title ${day}` },
    { id: `D${day}`, status: 'joined', title: 'Engineer' },
    ...(day > 1 ? [{ id: `D${day - 1}`, status: 'left', leavingDate: `2026-11-0${day}` }] : []),
  ]

  test('are applied once and in order, and are archived, although the command is killed repeatedly', async () => {
    await using workplace = await openSourceWorkplace(host)
    const { work } = workplace
    await workplace.connect(source)
    for (const day of days) await work.drop(`delta-${day}.csv`, csvOf(rowsOf(day)))
    const archive = join(work.folder, 'exports', 'archive')
    const archived = () => readdir(archive).catch((): string[] => [])
    const titled = async (title: string) => (await workplace.people()).get('BOSS')?.jobTitle === title
    const moments = [
      async () => (await readdir(work.folder)).includes('data'),
      async () => (await archived()).length > 0,
      async () => await titled('Title 1'),
      async () => (await archived()).length > 1,
      async () => await titled('Title 2'),
    ]

    for (const moment of isFull ? moments : moments.slice(1, 3)) {
      await using sync = work.start('sync')
      await Promise.race([until(moment), sync.ended])
      sync.child.kill('SIGKILL')
    }
    const last = await syncToTheEnd(work)
    const boss = await work.json<{ changes: object[] }>('person', 'BOSS', '--show-values')

    expect(last).toMatchObject({ state: 'unchanged', source: null })
    expect(await readdir(join(work.folder, 'exports'))).toEqual(['archive'])
    expect(await archived()).toEqual(days.map((day) => expect.stringMatching(new RegExp(`Z-delta-${day}\\.csv$`))))
    expect((await workplace.people()).get('BOSS')?.jobTitle).toBe('Title 4')
    expect((await workplace.leavers()).toSorted()).toEqual(
      days.slice(1).map((day) => [`D${day - 1}`, `2026-11-0${day}`]),
    )
    expect(boss.document.changes).toHaveLength(days.length)
  })

  test('that could not be archived are not applied again, and are archived once that is possible', async () => {
    await using workplace = await openSourceWorkplace(host)
    const { work } = workplace
    await workplace.connect(source)
    for (const day of days.slice(0, 2)) await work.drop(`delta-${day}.csv`, csvOf(rowsOf(day)))
    const archive = join(work.folder, 'exports', 'archive')
    await writeFile(archive, 'in the way')

    const before = await syncToTheEnd(work)
    const kept = await readdir(join(work.folder, 'exports'))
    await rm(archive)
    const after = await syncToTheEnd(work)
    const boss = await work.json<{ changes: object[] }>('person', 'BOSS')

    expect(before).toMatchObject({ state: 'unchanged', source: null })
    expect(kept).toHaveLength(3)
    expect(after).toMatchObject({ state: 'unchanged', source: null })
    expect(boss.document.changes).toHaveLength(2)
    expect(await readdir(archive)).toHaveLength(2)
    expect((await workplace.people()).get('BOSS')?.jobTitle).toBe('Title 2')
  })
})

/** Runs until there is nothing new to read. A command may first finish a run that an earlier command left. */
async function syncToTheEnd(work: Workplace): Promise<Record<string, unknown>> {
  for (let runs = 0; runs < 15; runs++) {
    const { document } = await work.json('sync')
    if (document.source === null) return document
  }
  throw new Error('there is always something new to read')
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = AbortSignal.timeout(60_000)
  while (!(await condition())) await pause(20, undefined, { signal: deadline })
}
