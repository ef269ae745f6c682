import { Argument, type Command } from 'commander'
import { type Shell, shells } from '../completion/scripts.ts'
import type { CommonOptions } from '../session/session.ts'
import { add, commonOptions, type Definition, type ExitWith } from './define.ts'

/** The commands that help people at the command line, and the platform on this machine. */
export const supportCommands: readonly Definition[] = [
  doctorCommand,
  completionCommand,
  completeCommand,
  platformCommand,
]

function doctorCommand(program: Command, exitWith: ExitWith): void {
  add(
    program,
    'doctor',
    'Write one file for somebody who helps, with no values of people and no secrets',
    commonOptions,
  )
    .argument('[file]', 'a zip file that is not there yet (default: rollcall-doctor-TIME.zip)')
    .action(
      exitWith(async (file: string | undefined, options: CommonOptions) =>
        (await import('../commands/doctor.ts')).doctor(file, options),
      ),
    )
}

function completionCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'completion', 'Print what bash, zsh or fish reads to complete commands, options, connections and runs')
    .addArgument(new Argument('<shell>', 'whose script is printed').choices(shells))
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
  add(program, 'platform', 'Run and operate the compliance platform on this machine')
}

/** Adds what stands below `platform`, which takes a while to load. */
export async function addPlatformCommands(program: Command): Promise<void> {
  const { platformCommands } = await import('../../platform/operators/commands/commands.ts')
  for (const command of program.commands) if (command.name() === 'platform') platformCommands(command)
}
