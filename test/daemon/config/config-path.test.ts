import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findConfig } from '../../../src/daemon/config/config-path.ts'

let workingDirectory = ''

beforeAll(async () => {
  workingDirectory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  await mkdir(join(workingDirectory, 'config'))
})
afterAll(() => rm(workingDirectory, { recursive: true, force: true }))

test('the configuration is the one that --config names, else ROLLCALL_CONFIG, else the first one in a usual place', async () => {
  const env = { ROLLCALL_CONFIG: 'ours.yaml' }
  await writeFile(join(workingDirectory, 'config', 'rollcall.yaml'), '')

  const named = findConfig({ option: 'my.yaml', env, workingDirectory })
  const fromEnvironment = findConfig({ option: undefined, env, workingDirectory })
  const below = findConfig({ option: undefined, env: { ROLLCALL_CONFIG: '' }, workingDirectory })
  await writeFile(join(workingDirectory, 'rollcall.yaml'), '')
  const beside = findConfig({ option: undefined, env: {}, workingDirectory })

  expect(named).toEqual({ file: join(workingDirectory, 'my.yaml'), namedBy: '--config' })
  expect(fromEnvironment).toEqual({ file: join(workingDirectory, 'ours.yaml'), namedBy: 'ROLLCALL_CONFIG' })
  expect(below).toEqual({ file: join(workingDirectory, 'config', 'rollcall.yaml'), namedBy: 'its place' })
  expect(beside).toEqual({ file: join(workingDirectory, 'rollcall.yaml'), namedBy: 'its place' })
})

test('if there is none, the message names the paths that were tried', () => {
  const finding = () => findConfig({ option: undefined, env: {}, workingDirectory: '/nowhere' })

  expect(finding).toThrow(
    'there is no configuration: rollcall.yaml, config/rollcall.yaml, /etc/rollcall/rollcall.yaml were looked for in /nowhere; make one with "rollcall init", or name one with --config',
  )
})
