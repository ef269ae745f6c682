import type { Command } from 'commander'
import type { PlanOptions } from '../commands/plan.ts'
import type { ServeOptions } from '../commands/serve.ts'
import type { SyncOptions } from '../commands/sync.ts'
import {
  add,
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
  add(program, 'plan', 'Show what a run would do now, and do nothing', commonOptions, connectionOption)
    .option('--person <key>', 'only what would become of this person, by key, e-mail address or name, and why')
    .option('--show-values', 'show personal values, not only the names of their fields')
    .option('--out <file>', 'keep the plan in a file instead, for "sync --plan"')
    .action(exitWith(async (options: PlanOptions) => (await import('../commands/plan.ts')).plan(options)))
}

function syncCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'sync', 'Read the source and deliver every difference', ...syncOptions)
    .option(
      '--person <key>',
      'deliver this person alone, by key, e-mail address or name, and show row, decision and answer',
    )
    .option('--show-values', 'show personal values of that person, not only the names of their fields')
    .option('--plan <file>', 'deliver exactly the plan that "plan --out" has kept, or nothing')
    .action(exitWith(async (options: SyncOptions) => (await import('../commands/sync.ts')).sync(options)))
}

function resyncCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'resync', 'Run by hand, also what no difference asks for', ...syncOptions)
    .option('--full', 'send everybody again')
    .option('--verify', 'read the list of the platform first and repair every difference')
    .action(exitWith(async (options: SyncOptions) => (await import('../commands/sync.ts')).sync(options)))
}

function serveCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'serve', 'Run as a daemon: schedules, workers and the control API', configOptions)
    .option('--json', 'write the log as JSON lines, also on a terminal')
    .option('--roles <list>', 'what this process does (default: api,scheduler,worker)')
    .option('--port <number>', 'listen on this port instead of server.port; 0 means any free one', portNumber)
    .action(exitWith(async (options: ServeOptions) => (await import('../commands/serve.ts')).serve(options)))
}
