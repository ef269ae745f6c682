import type { Command } from 'commander'
import type { CheckOptions } from '../commands/check.ts'
import type { InitOptions } from '../commands/init.ts'
import {
  addCommand,
  byOption,
  collectValues,
  commonOptions,
  type Definition,
  type ExitWith,
  wholeNumber,
} from './define.ts'

/** The commands that come before the first run. */
export const setupCommands: readonly Definition[] = [demoCommand, initCommand, recipesCommand, checkCommand]

function demoCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'demo', 'Show the whole path on this machine: a platform, a company, two nights of HR exports')
    .option('--once', 'exit at the end (the default without a terminal)')
    .option('--json', 'print the summary as one JSON document')
    .action(
      exitWith(async (options: { once?: boolean; json?: boolean }) => (await import('../demo/demo.ts')).demo(options)),
    )
}

/** The defaults of repeatable options. As defaults of Commander, the help would show them. */
const noneNamed: Readonly<
  Record<'parameter' | 'credential' | 'set' | 'field' | 'left' | 'employed', readonly string[]>
> = {
  parameter: [],
  credential: [],
  set: [],
  field: [],
  left: [],
  employed: [],
}

function initCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'init', 'Read an export and write a configuration for it', byOption)
    .option(
      '--source <location>',
      'the export: a file, a folder, sftp://USER@HOST/PATH, s3://BUCKET/PATH, gs://…, az://ACCOUNT/CONTAINER/… or https://… (CSV, XLSX, or a JSON list); or scim, if an identity system pushes people',
    )
    .option('--recipe <name>', 'instead of an export: the HR system to read by API, as "rollcall recipes" lists them')
    .option('--parameter <name=value>', 'a value that the recipe asks for; can be repeated', collectValues)
    .option(
      '--credential <setting=file>',
      'the file with a secret that the recipe asks for, or another credential, such as a user name; can be repeated',
      collectValues,
    )
    .option(
      '--set <setting=value>',
      'one more setting for the recipe, such as allowPrivate=true, or for an export: records, headers.NAME, endpoint, region; can be repeated',
      collectValues,
    )
    .option(
      '--secret-file <file>',
      'the password or private key of an SFTP account, the key of a bucket, or a bearer token',
    )
    .option(
      '--host-key <fingerprint>',
      'host key of the SFTP server, as printed by ssh-keyscan HOST | ssh-keygen -lf -',
    )
    .option('--region <region>', 'region of the platform: default, eu or apac')
    .option('--platform-url <address>', 'the address of your own platform, instead of a region')
    .option('--key-file <file>', "the file of the platform's API key")
    .option('--name <name>', 'name of the connection (default: HR)')
    .option('--time-zone <zone>', 'time zone of the dates (default: from the export, otherwise that of this machine)')
    .option('--public-url <address>', 'with --source scim: the https address under which the daemon is reached')
    .option('--preset <name>', 'preset to use instead of the best match')
    .option(
      '--field <field=column>',
      'read a field from this column; "none" leaves the field out; can be repeated',
      collectValues,
    )
    .option('--date-format <format>', 'date format if the dates are ambiguous, such as dd/MM/yyyy')
    .option('--left <status>', 'a status that means left; can be repeated', collectValues)
    .option('--employed <status>', 'a status that means employed; can be repeated', collectValues)
    .option('--encoding <name>', 'the encoding, if the detected one is wrong')
    .option('--delimiter <character>', 'the delimiter, if the detected one is wrong')
    .option('--sheet <name>', 'the sheet of a workbook that lists the people, or its number')
    .option('--header-line <line>', 'line number of the header', wholeNumber)
    .option('--out <file>', 'configuration file to write', 'rollcall.yaml')
    .option('--replace', 'replace an existing file')
    .option('--yes', 'ask nothing and accept the proposal')
    .option('--show-values', 'with --json: include examples of the cells')
    .option('--json', 'ask nothing and print one JSON document on stdout')
    .action(
      exitWith(async (options: Omit<InitOptions, keyof typeof noneNamed> & Partial<InitOptions>) =>
        (await import('../commands/init.ts')).init({ ...noneNamed, ...options }),
      ),
    )
}

function recipesCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'recipes', 'List the HR systems that are read by API, or show what one of them needs')
    .argument('[recipe]', 'the recipe to show')
    .option('--json', 'print only one JSON document on stdout')
    .action(
      exitWith(async (recipe: string | undefined, options: { json?: boolean }) =>
        (await import('../commands/recipes.ts')).recipes(recipe, options),
      ),
    )
}

function checkCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'check',
    'Test the configuration, the source, the secrets, the store, the queue and the platform; change nothing',
    commonOptions,
  )
    .option('--connection <name>', 'test this connection only')
    .option('--probe', 'also test the platform itself with an invented person: does it work as Rollcall expects?')
    .option('--yes', 'with --probe: change the platform without asking')
    .action(exitWith(async (options: CheckOptions) => (await import('../commands/check.ts')).check(options)))
}
