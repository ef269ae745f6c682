import { Argument, type Command } from 'commander'
import { type Shell, shells } from '../completion/scripts.ts'
import type { CommonOptions } from '../session/session.ts'
import { addCommand, commonOptions, type Definition, type ExitWith } from './define.ts'

/** The commands that help people at the command line, and the platform on this machine. */
export const supportCommands: readonly Definition[] = [
  doctorCommand,
  completionCommand,
  completeCommand,
  platformCommand,
]

function doctorCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'doctor', 'Write a support file without personal values and secrets', commonOptions)
    .argument('[file]', 'a new zip file (default: rollcall-doctor-TIME.zip)')
    .action(
      exitWith(async (file: string | undefined, options: CommonOptions) =>
        (await import('../commands/doctor.ts')).doctor(file, options),
      ),
    )
}

function completionCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'completion', 'Print the completion script for bash, zsh or fish')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .action(exitWith(async (shell: Shell) => (await import('../commands/completion.ts')).completion(shell)))
}

/** The scripts of the shells call this command. */
function completeCommand(program: Command, exitWith: ExitWith): void {
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(
      exitWith(async (words: string[]) => {
        if (words.includes('platform')) await addPlatformCommands(program)
        return (await import('../commands/completion.ts')).complete(program, words)
      }),
    )
}

function platformCommand(program: Command): void {
  addCommand(program, 'platform', 'Run and manage the compliance platform on this machine')
}

/** Adds the subcommands of `platform`. They take a while to load, so only commands that need them do. */
export async function addPlatformCommands(program: Command): Promise<void> {
  const { platformCommands } = await import('../../platform/operators/commands/commands.ts')
  for (const command of program.commands) if (command.name() === 'platform') platformCommands(command)
}
