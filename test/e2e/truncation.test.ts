import { isDeepStrictEqual } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import type { Change } from '../../src/identity/change.ts'
import { planDryRun, requestRun } from '../../src/sync/sync.ts'
import { type ExportFolder, exportFolder } from '../helpers/sources/exports.ts'
import { connectorFor, type FolderSettings } from '../helpers/sources/folder-source.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, openWorld, startHost } from '../helpers/world.ts'

// A title that lost its end is a title: what stands last is where a cut can go unnoticed.
const header = 'Worker ID,Email,First Name,Address,Start Date,Leaving Date,Status,Job Title'
const night1 = [
  'E01,e01@acme.example,Änne,"Allee 1\n1010 Wien",2019-03-01,,Active,"Engineer, ""senior"""',
  'E02,e02@acme.example,Björn,,2019-03-01,,Active,Engineer',
  'E03,e03@acme.example,Chloé,"1, rue ""A""\r\nParis",2018-01-15,,Active,"Head of Building"',
  'E04,e04@acme.example,Đorđe,,2020-06-01,2026-10-30,Inactive,Engineer',
  'E05,e05@acme.example,李雷,,2020-06-01,,Active,Engineer',
  'E06,e06@acme.example,Frank,,soon,,Active,Engineer',
  'E07,e07@acme.example,Gül,,2021-02-01,,Active,"Lead ""Ops"""',
  'E08,e08@acme.example,Håkon,,2021-02-01,,Active,Engineer',
  'E09,e09@acme.example,İnci,"\n\n",2021-02-01,,Active,Engineer',
  'E10,e10@acme.example,Jürgen,,2022-09-01,,Active,Engineer',
  'E11,e11@acme.example,Kim,,2022-09-01,,Active,Engineer',
  'E12,e12@acme.example,Lars,,2022-09-01,,Active,Engineer',
  'E13,e13@acme.example,Maëlle,,2023-05-01,,Active,Engineer',
  'E14,e14@acme.example,Nuño,"a\r\nb",2023-05-01,,Active,"Building manager"',
  'E15,e15@acme.example,Zoë,"E99,e99@acme.example\r\nE98,,,,",2024-04-01,,Active,Engineer',
]
const night2 = night1
  .with(1, 'E02,e02@acme.example,Björn,"Gasse 2\n1020 Wien",2019-03-01,,Active,"Director, ""all"""')
  .with(7, 'E08,e08@acme.example,Håkon,,2021-02-01,2026-11-19,Inactive,Engineer')
  .with(13, 'E14,e14@acme.example,Nuño,"a\r\nb",2023-05-01,,Active,"Building managers"')
  .toSpliced(11, 1)
  .toSpliced(10, 0, 'E16,e16@acme.example,Ôde,,2026-11-16,,Active,Engineer')

// A prime has no factor in common with what repeats in the lines, so that the cuts fall on each part of a line.
const stride = isFull ? 1 : 17

const bytesOf = (rows: readonly string[]) => Buffer.from(`${[header, ...rows].join('\r\n')}\r\n`)

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

type Before = {
  /** The exports that were accepted, the oldest first. */
  readonly accepted: readonly Buffer[]
  readonly settings?: FolderSettings
}

/** A world that has accepted some exports, and the plan for whatever arrives a night later. */
async function accepting({ accepted, settings = {} }: Before) {
  const stack = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const folder: ExportFolder = stack.use(await exportFolder())
  const connector = connectorFor(folder, { path: 'people.csv', ...settings })
  const world = stack.use(await openWorld({ client, feed: { connector } }))
  for (const [hour, bytes] of accepted.entries()) {
    await folder.write('people.csv', bytes, { modifiedAt: new Date(Date.UTC(2026, 10, 19, hour)) })
    const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
    expect(await world.drain()).toEqual([])
    expect((await world.runOf(id)).state).toMatch(/^(finished|unchanged)$/)
  }

  async function planOf(bytes: Buffer): Promise<Planned> {
    await folder.write('people.csv', bytes, { modifiedAt: new Date('2026-11-20T01:00:00Z') })
    try {
      const { guards, changes } = await planDryRun(world.sync, 'acme', new AbortController().signal)
      const isHeld = guards.some(({ ok }) => !ok)
      return { kind: isHeld ? 'held' : 'passes', changes: changes.map(({ change }) => change) }
    } catch (error) {
      if (error instanceof Failure && error.code === 'source_unreadable') return { kind: 'refused', changes: [] }
      throw error
    }
  }

  return {
    planOf,
    /** The plans for the export cut off after each of its bytes (of some in the small form), from one of them on, by the number of bytes. */
    async plansOfCuts(bytes: Buffer, from = 0): Promise<Map<number, Planned>> {
      const plans = new Map<number, Planned>()
      for (let length = from; length < bytes.length; length += stride)
        plans.set(length, await planOf(bytes.subarray(0, length)))
      // Only a cut within the last line end can pass.
      plans.set(bytes.length - 1, await planOf(bytes.subarray(0, -1)))
      return plans
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

type Planned = { readonly kind: 'passes' | 'held' | 'refused'; readonly changes: readonly Change[] }

const kindsOf = (plans: ReadonlyMap<number, Planned>) => new Set([...plans.values()].map(({ kind }) => kind))
const leaversOf = ({ changes }: Planned) =>
  changes.flatMap((change) => (change.kind === 'leave' ? [change.identityId] : []))

describe('an export that is cut off after any byte', () => {
  test('is refused, is held, or has the plan of the full export', async () => {
    await using source = await accepting({ accepted: [bytesOf(night1)] })
    const bytes = bytesOf(night2)

    const whole = await source.planOf(bytes)
    const cuts = await source.plansOfCuts(bytes)

    expect(whole.kind).toBe('passes')
    expect(whole.changes.map(({ kind }) => kind).toSorted()).toEqual(['join', 'leave', 'leave', 'update', 'update'])
    expect([...cuts].filter(([, cut]) => cut.kind === 'passes' && !isDeepStrictEqual(cut, whole))).toEqual([])
    expect(kindsOf(cuts)).toEqual(new Set(['refused', 'held', 'passes']))
  })

  test('separates nobody whom the full export does not separate, if its last line needs no end', async () => {
    await using source = await accepting({ accepted: [bytesOf(night1)], settings: { lastLine: 'any' } })
    const bytes = bytesOf(night2)
    const from = bytes.lastIndexOf('E10,')

    const leavers = leaversOf(await source.planOf(bytes))
    const cuts = await source.plansOfCuts(bytes, from)

    const passing = [...cuts.values()].filter(({ kind }) => kind === 'passes')
    expect(passing.length).toBeGreaterThan(0)
    expect(passing.flatMap(leaversOf).filter((identityId) => !leavers.includes(identityId))).toEqual([])
  })

  const newcomer = 'E20,e20@acme.example,Ida,,2020-01-06,,Active,Engineer'

  test.each([
    ['is about somebody who has left', [...night1, newcomer.replace(',,Active', ',2026-10-31,Inactive')]],
    ['is about somebody who will leave', [...night1, newcomer.replace(',,Active', ',2026-12-31,Active')]],
    ['is rejected, and nobody knows whom it names', [...night1, newcomer.replace('2020-01-06', 'soon')]],
    [
      'is rejected, and names somebody who is employed',
      night1.with(-1, `${night1.at(-1)}`.replace('2024-04-01', 'soon')),
    ],
    ['names nobody', [...night1, newcomer.replace('E20', '')]],
    ['stands there twice, and nobody knows whom it names', [...night1, newcomer, newcomer]],
  ])('separates nobody if the last row %s', async (_what, rows) => {
    const bytes = bytesOf(rows)
    await using source = await accepting({ accepted: [bytesOf(night1), bytes] })

    const cuts = await source.plansOfCuts(bytes, bytes.lastIndexOf('E12,'))

    const passing = [...cuts.values()].filter(({ kind }) => kind === 'passes')
    expect(passing.flatMap(leaversOf)).toEqual([])
  })

  test('is refused wherever a gzip ends early', async () => {
    await using source = await accepting({ accepted: [gzipSync(bytesOf(night1))] })
    const packed = gzipSync(bytesOf(night2))

    const whole = await source.planOf(packed)
    const cuts = await source.plansOfCuts(packed)

    expect(whole.kind).toBe('passes')
    expect(kindsOf(cuts)).toEqual(new Set(['refused']))
  })
})
