import { expect, test } from 'vitest'
import { createProgram } from '../../../src/cli/program.ts'
import { commandsWithConfig, configIn, pasteable } from '../../../src/cli/session/hints.ts'

test('a command in a hint has the given --config and the name of the program as it was called', () => {
  const text = '  rollcall approve 12  lets it go; see "rollcall audit verify" or `rollcall person KEY`'
  const env = { ROLLCALL_SELF: 'bin/rollcall', PATH: '/usr/bin' }

  const withConfig = pasteable(text, { config: "my company's/hr.yaml", env })
  const unnamed = pasteable(text, { config: undefined, env })

  const named = String.raw`bin/rollcall --config 'my company'\''s/hr.yaml'`
  expect(withConfig).toBe(`  ${named} approve 12  lets it go; see "${named} audit verify" or \`${named} person KEY\``)
  expect(unnamed).toBe(text.replaceAll('rollcall', 'bin/rollcall'))
})

test('a program that lies on the PATH is called by its name alone', () => {
  const env = { ROLLCALL_SELF: '/usr/local/bin/rollcall', PATH: '/usr/bin:/usr/local/bin' }

  expect(pasteable('rollcall sync', { config: 'a.yaml', env })).toBe('rollcall --config a.yaml sync')
})

test.each([
  'bin/rollcall status --config a.yaml',
  'Rollcall status',
  'rollcall 0.1.0 · no daemon is running',
  'rollcall running late',
  'rollcall init --source a.csv',
])('what takes no configuration, or has one, stays as it is: %s', (text) => {
  expect(pasteable(text, { config: 'b.yaml', env: {} })).toBe(text)
})

test('a hint that names a command is ready to paste, whichever command it is', () => {
  const program = createProgram(() => {})
  const commands = program.createHelp().visibleCommands(program)
  const names = commands.map((command) => command.name()).filter((name) => name !== 'help')
  const env = { ROLLCALL_SELF: 'bin/rollcall', PATH: '/usr/bin' }

  const hints = names.map((name) => pasteable(`rollcall ${name}`, { env }))

  expect(hints).toEqual(names.map((name) => `bin/rollcall ${name}`))
})

test('a hint can name every command that takes a configuration', () => {
  const commands = createProgram(() => {}).commands.filter((command) =>
    [command, ...command.commands].some(({ options }) => options.some(({ long }) => long === '--config')),
  )

  expect(commands.map((command) => command.name()).sort()).toEqual([...commandsWithConfig])
})

test('the configuration is found on a command line that cannot be understood', () => {
  expect([configIn(['synk', '--config', 'a.yaml']), configIn(['--config=b.yaml']), configIn(['sync'])]).toEqual([
    'a.yaml',
    'b.yaml',
    undefined,
  ])
})
