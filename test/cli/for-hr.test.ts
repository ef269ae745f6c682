import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../helpers/installation.ts'
import { unpacked } from '../helpers/unpack.ts'
import { change, type Host, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const untidy = [
  ...Array.from({ length: 7 }, (_, at) => ({ id: `E000${at + 1}`, leavingDate: '0000-00-00' })),
  { id: 'E0008', email: '=1+1' },
  { id: 'E0009', email: 'x'.repeat(10_000) },
  { id: 'E0010', email: 'a\u0007b@acme.example' },
  { id: 'E0011', status: 'Sabbatical' },
]

test('the list for HR groups cells by column and cause, with what to write instead, on a terminal and in three kinds of files', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  const people = change(staff(400), ...untidy)
  await at.writeExport(staff(400))
  await at.run('sync')
  await at.writeExport([
    ...people,
    { id: 'E0500', email: 'twice@acme.example' },
    { id: 'E0500', email: 'twice@acme.example' },
  ])
  await at.run('sync')
  const file = (ending: string) => join(at.folder, `corrections.${ending}`)

  const shown = await at.run('problems', '--for-hr')
  const { exit, document } = await at.json<{ count: number; groups: { cells?: object }[] }>('problems', '--for-hr')
  const valued = await at.json<{ groups: object[] }>('problems', '--for-hr', '--show-values')
  const csv = await at.run('problems', '--for-hr', '--show-values', '--out', file('csv'))
  const html = await at.run('problems', '--for-hr', '--out', file('html'))
  const xlsx = await at.json('problems', '--for-hr', '--show-values', '--out', file('xlsx'))

  expect([shown.exit, exit, csv.exit, html.exit, xlsx.exit]).toEqual([0, 0, 0, 0, 0])
  expect(shown.stdout).toMatch(/^HR has to correct 13 cells or rows of 12 people; 8 may hide departures\.$/m)
  expect(shown.stdout).toMatch(/^7 cells in Leaving Date \(acme\) · 7 may hide departures$/m)
  expect(shown.stdout).toContain(
    '  Leave the cell empty where there is no date; otherwise write the date as 2026-10-31 (yyyy-MM-dd).',
  )
  expect(shown.stdout).toMatch(/people\.csv:2 {2}E0001 {2}since \d{4}-\d\d-\d\d {2}may hide a departure/)
  expect(shown.stdout).not.toMatch(/0000-00-00|Person 1|Sabbatical/)
  expect(document.groups.every(({ cells }) => cells === undefined)).toBe(true)
  expect(valued.document.groups[0]).toMatchObject({
    count: 7,
    cells: [{ cell: '0000-00-00', count: 7 }],
    rows: expect.arrayContaining([
      expect.objectContaining({ identityId: 'E0001', name: 'Person 1', cell: '0000-00-00' }),
    ]),
  })

  const lines = (await readFile(file('csv'), 'utf8')).trimEnd().split('\r\n')
  expect(lines).toHaveLength(1 + 12)
  expect(lines.find((line) => line.includes('E0008'))).toContain(`"'=1+1"`)
  expect(lines.find((line) => line.includes('E0009'))).toContain(`"${'x'.repeat(200)}…"`)
  expect(lines.find((line) => line.includes('E0010'))).toContain('"a␇b@acme.example"')
  expect(lines.find((line) => line.includes('E0500'))).toContain('the key stands in this file more than once')
  expect((await stat(file('csv'))).mode & 0o777).toBe(0o600)
  expect(html.stderr).toContain('--show-values adds them')
  expect(await readFile(file('html'), 'utf8')).not.toMatch(/0000-00-00|Person 1|Sabbatical/)
  expect(xlsx.document).toEqual({ file: file('xlsx'), count: 13, values: true })
  expect(Object.values(await unpacked(await readFile(file('xlsx')))).join('')).toContain('Sabbatical')
})

test('a list without faults says so, and a wrong option is refused with what helps', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })

  const nothing = await at.run('problems', '--for-hr')
  const noFormat = await at.run('problems', '--for-hr', '--out', join(at.folder, 'list.doc'))
  const notForHr = await at.run('problems', '--out', join(at.folder, 'list.csv'))
  const unknown = await at.run('problems', '--for-hr', '--connection', 'nowhere')

  expect([nothing.exit, nothing.stdout]).toEqual([0, 'HR has nothing to correct.\n'])
  expect([noFormat.exit, notForHr.exit]).toEqual([2, 2])
  expect(noFormat.stderr).toContain('end it with .csv, .xlsx or .html')
  expect(notForHr.stderr).toContain('--out needs --for-hr')
  expect([unknown.exit, unknown.stderr.includes('nowhere')]).toEqual([2, true])
})
