import { type Command, Option } from 'commander'
import type { ForgetOptions } from '../commands/forget.ts'
import type { HoldBackOptions } from '../commands/hold-back.ts'
import type { PersonOptions } from '../commands/person.ts'
import type { ReportFormat, ReportLeaversOptions } from '../commands/report-leavers.ts'
import type { RetractOptions } from '../commands/retract.ts'
import type { SeparateOptions } from '../commands/separate.ts'
import {
  add,
  byOption,
  candidatesHelp,
  commonOptions,
  connectionOption,
  type Definition,
  type ExitWith,
  personHelp,
  waitOption,
} from './define.ts'

/** The commands about single people and about leavers. */
export const peopleCommands: readonly Definition[] = [
  personCommand,
  reportCommands,
  retractCommand,
  separateCommand,
  holdBackCommand,
  forgetCommand,
]

const reportFormats: Readonly<Record<ReportFormat, true>> = { csv: true, json: true, html: true }

const changeOptions = [commonOptions, connectionOption, byOption, waitOption]

function personCommand(program: Command, exitWith: ExitWith): void {
  add(
    program,
    'person',
    'Show what HR says of a person, what the platform has, and how it came about',
    commonOptions,
    connectionOption,
  )
    .argument('<key>', personHelp)
    .option('--show-values', 'show personal values, not only the names of their fields')
    .action(
      exitWith(async (key: string, options: PersonOptions) =>
        (await import('../commands/person.ts')).person(key, options),
      ),
    )
}

function reportCommands(program: Command, exitWith: ExitWith): void {
  const report = add(program, 'report', 'Report on what was done')

  add(
    report,
    'leavers',
    'Report on the departures of a period: when each was stated, seen, acknowledged and effective',
    commonOptions,
  )
    .option('--from <day>', 'the first last day of employment of the period (default: ninety days before its end)')
    .option('--to <day>', 'the last one (default: today)')
    .option('--connection <name>', 'of this connection only')
    .addOption(new Option('--format <format>', 'the whole report in this format').choices(Object.keys(reportFormats)))
    .option('--out <file>', 'write it into this file, whose ending names the format')
    .option(
      '--pack <file>',
      'write a zip with the report, the acts of the audit trail and the signature that proves them',
    )
    .option('--show-values', 'with names and e-mails; otherwise keys and dates only')
    .action(
      exitWith(async (options: ReportLeaversOptions) =>
        (await import('../commands/report-leavers.ts')).reportLeavers(options),
      ),
    )
}

function retractCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'retract', 'Take back a person who was sent in error; the run is held for an approval', ...changeOptions)
    .argument('<key>', personHelp)
    .option('--reason <text>', 'why, for the record')
    .option('--undo', 'take the retraction back and send the person again')
    .option('--show-values', candidatesHelp)
    .action(
      exitWith(async (key: string, options: RetractOptions) =>
        (await import('../commands/retract.ts')).retract(key, options),
      ),
    )
}

function separateCommand(program: Command, exitWith: ExitWith): void {
  add(
    program,
    'separate',
    'Separate people whom only the platform knows; the run is held for an approval',
    ...changeOptions,
  )
    .argument('<keys...>', 'their keys, as "rollcall problems" lists them')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--on <day>', 'their last day, such as 2026-10-31 (default: today)')
    .action(
      exitWith(async (keys: string[], options: SeparateOptions) =>
        (await import('../commands/separate.ts')).separate(keys, options),
      ),
    )
}

function holdBackCommand(program: Command, exitWith: ExitWith): void {
  add(program, 'hold-back', 'Keep a person whom HR lists as left by mistake, or list these people', ...changeOptions)
    .argument('[key]', personHelp)
    .option('--until <day>', 'the day on which what HR says counts again, such as 2026-12-31')
    .option('--reason <text>', 'why, for the record')
    .option('--end', 'let what HR says count now')
    .option('--show-values', candidatesHelp)
    .action(
      exitWith(async (key: string | undefined, options: HoldBackOptions) =>
        (await import('../commands/hold-back.ts')).holdBack(key, options),
      ),
    )
}

function forgetCommand(program: Command, exitWith: ExitWith): void {
  add(
    program,
    'forget',
    'Remove the values of a person who has left; the key and the date of leaving stay',
    commonOptions,
    connectionOption,
    byOption,
  )
    .argument('<key>', personHelp)
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--show-values', candidatesHelp)
    .action(
      exitWith(async (key: string, options: ForgetOptions) =>
        (await import('../commands/forget.ts')).forget(key, options),
      ),
    )
}
