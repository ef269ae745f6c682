import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { addPlatformCommands } from '../../src/cli/definitions/support.ts'
import { examples, namedCommands } from '../../src/cli/examples.ts'
import { createProgram } from '../../src/cli/program.ts'
import { wrapLines } from '../../src/cli/render/text.ts'
import { paintFor } from '../../src/text/print.ts'

async function everyCommand(): Promise<Command[]> {
  const program = createProgram(() => {})
  await addPlatformCommands(program)
  const below = (command: Command): Command[] => [command, ...command.commands.flatMap(below)]
  return below(program)
}

test('every command has examples, and each of them is a command line that it takes', async () => {
  const program = createProgram(() => {})
  const commands = namedCommands(program)
  for (const [, command] of commands) command.action(() => undefined)
  // What stands below `platform` has none; `complete` is for the scripts of the shells.
  const needed = commands.filter(([name, { commands: below }]) => below.length === 0 || name === 'alerts')

  expect(Object.keys(examples).sort()).toEqual(
    needed
      .map(([name]) => name)
      .filter((name) => !['platform', 'complete'].includes(name))
      .sort(),
  )
  for (const [name, lines] of Object.entries(examples)) {
    for (const [line] of lines) {
      const [called, ...words] = [...line.replace(/ > .*/, '').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
        ([, ...quoted]) => quoted.find((word) => word !== undefined) ?? '',
      )
      expect({ line, called, words }).toMatchObject({
        called: 'rollcall',
        words: expect.arrayContaining(name.split(' ')),
      })
      await program.parseAsync(words, { from: 'user' })
    }
  }
})

test('the help lists every command under a task, in the order in which a newcomer needs them', () => {
  const help = createProgram(() => {}).helpInformation()

  expect(help.match(/^\S.*:$/gm)).toEqual([
    'Options:',
    'First connection:',
    'Every day:',
    'Something is wrong:',
    'Administration:',
  ])
})

test('no help text shows an empty default', async () => {
  const helps = (await everyCommand()).map((command) => command.helpInformation())

  expect(helps.filter((help) => /\(default: (?:\[\]|\{\}|""|)\)/.test(help))).toEqual([])
})

test('no help text shows two defaults', async () => {
  const helps = (await everyCommand()).map((command) => command.helpInformation().replaceAll(/\n {4,}/g, ' '))

  const twice = helps.flatMap((help) => help.match(/^.*\(default.*\(default.*$/gm) ?? [])

  expect(helps.length).toBeGreaterThan(40)
  expect(twice).toEqual([])
})

test('a line that is longer than the terminal is broken between words, below its own beginning', () => {
  const text = wrapLines('  ✖ the configuration has several connections: name one\nshort', 30)

  expect(text).toBe('  ✖ the configuration has\n    several connections: name\n    one\nshort')
})

test('colours take no room, and a word that is longer than a line stays whole', () => {
  const paint = paintFor(Object.assign(process.stdout, {}))
  const text = wrapLines(`${paint('red', '✖')} https://platform.example/a/long/address is away`, 20)

  expect(text).toBe(`${paint('red', '✖')}\n  https://platform.example/a/long/address\n  is away`)
})
