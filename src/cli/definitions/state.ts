import { type Command, Option } from 'commander'
import { connectionStates } from '../../contract/control/connection-states.ts'
import type { AlertsTestOptions } from '../commands/alerts.ts'
import type { ProblemsOptions } from '../commands/problems.ts'
import type { RunDetailOptions } from '../commands/run.ts'
import type { RunsOptions } from '../commands/runs.ts'
import type { StatusOptions } from '../commands/status.ts'
import type { CommonOptions } from '../session/session.ts'
import {
  addCommand,
  commonOptions,
  connectionOption,
  type Definition,
  type ExitWith,
  runHelp,
  wholeNumber,
} from './define.ts'

/** The commands that show the state of connections and runs. */
export const stateCommands: readonly Definition[] = [
  statusCommand,
  alertsCommands,
  runsCommand,
  runCommand,
  problemsCommand,
]

function statusCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'status', 'Show the daemon, the connections and their runs', commonOptions, connectionOption)
    .option('--search <text>', 'only connections whose name contains this text')
    .addOption(new Option('--state <state>', 'only connections in this state').choices(connectionStates))
    .option('--limit <count>', 'how many connections (default: 50; all with --json or --watch)', wholeNumber)
    .option('--watch', 'refresh until q or Ctrl-C; without a terminal, print the changes')
    .action(exitWith(async (options: StatusOptions) => (await import('../commands/status.ts')).status(options)))
}

function alertsCommands(program: Command, exitWith: ExitWith): void {
  const alerts = addCommand(
    program,
    'alerts',
    'List the alerts and the messages sent about them',
    commonOptions,
  ).action(exitWith(async (options: CommonOptions) => (await import('../commands/alerts.ts')).alerts(options)))

  addCommand(alerts, 'test', 'Send a test message through each channel now', commonOptions)
    .option('--channel <name>', 'only through this channel')
    .action(
      // Commander gives options that both commands know, such as --config, to the parent command.
      exitWith(async (_options: AlertsTestOptions, command: Command) =>
        (await import('../commands/alerts.ts')).alertsTest(command.optsWithGlobals<AlertsTestOptions>()),
      ),
    )
}

function runsCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'runs', 'List the newest runs', commonOptions)
    .option('--connection <name>', 'only this connection')
    .option('--limit <count>', 'how many', wholeNumber, 20)
    .option('--follow', 'refresh until q or Ctrl-C; without a terminal, print the changes')
    .action(exitWith(async (options: RunsOptions) => (await import('../commands/runs.ts')).runs(options)))
}

function runCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'run', 'Show one run with its changes and rejected rows', commonOptions)
    .argument('<id>', runHelp)
    .option('--show-values', 'show personal values, not only the names of their fields')
    .option('--follow', 'follow the run until it ends or is held; the exit code says how it ended')
    .action(
      exitWith(async (id: string, options: RunDetailOptions) => (await import('../commands/run.ts')).run(id, options)),
    )
}

function problemsCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'problems',
    "List the people whose record on the platform differs from HR's export, and why",
    commonOptions,
  )
    .option('--connection <name>', 'only this connection')
    .option('--for-hr', 'list what HR has to correct, by column and cause, with what to write instead')
    .option('--out <file>', 'with --for-hr: write the list to this file; its extension is .csv, .xlsx or .html')
    .option('--show-values', 'include names, and with --for-hr the cells; otherwise keys only')
    .action(exitWith(async (options: ProblemsOptions) => (await import('../commands/problems.ts')).problems(options)))
}
