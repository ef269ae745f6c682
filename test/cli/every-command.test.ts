import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { install } from '../helpers/installation.ts'
import { staff } from '../helpers/world.ts'

const nowhere = { baseUrl: 'https://platform.invalid/public/v2', key: 'key' }
const runId = '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'

/** What each command is given besides the configuration, so that nothing is wrong with its command line. */
const commands: Readonly<Record<string, readonly string[]>> = {
  'accept-status': [],
  'accept-store': ['--reason', 'moved'],
  alerts: [],
  'alerts test': [],
  alias: [],
  approve: [runId, '--yes'],
  'audit export': [],
  'audit new-key': ['--reason', 'lost'],
  'audit verify': [],
  backup: ['/dev/shm/never-made.backup'],
  cancel: [runId],
  check: [],
  'dismiss-events': ['1'],
  doctor: ['/dev/shm/never-made.zip'],
  effective: [],
  'effective fix': ['E0001', '--reason', 'edited by mistake', '--yes'],
  events: [],
  forget: ['E0001', '--reason', 'asked'],
  'hold-back': [],
  leave: [],
  move: ['--to', 'postgres://127.0.0.1:1/none'],
  pause: ['--reason', 'tests'],
  person: ['E0001'],
  plan: [],
  problems: [],
  reject: [runId],
  'report leavers': [],
  restore: ['/dev/shm/never-made.backup', '--reason', 'lost'],
  resume: [],
  resync: [],
  retract: ['E0001', '--reason', 'test row'],
  separate: ['X1', '--reason', 'left'],
  'retry-events': [],
  revert: [runId, '--reason', 'wrong'],
  run: [runId],
  runs: [],
  serve: [],
  statement: [],
  'statement verify': ['--export', '/dev/shm/never-made.csv', '--pack', '/dev/shm/never-made.zip'],
  status: [],
  sync: [],
  'token create': ['--name', 'ana', '--role', 'viewer'],
  'token list': [],
  'token revoke': ['ana'],
  unblock: [],
  'webhook test': ['acme'],
}

/** Those that work on the platform, or hand out what the platform is asked with. */
const needKey = ['approve', 'resync', 'revert', 'serve', 'sync', 'unblock'] as const

function wordsOf(command: string): string[] {
  return [...command.split(' '), ...(commands[command] ?? [])]
}

test('every command that takes a configuration is in the table', () => {
  const below = (command: Command, name: string): [string, Command][] => [
    [name, command],
    ...command.commands.flatMap((one) => below(one, `${name} ${one.name()}`)),
  ]
  const all = createProgram(() => {}).commands.flatMap((command) => below(command, command.name()))

  const configured = all.filter(([, { options }]) => options.some(({ long }) => long === '--config'))

  expect(configured.map(([name]) => name).sort()).toEqual(Object.keys(commands).sort())
})

test('a data folder that cannot be written ends every command with 78 and one sentence', async () => {
  await using at = await install(nowhere)
  await at.writeExport(staff(3))
  const config = await readFile(at.configFile, 'utf8')
  await writeFile(at.configFile, config.replace('dataDir: ./data', 'dataDir: ./key/data'))
  const sentence = `✖ the data folder ${join(at.folder, 'key', 'data')} cannot be written (ENOTDIR): give its account the rights, or name another one as dataDir\n`
  // `check` says so among the results of its other tests; `statement verify` reads a pack and an export, and no store.
  const { check: _tells, doctor: _writesSo, 'webhook test': _daemonOnly, ...withStore } = commands
  const { 'statement verify': _offline, ...others } = withStore

  for (const command of Object.keys(others)) {
    const { exit, stdout, stderr } = await at.run(...wordsOf(command))
    expect({ command, exit, stdout, stderr }).toEqual({ command, exit: 78, stdout: '', stderr: sentence })
  }
  const check = await at.run('check')
  expect(check).toMatchObject({ exit: 78, stdout: expect.stringContaining(sentence.slice(2).trim()) })
})

test('a connection that the configuration does not have ends every command with 2 and one sentence', async () => {
  await using at = await install(nowhere)
  const connected = createProgram(() => {}).commands.flatMap((command) =>
    [command, ...command.commands].flatMap((one) =>
      one.options.some(({ long }) => long === '--connection')
        ? [one === command ? command.name() : `${command.name()} ${one.name()}`]
        : [],
    ),
  )
  // What the trail has of a former connection can be had.
  const names = connected.filter((command) => command !== 'audit export').map((command) => wordsOf(command))

  for (const words of [...names.map((name) => [...name, '--connection', 'nope']), ['webhook', 'test', 'nope']]) {
    const { exit, stdout, stderr } = await at.run(...words)
    const sentence = '✖ there is no connection "nope" in the configuration; it has acme\n'
    expect({ words, exit, stdout, stderr }).toEqual({ words, exit: 2, stdout: '', stderr: sentence })
  }
  expect(names.length).toBeGreaterThan(15)
})

describe('where the file of the platform key is missing', () => {
  test('every command that needs the key ends with 78 and one sentence', async () => {
    await using at = await install(nowhere)
    await rm(join(at.folder, 'key'))
    const sentence = `${at.configFile}:3:11: cannot read the file ${join(at.folder, 'key')} (ENOENT): create it, or let the account that runs Rollcall read it`

    for (const command of needKey) {
      const { exit, stdout, stderr } = await at.run(...wordsOf(command))
      expect({ command, exit, stdout, stderr }).toEqual({ command, exit: 78, stdout: '', stderr: `✖ ${sentence}\n` })
    }
  })

  test('what only looks into the store works, and says which configuration it uses; a check says what is missing', async () => {
    await using at = await install(nowhere, { hasStore: true })
    await at.writeExport(staff(3))
    await rm(join(at.folder, 'key'))

    const looks = [await at.run('status'), await at.run('problems'), await at.run('runs', '--verbose')]
    const check = await at.run('check')

    expect(looks).toEqual([
      { exit: 0, stdout: expect.stringContaining(`configuration  ${at.configFile}\n`), stderr: '' },
      { exit: 0, stdout: 'No problems.\n', stderr: '' },
      {
        exit: 0,
        stdout: expect.any(String),
        stderr: `the configuration is ${at.configFile}, from --config\n`,
      },
    ])
    expect(check.exit).toBe(78)
    expect(check.stdout).toContain('✔ source of acme: people.csv: 3 rows')
    expect(check.stdout).toContain(
      `✖ secrets: ${at.configFile}:3:11: cannot read the file ${join(at.folder, 'key')} (ENOENT)`,
    )
  })
})
