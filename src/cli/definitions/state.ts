import type { Command } from 'commander'
import type { AlertsTestOptions } from '../commands/alerts.ts'
import type { ProblemsOptions } from '../commands/problems.ts'
import type { RunDetailOptions } from '../commands/run.ts'
import type { RunsOptions } from '../commands/runs.ts'
import type { StatusOptions } from '../commands/status.ts'
import type { CommonOptions } from '../session/session.ts'
import { add, commonOptions, type Definition, type ExitWith, runHelp, wholeNumber } from './define.ts'

/** The commands that show how connections and runs stand. */
export const stateCommands: readonly Definition[] = [
  statusCommand,
  alertsCommands,
  runsCommand,
  runCommand,
  problemsCommand,
]

function statusCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'status', 'Show what runs and how every connection stands', commonOptions)
    .option('--watch', 'keep showing it until q or Ctrl-C; elsewhere than on a terminal, print what changes')
    .action(exitWith(async (options: StatusOptions) => (await import('../commands/status.ts')).status(options)))
}

function alertsCommands(program: Command, exitWith: ExitWith): void {
  const alerts = add(
    program,
    'alerts',
    'List what needs attention, and what was sent where about it',
    commonOptions,
  ).action(exitWith(async (options: CommonOptions) => (await import('../commands/alerts.ts')).alerts(options)))

  add(alerts, 'test', 'Send a test message through each channel now', commonOptions)
    .option('--channel <name>', 'through this channel only')
    .action(
      // What both commands know, such as --config, is read by the one above.
      exitWith(async (_options: AlertsTestOptions, command: Command) =>
        (await import('../commands/alerts.ts')).alertsTest(command.optsWithGlobals<AlertsTestOptions>()),
      ),
    )
}

function runsCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'runs', 'List the newest runs', commonOptions)
    .option('--connection <name>', 'of this connection only')
    .option('--limit <count>', 'how many', wholeNumber, 20)
    .option('--follow', 'keep showing them until q or Ctrl-C; elsewhere than on a terminal, print what changes')
    .action(exitWith(async (options: RunsOptions) => (await import('../commands/runs.ts')).runs(options)))
}

function runCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'run', 'Show one run with its changes and rejected rows', commonOptions)
    .argument('<id>', runHelp)
    .option('--show-values', 'show personal values, not only the names of their fields')
    .option('--follow', 'stay until the run has come to rest; the exit code then says how it ended')
    .action(
      exitWith(async (id: string, options: RunDetailOptions) => (await import('../commands/run.ts')).run(id, options)),
    )
}

function problemsCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'problems', 'List the people that the platform refuses or who cannot be delivered', commonOptions)
    .option('--connection <name>', 'of this connection only')
    .option('--show-values', 'with names; otherwise keys only')
    .action(exitWith(async (options: ProblemsOptions) => (await import('../commands/problems.ts')).problems(options)))
}
