import { existsSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../helpers/called.ts'
import { storeFolder } from '../helpers/servers/provided.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

const config = fileURLToPath(new URL('../../config/examples/hr-export-1000.yaml', import.meta.url))
const published = fileURLToPath(new URL('../../../shared/data/hr-export-1000.csv', import.meta.url))

type Row = {
  WorkerID: string
  WorkerStatus: string
  WorkerType: string
  FirstName: string
  LastName: string
  ManagerID: string
  HireDate: string
  JobTitle: string
}

/** An export of the same columns and the same dirt, for where the published one is not. */
function imitation(): string {
  const header =
    'WorkerID,WorkerStatus,WorkerType,UserID,FirstName,LastName,FullName,ManagerID,HireDate,JobTitle,StreetAddress'
  const line = (i: number) => {
    const id = 1000 + (i % 450)
    const title = i % 17 === 0 ? '' : '"Engineer, ""senior"""'
    return `${id},${i % 2 ? 'Inactive' : 'Active'},${i % 5 ? 'Employee' : 'Contractor'},EMP${id},Given${i},Family${i},"Given${i} Family${i}",1000,2019-0${(i % 9) + 1}-15,${title},`
  }
  return [header, ...Array.from({ length: 600 }, (_, i) => line(i))].join('\r\n')
}

const imitated = { name: 'one of the same shape', text: async () => imitation() }
const real = { name: 'the published one', text: () => readFile(published, 'utf8') }
const isThere = existsSync(published)
const exports = [...(isThere ? [real] : []), ...(isFull || !isThere ? [imitated] : [])]

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

describe.each(exports)('the sample export of an HR system, $name', ({ text }) => {
  test('arrives row by row; repeated workers are rejected, and a second sync sends nothing', async () => {
    const { key, client } = await host.tenant()
    const folder = await mkdtemp(join(tmpdir(), 'rollcall-export-'))
    await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
    const file = join(folder, 'export.csv')
    await writeFile(file, await text())
    await cp(await storeFolder(), join(folder, 'data', 'store'), { recursive: true })
    const env = {
      ...process.env,
      HR_EXPORT: file,
      ROLLCALL_DATA: join(folder, 'data'),
      ROLLCALL_PLATFORM_URL: host.platform.baseUrl,
      ROLLCALL_PLATFORM_KEY: key,
    }
    const rows = parse<Row>(await readFile(file, 'utf8'), { columns: true, bom: true })
    const observations = Map.groupBy(rows, ({ WorkerID }) => WorkerID)
    const once = rows.filter(({ WorkerID }) => observations.get(WorkerID)?.length === 1)
    const exportDate = `${(await stat(file)).mtime.toISOString().slice(0, 10)}T00:00:00.000Z`

    const first = await call(['sync', '--config', config, '--json'], { env })
    const run = JSON.parse(first.stdout)
    const rejects = JSON.parse((await call(['run', run.id, '--config', config, '--json'], { env })).stdout).rejects
    const second = await call(['sync', '--config', config, '--json'], { env })

    expect([first.exit, second.exit]).toEqual([0, 0])
    expect(run).toMatchObject({ rows: rows.length, records: once.length, confirmed: once.length, problems: 0 })
    expect(rejects).toHaveLength(rows.length - once.length)
    const twice = 'the key stands in this file more than once, also in line N'
    const departureReason = `${twice}; all of its rows say that the person has left, and nothing else of them is used`
    for (const { identityId, reason } of rejects as { identityId: string; reason: string }[]) {
      const isEveryRowInactive = observations.get(identityId)?.every(({ WorkerStatus }) => WorkerStatus === 'Inactive')
      expect({ identityId, reason: reason.replace(/line \d+/, 'line N') }).toEqual({
        identityId,
        reason: isEveryRowInactive ? departureReason : twice,
      })
    }
    expect([...(await peopleOn(client)).values()].map(asRow).toSorted(byId)).toEqual(
      once
        .map((row) => ({
          identityId: row.WorkerID,
          firstName: row.FirstName || null,
          lastName: row.LastName || null,
          jobTitle: row.JobTitle || null,
          managerId: row.ManagerID || null,
          startedAt: `${row.HireDate}T00:00:00.000Z`,
          separatedAt: row.WorkerStatus === 'Inactive' ? exportDate : null,
          isContractor: row.WorkerType === 'Contractor',
          email: null,
        }))
        .toSorted(byId),
    )
    expect(JSON.parse(second.stdout)).toMatchObject({
      state: 'unchanged',
      sent: { upsert: { requests: 0 }, update: { requests: 0 }, delete: { requests: 0 } },
    })
  })
})

function asRow({
  id: _id,
  secondaryEmail: _second,
  managerName: _manager,
  createdAt: _created,
  updatedAt: _updated,
  ...rest
}: Record<string, unknown> & { identityId: string }) {
  return rest
}

function byId(a: { identityId: string }, b: { identityId: string }): number {
  return a.identityId < b.identityId ? -1 : 1
}
