import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import type { Change } from '../../../src/identity/change.ts'
import { fieldNames } from '../../../src/identity/record.ts'
import type { SourceFeed } from '../../../src/sync/context/context.ts'
import { planDryRun } from '../../../src/sync/sync.ts'
import { company, companyMapping, csv } from '../../helpers/guards/company.ts'
import { type Disaster, disasters } from '../../helpers/guards/disasters.ts'
import { disasterRow, disastersTable, type Outcome } from '../../helpers/pages/disasters.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { connectorFor } from '../../helpers/sources/folder-source.ts'
import { isFull } from '../../helpers/tier.ts'
import { reportTrials } from '../../helpers/trials.ts'
import { type Host, openWorld, startHost, type World } from '../../helpers/world.ts'

let host: Host
let world: World
let folder: ExportFolder
let rules: SourceFeed
const rows = company(400)
const employed = rows.filter(({ Status }) => Status === 'Active').length
const tonight = new Date('2026-11-20T01:00:00.000Z')

beforeAll(async () => {
  host = await startHost()
  const { client } = await host.tenant()
  folder = await exportFolder()
  world = await openWorld({
    client,
    feed: { connector: connectorFor(folder), mapping: companyMapping },
  })
  const { source } = world.connection.feeds
  if (!source) throw new Error('the world has no source')
  rules = source
  for (const night of [18, 19]) {
    await folder.write('people.csv', csv(rows), { modifiedAt: new Date(`2026-11-${night}T01:00:00.000Z`) })
    expect(await world.night([])).toMatchObject({ state: night === 18 ? 'finished' : 'unchanged' })
  }
})
afterAll(async () => {
  await world[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

/** How many people an export may change without a hold: the limits of docs/guards.md for a company of this size. */
const allowed: Readonly<Record<string, number>> = {
  leave: employed * 0.05,
  join: employed * 0.25,
  return: employed * 0.02,
  correct: employed * 0.02,
  email: employed * 0.1,
  isContractor: employed * 0.05,
  blank: employed * 0.05,
  field: employed * 0.2,
}

test('no wrong export changes more people than the guards allow', { timeout: 120_000 }, async ({ task }) => {
  const outcomes: Outcome[] = []
  const page = 'disasters.md'
  for (const [at, disaster] of disasters.entries()) {
    if (!isFull && at % 6 !== 0) continue
    const { name, file } = disaster
    outcomes.push({ name, file, outcomes: [await outcomeOf(disaster, 'snapshot'), await outcomeOf(disaster, 'delta')] })
  }

  reportTrials(task, {
    subject: 'wrong exports, each as snapshot and as delta',
    times: `${outcomes.length} exports`,
    result: 'none changes more people than the guards allow',
  })
  if (isFull) return await expect(disastersTable(outcomes)).toMatchFileSnapshot(`./${page}`)
  const lines = new Set((await readFile(new URL(page, import.meta.url), 'utf8')).split('\n'))
  expect(outcomes.map(disasterRow).filter((row) => !lines.has(row))).toEqual([])
})

test('each wrong export has its own name', () => {
  expect(new Set(disasters.map(({ file }) => file)).size).toBe(disasters.length)
})

async function outcomeOf({ name, file, content, daysOld = 0 }: Disaster, mode: 'snapshot' | 'delta'): Promise<string> {
  await using own = await exportFolder()
  const modifiedAt = new Date(tonight.getTime() - daysOld * 24 * 60 * 60_000)
  await own.write(file, content(rows), { modifiedAt })
  const connector = connectorFor(own, { mode })
  const connections = new Map([['acme', { ...world.connection, feeds: { source: { ...rules, connector } } }]])
  try {
    const plan = await planDryRun({ ...world.sync, connections }, 'acme', new AbortController().signal)
    const failed = plan.guards.flatMap(({ name: guard, ok }) => (ok ? [] : [guard]))
    if (failed.length > 0) return `held: ${failed.join(', ')}`
    const counts = countsOf(plan.changes.map(({ change }) => change))
    const over = Object.entries(counts).filter(([kind, count]) => count > (allowed[kind] ?? allowed.field ?? 0))
    expect({ name, mode, over }).toEqual({ name, mode, over: [] })
    const sentences = Object.entries(counts).map(([kind, count]) => `${kind} ${count}`)
    const unread = plan.counts.rejected + plan.counts.incomplete
    return [
      ...(sentences.length === 0 ? ['changes no one'] : sentences),
      ...(unread > 0 ? [`rows not read ${unread}`] : []),
    ].join(', ')
  } catch (error) {
    if (error instanceof Failure && error.code === 'source_unreadable') return 'refused'
    throw error
  }
}

/** How many people are changed in which way, counted from what would be sent. */
function countsOf(changes: readonly Change[]): Record<string, number> {
  const counts: Record<string, number> = {}
  const count = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  for (const change of changes) {
    if (change.kind !== 'update') count(change.kind)
    if (change.kind === 'join' || change.kind === 'retract') continue
    for (const field of fieldNames) {
      const moved = change.fields[field]
      if (moved === undefined || field === 'separatedAt' || (moved.from ?? null) === null) continue
      count(moved.to === null ? 'blank' : field)
    }
  }
  return counts
}
