import type { Command } from 'commander'
import type { PauseOptions, ResumeOptions } from '../commands/pause.ts'
import type { UnblockOptions } from '../commands/unblock.ts'
import type { WebhookTestOptions } from '../commands/webhook-test.ts'
import {
  addCommand,
  byOption,
  commonOptions,
  connectionHelp,
  connectionOption,
  type Definition,
  type ExitWith,
  waitOption,
} from './define.ts'

/** The commands that pause, resume, unblock and test a connection. */
export const connectionCommands: readonly Definition[] = [unblockCommand, pauseCommand, resumeCommand, webhookCommands]

function unblockCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'unblock',
    'Retry a blocked connection now instead of waiting for the next automatic attempt',
    commonOptions,
    connectionOption,
    byOption,
    waitOption,
  ).action(exitWith(async (options: UnblockOptions) => (await import('../commands/unblock.ts')).unblock(options)))
}

function pauseCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'pause',
    'Pause the schedules, watched folders and events of a connection; people can still start runs',
    commonOptions,
    connectionOption,
    byOption,
  )
    .argument('[connection]', connectionHelp)
    .requiredOption('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--until <time>', 'end of the pause: a day, or a time such as 2026-12-31T06:00')
    .action(
      exitWith(async (connection: string | undefined, options: PauseOptions) =>
        (await import('../commands/pause.ts')).pause(connection, options),
      ),
    )
}

function resumeCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'resume', 'End a pause; missed runs are made up for', commonOptions, connectionOption, byOption)
    .argument('[connection]', connectionHelp)
    .action(
      exitWith(async (connection: string | undefined, options: ResumeOptions) =>
        (await import('../commands/pause.ts')).resume(connection, options),
      ),
    )
}

function webhookCommands(program: Command, exitWith: ExitWith): void {
  const webhook = addCommand(program, 'webhook', 'Test a webhook')

  addCommand(webhook, 'test', 'Sign a sample event and send it to the daemon', commonOptions)
    .argument('<name>', 'the connection')
    .option('--url <address>', 'where to send it (default: the daemon on this machine)')
    .action(
      exitWith(async (name: string, options: WebhookTestOptions) =>
        (await import('../commands/webhook-test.ts')).webhookTest(name, options),
      ),
    )
}
