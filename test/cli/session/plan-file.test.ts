import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readPlanFile, writePlanFile } from '../../../src/cli/session/plan-file.ts'
import { changeView, planDocument } from '../../helpers/control-documents.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'

const plan = planDocument({ changes: [changeView({ why: 'missing from the source' })] })

test('a plan is kept for its owner alone, and read as it was written', async () => {
  await using folder = await exportFolder()
  const file = join(folder.path, 'plan.json')

  await writePlanFile(file, plan)

  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readPlanFile(file)).toEqual(plan)
  await expect(writePlanFile(file, plan)).rejects.toThrow('it exists already, and is not replaced')
})

test.each([
  ['was edited', (text: string) => text.replace('1222', '1223'), 'was edited after'],
  ['was cut off', (text: string) => text.slice(0, 100), 'is cut off, or no plan'],
  ['is something else', () => '{"rollcall":"status"}', 'is not a plan written by'],
])('a file that %s is refused', async (_what, edited, message) => {
  await using folder = await exportFolder()
  const file = join(folder.path, 'plan.json')
  await writePlanFile(file, plan)
  await writeFile(file, edited(await readFile(file, 'utf8')))

  await expect(readPlanFile(file)).rejects.toThrow(message)
})
