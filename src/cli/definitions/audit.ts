import type { Command } from 'commander'
import type { AuditExportOptions, AuditNewKeyOptions, AuditVerifyOptions } from '../commands/audit.ts'
import { addCommand, byOption, commonOptions, configOptions, type ExitWith } from './define.ts'

/** Adds the commands about the audit trail. */
export function auditCommands(program: Command, exitWith: ExitWith): void {
  const audit = addCommand(program, 'audit', 'Verify or export the audit trail, or replace its key')

  addCommand(audit, 'verify', 'Verify the whole audit trail and show the first wrong entry', commonOptions)
    .option('--public-key <file>', 'verify with this public key (PEM) instead of the installed one')
    .action(
      exitWith(async (options: AuditVerifyOptions) => (await import('../commands/audit.ts')).auditVerify(options)),
    )

  addCommand(audit, 'export', 'Print audit entries with their signatures, as JSON lines', configOptions)
    .option('--from <time>', 'entries from this time or day on; days begin at 00:00 UTC')
    .option('--to <time>', 'entries before this time or day')
    .option('--act <name>', 'only this action, such as run.approved, or all of a kind, such as run')
    .option('--by <name>', 'only what this person did')
    .option('--connection <name>', 'only this connection')
    .option('--run <id>', 'only this run, such as last')
    .option('--person <key>', 'only this person, by key, e-mail address or name')
    .action(
      exitWith(async (options: AuditExportOptions) => (await import('../commands/audit.ts')).auditExport(options)),
    )

  addCommand(
    audit,
    'new-key',
    'Sign with a new key from now on, for example after the old one was lost or leaked',
    commonOptions,
    byOption,
  )
    .requiredOption('--reason <text>', 'the reason, recorded in the audit trail')
    .action(
      exitWith(async (options: AuditNewKeyOptions) => (await import('../commands/audit.ts')).auditNewKey(options)),
    )
}
