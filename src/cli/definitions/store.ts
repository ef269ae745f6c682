import type { Command } from 'commander'
import type { AcceptStoreOptions } from '../commands/accept-store.ts'
import type { BackupOptions } from '../commands/backup.ts'
import type { MoveOptions } from '../commands/move.ts'
import type { RestoreOptions } from '../commands/restore.ts'
import { addCommand, byOption, commonOptions, type Definition, type ExitWith } from './define.ts'

/** The commands that back up, move and restore the store. */
export const storeCommands: readonly Definition[] = [backupCommand, restoreCommand, moveCommand, acceptStoreCommand]

function backupCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'backup', 'Write the whole store to a file while the daemon runs', commonOptions, byOption)
    .argument('<file>', 'a new file')
    .action(
      exitWith(async (file: string, options: BackupOptions) =>
        (await import('../commands/backup.ts')).backup(file, options),
      ),
    )
}

function restoreCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'restore',
    'Restore the store from a backup; a running daemon restarts itself',
    commonOptions,
    byOption,
  )
    .argument('<file>', 'a file written by "backup"')
    .requiredOption('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--replace', 'also replace a store with people in it; an unreadable store is moved aside')
    .action(
      exitWith(async (file: string, options: RestoreOptions) =>
        (await import('../commands/restore.ts')).restore(file, options),
      ),
    )
}

function moveCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'move', 'Move the embedded store to PostgreSQL, with its history', commonOptions, byOption)
    .requiredOption('--to <address>', `an empty database, such as '\${env:DATABASE_URL}' or '\${file:PATH}'`)
    .action(exitWith(async (options: MoveOptions) => (await import('../commands/move.ts')).move(options)))
}

function acceptStoreCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'accept-store',
    'Accept the current store as the right one, after it was replaced',
    commonOptions,
    byOption,
  )
    .requiredOption('--reason <text>', 'the reason, recorded in the audit trail')
    .action(
      exitWith(async (options: AcceptStoreOptions) =>
        (await import('../commands/accept-store.ts')).acceptStore(options),
      ),
    )
}
