import type { Command } from 'commander'
import type { PlanOptions } from '../commands/plan.ts'
import type { ServeOptions } from '../commands/serve.ts'
import type { SyncOptions } from '../commands/sync.ts'
import {
  addCommand,
  byOption,
  commonOptions,
  configOptions,
  connectionOption,
  type Definition,
  type ExitWith,
  portNumber,
  strictOption,
  waitOption,
} from './define.ts'

/** The commands that plan and deliver. */
export const deliveryCommands: readonly Definition[] = [planCommand, syncCommand, resyncCommand, serveCommand]

const syncOptions = [commonOptions, connectionOption, byOption, waitOption, strictOption]

function planCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'plan', 'Show what a run would do now, without doing it', commonOptions, connectionOption)
    .option('--person <key>', 'only this person, by key, e-mail address or name, and why')
    .option('--show-values', 'show personal values, not only the names of their fields')
    .option('--out <file>', 'write the plan to a file instead, for "sync --plan"')
    .action(exitWith(async (options: PlanOptions) => (await import('../commands/plan.ts')).plan(options)))
}

function syncCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'sync', 'Read the source and deliver every difference', ...syncOptions)
    .option(
      '--person <key>',
      'deliver only this person, by key, e-mail address or name, and show row, decision and response',
    )
    .option('--show-values', 'show personal values of that person, not only the names of their fields')
    .option('--plan <file>', 'deliver exactly the plan written by "plan --out", or nothing')
    .action(exitWith(async (options: SyncOptions) => (await import('../commands/sync.ts')).sync(options)))
}

function resyncCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'resync', 'Run by hand and also send or verify people without changes', ...syncOptions)
    .option('--full', 'send everybody again')
    .option('--verify', 'read the platform list first and fix every difference')
    .action(exitWith(async (options: SyncOptions) => (await import('../commands/sync.ts')).sync(options)))
}

function serveCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'serve', 'Run as a daemon: schedules, workers and the control API', configOptions)
    .option('--json', 'write the log as JSON lines, also on a terminal')
    .option('--roles <list>', 'roles of this process (default: api,scheduler,worker)')
    .option('--port <number>', 'listen on this port instead of server.port; 0 means any free one', portNumber)
    .action(exitWith(async (options: ServeOptions) => (await import('../commands/serve.ts')).serve(options)))
}
