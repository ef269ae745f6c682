import type { Command } from 'commander'
import type { CheckOptions } from '../commands/check.ts'
import type { InitOptions } from '../commands/init.ts'
import { add, commonOptions, type Definition, type ExitWith, several, wholeNumber } from './define.ts'

/** The commands that come before the first run. */
export const setupCommands: readonly Definition[] = [demoCommand, initCommand, checkCommand]

function demoCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'demo', 'Show the whole path on this machine: a platform, a company, two nights of HR exports')
    .option('--once', 'leave when it is done (the default where there is no terminal)')
    .option('--json', 'print the summary as one JSON document')
    .action(
      exitWith(async (options: { once?: boolean; json?: boolean }) => (await import('../demo/demo.ts')).demo(options)),
    )
}

/** What can be repeated, if it is left out. As defaults of the options, the help would show them. */
const noneNamed: Readonly<Record<'field' | 'left' | 'employed', readonly string[]>> = {
  field: [],
  left: [],
  employed: [],
}

function initCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'init', 'Look at an export and write a configuration for it')
    .option('--source <place>', 'the export: a file, a folder, sftp://USER@HOST/PATH or https://…')
    .option('--secret-file <file>', 'the password or private key of an SFTP account, or a bearer token')
    .option('--host-key <fingerprint>', 'of the SFTP server, as ssh-keyscan HOST | ssh-keygen -lf - prints it')
    .option('--region <region>', 'of the platform: default, eu or apac')
    .option('--platform-url <address>', 'a platform of your own, instead of a region')
    .option('--key-file <file>', "the file of the platform's API key")
    .option('--name <name>', 'of the connection (default: HR)')
    .option('--time-zone <zone>', 'of the dates in the export (default: what it says, else that of this machine)')
    .option('--preset <name>', 'instead of the one that fits best')
    .option('--field <field=column>', 'the column of a field, or none; can be repeated', several)
    .option('--date-format <format>', 'where the dates of the export do not decide it, such as dd/MM/yyyy')
    .option('--left <status>', 'a status that means left; can be repeated', several)
    .option('--employed <status>', 'a status that means employed; can be repeated', several)
    .option('--encoding <name>', 'instead of the one that is detected')
    .option('--delimiter <sign>', 'instead of the one that is detected')
    .option('--header-line <line>', 'the line that names the columns', wholeNumber)
    .option('--out <file>', 'the configuration that is written', 'rollcall.yaml')
    .option('--replace', 'also over a file that is there')
    .option('--yes', 'ask nothing, and take what is proposed')
    .option('--show-values', 'with --json: examples of the cells as well')
    .option('--json', 'ask nothing, and print one JSON document on stdout')
    .action(
      exitWith(async (options: Omit<InitOptions, keyof typeof noneNamed> & Partial<InitOptions>) =>
        (await import('../commands/init.ts')).init({ ...noneNamed, ...options }),
      ),
    )
}

function checkCommand(program: Command, exitWith: ExitWith): void {
  add(
    program,
    'check',
    'Test the configuration, the source, the secrets, the store, the queue and the platform; change nothing',
    commonOptions,
  )
    .option('--connection <name>', 'test this connection only')
    .option('--probe', 'also try on the platform, with an invented person, that it does what Rollcall assumes')
    .option('--yes', 'with --probe: change the platform without a question')
    .action(exitWith(async (options: CheckOptions) => (await import('../commands/check.ts')).check(options)))
}
