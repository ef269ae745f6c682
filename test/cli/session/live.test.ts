import { rm } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { changedRuns } from '../../../src/cli/commands/runs.ts'
import { runDocument } from '../../helpers/control-documents.ts'
import { install } from '../../helpers/installation.ts'
import { staff } from '../../helpers/world.ts'

test('runs that are new or in another state since the last look are printed, the oldest first', () => {
  const [first, second, third] = ['1', '2', '3'].map((id) => runDocument({ id, state: 'finished' }))
  if (!first || !second || !third) throw new Error('there are three runs')

  const before = [{ ...second, state: 'delivering' as const }, first]

  expect(changedRuns([third, second, first], before).map(({ id }) => id)).toEqual(['2', '3'])
  expect(changedRuns([third, second], [third, second])).toEqual([])
})

test('without a terminal, changes are printed as lines, and a daemon that goes away is reported and waited for', async () => {
  await using at = await install({ baseUrl: 'http://127.0.0.1:9/public/v2', key: 'key' }, { hasStore: true })
  await at.writeExport(staff(3))
  const daemon = at.start('serve')
  await daemon.waitForOutput('daemon.started')

  const watching = at.start('status', '--watch')
  const following = at.start('runs', '--follow', '--json')
  await watching.waitForOutput('acme: no run yet')
  await following.waitForOutput('{"runs":[]}')
  await at.run('sync', '--wait', '1')
  await watching.waitForOutput('acme: delivering')
  await following.waitForOutput('"state":"delivering"')
  const brokenOff = at.start('run', 'last', '--follow')
  await brokenOff.waitForOutput('delivering')
  brokenOff.child.kill('SIGINT')
  daemon.child.kill('SIGKILL')
  await watching.waitForOutput('waiting for the daemon')
  await rm(`${at.dataDir}/daemon.json`, { force: true })
  await at.start('serve').waitForOutput('daemon.started')
  await watching.waitForOutput('the daemon is responding again')
  watching.child.kill('SIGINT')
  following.child.kill('SIGINT')

  expect(await watching.ended).toMatchObject({ exit: 0, stdout: expect.not.stringContaining('\u001b') })
  expect((await following.ended).exit).toBe(0)
  expect((await brokenOff.ended).exit).toBe(130)
})
