import type { Command } from 'commander'
import type { AuditExportOptions, AuditNewKeyOptions, AuditVerifyOptions } from '../commands/audit.ts'
import { add, byOption, commonOptions, configOptions, type ExitWith } from './define.ts'

/** Adds the commands about the audit trail. */
export function auditCommands(program: Command, exitWith: ExitWith): void {
  const audit = add(program, 'audit', 'The record of everything: verify it, hand it out, replace its key')

  add(audit, 'verify', 'Go over the whole audit trail and name the first entry that is wrong', commonOptions)
    .option('--public-key <file>', 'verify with this public key (PEM) instead of that of the installation')
    .action(
      exitWith(async (options: AuditVerifyOptions) => (await import('../commands/audit.ts')).auditVerify(options)),
    )

  add(audit, 'export', 'Print acts with what proves them, as lines of JSON', configOptions)
    .option('--from <time>', 'acts from this time or day on')
    .option('--to <time>', 'acts before this time or day')
    .option('--connection <name>', 'of this connection only')
    .option('--run <id>', 'of this run only, such as last')
    .option('--person <key>', 'about this person only, by key, e-mail address or name')
    .action(
      exitWith(async (options: AuditExportOptions) => (await import('../commands/audit.ts')).auditExport(options)),
    )

  add(audit, 'new-key', 'Let a new key sign from now on, as when the old one was lost or seen', commonOptions, byOption)
    .requiredOption('--reason <text>', 'why, for the record')
    .action(
      exitWith(async (options: AuditNewKeyOptions) => (await import('../commands/audit.ts')).auditNewKey(options)),
    )
}
