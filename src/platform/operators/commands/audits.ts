import type { Command } from 'commander'
import { AuditId } from '../../../contract/platform/audits.ts'
import { readAudit } from '../../seed/file.ts'
import { AuditInput, AuditStatusChange } from '../audit-contract.ts'
import { type PlatformOptions, parseInput, runOnPlatform, withPlatformOptions } from './operating.ts'

type CreateOptions = PlatformOptions & {
  readonly account: string
  readonly workspace: string
  readonly file?: string
  readonly framework?: string
  readonly start?: string
  readonly end?: string
  readonly type?: string
  readonly internal?: boolean
  readonly status?: string
  readonly auditor?: string[]
  readonly internalAuditor?: string[]
  readonly control?: string[]
}

/** Adds `platform audits …`. */
export function auditCommands(platform: Command): void {
  const audits = platform.command('audits').description('Audits of workspaces, which the public API only reads')
  withPlatformOptions(audits.command('create').description('Open an audit and print its id'))
    .requiredOption('--account <name>', 'the account')
    .requiredOption('--workspace <name>', 'the audited workspace')
    .option('--file <path>', 'a YAML or JSON file with the audit as in a seed; the options below overwrite its fields')
    .option('--framework <name>', 'such as SOC_2_TYPE_2')
    .option('--start <day>', 'the first day of the audited period, such as 2026-01-01')
    .option('--end <day>', 'its last day')
    .option('--type <name>', 'FULL_AUDIT or DOWNLOAD_ONLY_AUDIT')
    .option('--internal', 'an internal audit')
    .option('--status <name>', 'PREPARING or ACTIVE')
    .option('--auditor <person...>', 'external auditors, each as "Name <address>"')
    .option('--internal-auditor <email...>', 'internal auditors')
    .option('--control <code...>', 'the audited controls')
    .action(async (options: CreateOptions) => {
      const { account, workspace, file } = options
      const audit = { ...(file === undefined ? {} : await readAudit(file)), ...auditFields(options) }
      const input = parseInput(AuditInput, { account, workspace, audit })
      await runOnPlatform(
        options,
        (operator) => operator.createAudit({ body: input }),
        ({ id, status }) => `audit ${id}: ${status}`,
      )
    })
  withPlatformOptions(audits.command('set-status').description('Move an audit to another status'))
    .argument('<id>', 'its id in the public API')
    .argument('<status>', 'PREPARING, ACTIVE or COMPLETED')
    .option('--completed-at <instant>', 'when it was completed (default: now)')
    .action((id: string, status: string, options: PlatformOptions & { completedAt?: string }) => {
      const auditId = parseInput(AuditId, id)
      const { completedAt } = options
      const change = parseInput(AuditStatusChange, { status, completedAt })
      return runOnPlatform(
        options,
        (operator) => operator.setAuditStatus({ params: { auditId }, body: change }),
        (moved) => `audit ${moved.id}: ${moved.status}`,
      )
    })
}

function auditFields(options: CreateOptions): Record<string, unknown> {
  const fields = {
    framework: options.framework,
    startDate: options.start,
    endDate: options.end,
    auditType: options.type,
    isInternalAudit: options.internal,
    status: options.status,
    auditors: options.auditor?.map(auditorOf),
    internalAuditors: options.internalAuditor,
    controls: options.control,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function auditorOf(person: string): { name: string; email: string } {
  const [, name = '', email = person] = /^(.*?)\s*<([^<>]*)>$/.exec(person) ?? []
  return { name: name || email, email }
}
