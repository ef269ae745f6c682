import { type Command, Option } from 'commander'
import type { EffectiveFixOptions, EffectiveOptions } from '../commands/effective.ts'
import type { ForgetOptions } from '../commands/forget.ts'
import type { HoldBackOptions } from '../commands/hold-back.ts'
import type { LeaveOptions } from '../commands/leave.ts'
import type { PersonOptions } from '../commands/person.ts'
import type { ReportFormat, ReportLeaversOptions } from '../commands/report-leavers.ts'
import type { RetractOptions } from '../commands/retract.ts'
import type { SeparateOptions } from '../commands/separate.ts'
import type { StatementOptions, VerifyStatementOptions } from '../commands/statement.ts'
import {
  addCommand,
  byOption,
  candidatesHelp,
  commonOptions,
  connectionHelp,
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
  statementCommand,
  effectiveCommands,
  retractCommand,
  separateCommand,
  holdBackCommand,
  leaveCommand,
  forgetCommand,
]

const reportFormats: Readonly<Record<ReportFormat, true>> = { csv: true, json: true, html: true }

const changeOptions = [commonOptions, connectionOption, byOption, waitOption]

function personCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'person',
    'Show what HR says about a person, what the platform has, and the history',
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
  const report = addCommand(program, 'report', 'Create reports')

  addCommand(
    report,
    'leavers',
    'Report the departures of a period: when each was stated, read, acknowledged and effective',
    commonOptions,
  )
    .option('--from <day>', 'first day of the period, by last day of employment (default: ninety days before its end)')
    .option('--to <day>', 'last day of the period (default: today)')
    .option('--connection <name>', 'only this connection')
    .addOption(
      new Option('--format <format>', 'write the full report in this format').choices(Object.keys(reportFormats)),
    )
    .option('--out <file>', 'write the report to this file; its extension (.csv, .json, .html) sets the format')
    .option('--pack <file>', 'write a zip with the report, the audit entries and their signatures')
    .option('--show-values', 'include names and e-mail addresses; otherwise keys and dates only')
    .action(
      exitWith(async (options: ReportLeaversOptions) =>
        (await import('../commands/report-leavers.ts')).reportLeavers(options),
      ),
    )
}

function statementCommand(program: Command, exitWith: ExitWith): void {
  const command = addCommand(
    program,
    'statement',
    'Show how many people HR states and the platform has, and whether everybody is accounted for',
    commonOptions,
    connectionOption,
  )
    .option('--at <day>', 'the last statement of this day, or before this instant (default: the newest)')
    .addOption(
      new Option('--format <format>', 'html: a page; csv and json: also list every key').choices(
        Object.keys(reportFormats),
      ),
    )
    .option('--show-values', 'include names; otherwise keys only')
    .action(
      exitWith(async (options: StatementOptions) => (await import('../commands/statement.ts')).statement(options)),
    )

  // Commander gives options that both commands have to the parent.
  const verify = addCommand(
    command,
    'verify',
    "Read HR's export of a night again and compare it with the statement in an audit pack",
    commonOptions,
  )
    .requiredOption('--export <file>', "HR's export")
    .requiredOption('--pack <file>', 'the file written by "rollcall report leavers --pack"')
    .option('--connection <name>', connectionHelp)
    .action(
      exitWith(async () =>
        (await import('../commands/statement.ts')).statementVerify(verify.optsWithGlobals<VerifyStatementOptions>()),
      ),
    )
}

function retractCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'retract',
    'Delete the data of a person who was sent by mistake; the run waits for an approval',
    ...changeOptions,
  )
    .argument('<key>', personHelp)
    .option('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--undo', 'undo the retraction and send the person again')
    .option('--show-values', candidatesHelp)
    .action(
      exitWith(async (key: string, options: RetractOptions) =>
        (await import('../commands/retract.ts')).retract(key, options),
      ),
    )
}

function separateCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'separate',
    "Plan the departure of people who are on the platform but not in HR's data; the run waits for an approval",
    ...changeOptions,
  )
    .argument('<keys...>', 'their keys, as listed by "rollcall problems"')
    .requiredOption('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--on <day>', 'their last day, such as 2026-10-31 (default: today)')
    .action(
      exitWith(async (keys: string[], options: SeparateOptions) =>
        (await import('../commands/separate.ts')).separate(keys, options),
      ),
    )
}

function holdBackCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'hold-back',
    'Hold back the departure of a person whom HR shows as left by mistake, or list these people',
    ...changeOptions,
  )
    .argument('[key]', personHelp)
    .option('--until <day>', 'the day on which HR data applies again, such as 2026-12-31')
    .option('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--end', 'let HR data apply again now')
    .option('--show-values', candidatesHelp)
    .action(
      exitWith(async (key: string | undefined, options: HoldBackOptions) =>
        (await import('../commands/hold-back.ts')).holdBack(key, options),
      ),
    )
}

function leaveCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'leave', 'State a departure that HR has not recorded yet, or list these people', ...changeOptions)
    .argument('[key]', personHelp)
    .option('--on <day>', 'the last day, such as 2026-10-31 (default: today; the second person must give it)')
    .option('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--emergency', 'do not wait for a second person; every alert channel is notified')
    .option('--withdraw', "withdraw the stated departure: HR's data applies again")
    .option('--show-values', candidatesHelp)
    .action(
      exitWith(async (key: string | undefined, options: LeaveOptions) =>
        (await import('../commands/leave.ts')).leave(key, options),
      ),
    )
}

function effectiveCommands(program: Command, exitWith: ExitWith): void {
  const effective = addCommand(
    program,
    'effective',
    "List the people whose status on the platform does not match HR's data, and why",
    commonOptions,
  )
    .option('--connection <name>', 'only this connection')
    .option(
      '--directory <name|file>',
      'check accounts instead: those of a configured directory, or of a file (CSV, XLSX)',
    )
    .option('--compare', 'compare everybody now')
    .option('--show-values', 'include names and e-mails; otherwise keys only')
    .action(
      exitWith(async (options: EffectiveOptions) => (await import('../commands/effective.ts')).effective(options)),
    )

  addCommand(
    effective,
    'fix',
    "Reset the identity sync of people who were edited by hand on the platform, so that HR's data applies again",
    commonOptions,
    connectionOption,
    byOption,
  )
    .argument('<person...>', 'the people, by the keys in the list of "rollcall effective"')
    .requiredOption('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--yes', 'reset the sync of these people; without --yes, only show them')
    .option('--show-values', 'include names and e-mails; otherwise keys only')
    .action(
      // Commander gives options that both commands have, such as --config, to the parent.
      exitWith(async (keys: string[], _options: EffectiveFixOptions, command: Command) =>
        (await import('../commands/effective.ts')).effectiveFix(keys, command.optsWithGlobals<EffectiveFixOptions>()),
      ),
    )
}

function forgetCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'forget',
    'Remove the values of a person who has left; the key and the leaving date stay',
    commonOptions,
    connectionOption,
    byOption,
  )
    .argument('<key>', personHelp)
    .requiredOption('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--show-values', candidatesHelp)
    .action(
      exitWith(async (key: string, options: ForgetOptions) =>
        (await import('../commands/forget.ts')).forget(key, options),
      ),
    )
}
