import { Command } from 'commander'
import { standardError, standardOutput } from '../text/print.ts'
import { version } from '../version.ts'
import { auditCommands } from './definitions/audit.ts'
import { connectionCommands } from './definitions/connections.ts'
import { decisionCommands } from './definitions/decisions.ts'
import { configDescription, type Definition, type ExitWith } from './definitions/define.ts'
import { deliveryCommands } from './definitions/delivery.ts'
import { hrDataCommands } from './definitions/hr-data.ts'
import { peopleCommands } from './definitions/people.ts'
import { setupCommands } from './definitions/setup.ts'
import { stateCommands } from './definitions/state.ts'
import { storeCommands } from './definitions/store.ts'
import { supportCommands } from './definitions/support.ts'
import { tokenCommands } from './definitions/tokens.ts'
import { withExamples } from './examples.ts'
import type { CommonOptions } from './session/session.ts'
import { groupByTask } from './tasks.ts'

/** In the order in which the help lists them within a task. */
const definitions: readonly Definition[] = [
  ...setupCommands,
  ...deliveryCommands,
  ...stateCommands,
  ...connectionCommands,
  ...hrDataCommands,
  ...decisionCommands,
  ...peopleCommands,
  ...storeCommands,
  auditCommands,
  tokenCommands,
  ...supportCommands,
]

/** The commands of Rollcall; each loads its code when it runs. `exit` gets the exit code of a command; failures are thrown. */
export function createProgram(exit: (code: number) => void): Command {
  const program: Command = new Command('rollcall')
    .description('Keeps the people of a compliance platform in sync with HR.')
    .version(version)
    .option('--config <file>', configDescription)
    .hook('preAction', (_program, command) => passConfig(program, command))
    .exitOverride()
    .configureOutput({
      writeOut: standardOutput.print,
      writeErr: standardError.print,
      outputError: (text, write) => write(text.replace(/^error: /, '✖ ')),
    })
  const exitWith: ExitWith =
    (action) =>
    async (...args) =>
      exit(await action(...args))
  for (const define of definitions) define(program, exitWith)
  return withExamples(groupByTask(program))
}

/** --config may stand before the command as well, where a hint has it. */
function passConfig(program: Command, command: Command): void {
  const { config } = program.opts<CommonOptions>()
  if (config === undefined) return
  if (!command.options.some(({ long }) => long === '--config')) command.error("error: unknown option '--config'")
  command.setOptionValue('config', config)
}
