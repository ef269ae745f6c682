import type { Command } from 'commander'
import type { AcceptStoreOptions } from '../commands/accept-store.ts'
import type { BackupOptions } from '../commands/backup.ts'
import type { MoveOptions } from '../commands/move.ts'
import type { RestoreOptions } from '../commands/restore.ts'
import { add, byOption, commonOptions, type Definition, type ExitWith } from './define.ts'

/** The commands that carry the store to another place and back. */
export const storeCommands: readonly Definition[] = [backupCommand, restoreCommand, moveCommand, acceptStoreCommand]

function backupCommand(program: Command, exitWith: ExitWith): void {
  add(
    program,
    'backup',
    'Write everything that the store holds into a file, while the daemon works',
    commonOptions,
    byOption,
  )
    .argument('<file>', 'a file that is not there yet')
    .action(
      exitWith(async (file: string, options: BackupOptions) =>
        (await import('../commands/backup.ts')).backup(file, options),
      ),
    )
}

function restoreCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'restore', 'Put the store back from a backup; a daemon that runs starts again', commonOptions, byOption)
    .argument('<file>', 'what "backup" wrote')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--replace', 'also replace a store that knows people; one that cannot be opened is put aside')
    .action(
      exitWith(async (file: string, options: RestoreOptions) =>
        (await import('../commands/restore.ts')).restore(file, options),
      ),
    )
}

function moveCommand(program: Command, exitWith: ExitWith): void {
  add(
    program,
    'move',
    'Carry the embedded store to PostgreSQL, with history and all that was acknowledged',
    commonOptions,
    byOption,
  )
    .requiredOption('--to <address>', `an empty database, such as '\${env:DATABASE_URL}' or '\${file:PATH}'`)
    .action(exitWith(async (options: MoveOptions) => (await import('../commands/move.ts')).move(options)))
}

function acceptStoreCommand(program: Command, exitWith: ExitWith): void {
  add(
    program,
    'accept-store',
    'Say that the store which is there counts, where another one was known',
    commonOptions,
    byOption,
  )
    .requiredOption('--reason <text>', 'why, for the record')
    .action(
      exitWith(async (options: AcceptStoreOptions) =>
        (await import('../commands/accept-store.ts')).acceptStore(options),
      ),
    )
}
