import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { call } from '../helpers/called.ts'
import { startCommand } from '../helpers/cli.ts'
import { openWorkplace } from '../helpers/workplace.ts'
import { startHost } from '../helpers/world.ts'

/** A folder that is gone afterwards. */
async function folder() {
  const path = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

function run(...args: readonly string[]) {
  return call(args)
}

test('with --strict, people whose rows cannot be read are no success', async () => {
  await using host = await startHost()
  const { key } = await host.tenant()
  await using work = await openWorkplace({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await work.drop(
    'people.csv',
    'Employee ID,Email,Termination Date\n1,ana@acme.example,\n2,ben@acme.example,31.02.2026\n',
  )

  const plain = await work.run('sync')
  const strict = await work.run('sync', '--strict')
  await work.drop('people.csv', 'Employee ID,Email,Termination Date\n1,ana@acme.example,\n2,ben@acme.example,\n')
  const mended = await work.run('sync', '--strict')

  expect([plain.exit, strict.exit, mended.exit]).toEqual([0, 70, 0])
  expect(strict.stderr).toContain('! 1 person needs attention')
})

describe('a command that cannot be understood ends with 2', () => {
  test.each([
    ['an unknown command', ['synk'], "✖ unknown command 'synk'"],
    ['an unknown option', ['sync', '--forever'], "✖ unknown option '--forever'"],
    ['a missing argument', ['approve'], "✖ missing required argument 'id'"],
    ['a missing reason', ['retract', '1222'], "✖ required option '--reason <text>' not specified"],
    ['a wait that is no number', ['sync', '--wait', 'long'], "argument 'long' is invalid"],
  ])('%s', async (_what, args, message) => {
    const { exit, stdout, stderr } = await run(...args)

    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  test('and with --json the document says so', async () => {
    const { exit, stdout } = await run('sync', '--forever', '--json')

    expect(exit).toBe(2)
    expect(JSON.parse(stdout)).toEqual({
      error: { level: 'failed', code: 'usage', message: "unknown option '--forever'" },
    })
  })
})

describe('a configuration that is wrong ends with 78', () => {
  test('where there is none', async () => {
    const { exit, stdout, stderr } = await run('status', '--config', '/does/not/exist.yaml')

    expect({ exit, stdout }).toEqual({ exit: 78, stdout: '' })
    expect(stderr).toBe('✖ cannot read /does/not/exist.yaml (ENOENT): name the configuration with --config\n')
  })

  test('where a key is unknown: file, line and column are named', async () => {
    await using work = await folder()
    const file = join(work.path, 'rollcall.yaml')
    await writeFile(file, 'platform:\n  region: eu\n  pollSeconds: 5\nconnections: {}\n')

    const { exit, stdout, stderr } = await run('sync', '--config', file, '--json')

    expect(exit).toBe(78)
    expect(stderr).toContain(`${file}:3:3: `)
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'config_invalid' } })
  })
})

test('help and the version end with 0', async () => {
  const help = await run('--help')
  const version = await run('--version')

  expect([help.exit, version.exit]).toEqual([0, 0])
  expect(help.stdout).toContain('Usage: rollcall')
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('the command works through links and from any folder', async () => {
  await using work = await folder()
  const link = join(work.path, 'rollcall')
  const linkToLink = join(work.path, 'rc')
  await symlink(new URL('../../bin/rollcall', import.meta.url).pathname, link)
  await symlink('rollcall', linkToLink)

  const { exit } = await startCommand(['--version'], { command: linkToLink }).ended

  expect(exit).toBe(0)
})
