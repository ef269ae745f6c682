import type { Command } from 'commander'
import { AuditId } from '../../../contract/platform/audits.ts'
import { NewAuditMessage, NewAuditRequest } from '../../audits/audit-input.ts'
import { readAuditRequest } from '../../seed/file.ts'
import { RequestStatusChange } from '../audit-contract.ts'
import { type PlatformOptions, parseInput, runOnPlatform, wholeNumber, withPlatformOptions } from './operating.ts'

type CreateOptions = PlatformOptions & {
  readonly audit: string
  readonly file?: string
  readonly code?: string
  readonly title?: string
  readonly description?: string
  readonly status?: string
  readonly owner?: string[]
  readonly control?: string[]
}

/** Adds `platform requests …`. */
export function auditRequestCommands(platform: Command): void {
  const requests = platform.command('requests').description('Requests of auditors')
  withPlatformOptions(requests.command('create').description('Add a request to an audit and print its number'))
    .requiredOption('--audit <id>', 'the id of the audit in the public API')
    .option(
      '--file <path>',
      'a YAML or JSON file with the request as in a seed; the options below overwrite its fields',
    )
    .option('--code <code>', 'its short name, unique in the audit, such as REQ-001')
    .option('--title <text>', 'the title')
    .option('--description <text>', 'the description')
    .option('--status <name>', 'OUTSTANDING (default), IN_REVIEW, ACCEPTED or CHANGES_REQUESTED')
    .option('--owner <email...>', 'its owners, users of the account')
    .option('--control <code...>', 'its controls')
    .action(async (options: CreateOptions) => {
      const auditId = parseInput(AuditId, options.audit)
      const { file } = options
      const request = parseInput(NewAuditRequest, {
        ...(file === undefined ? {} : await readAuditRequest(file)),
        ...requestFields(options),
      })
      await runOnPlatform(
        options,
        (operator) => operator.createAuditRequest({ params: { auditId }, body: request }),
        ({ id, status }) => `request ${id}: ${status}`,
      )
    })
  withPlatformOptions(requests.command('set-status').description('Move a request to another status'))
    .argument('<id>', 'its number', wholeNumber)
    .argument('<status>', 'OUTSTANDING, IN_REVIEW, ACCEPTED or CHANGES_REQUESTED')
    .action((id: number, status: string, options: PlatformOptions) => {
      const change = parseInput(RequestStatusChange, { status })
      return runOnPlatform(
        options,
        (operator) => operator.setAuditRequestStatus({ params: { requestId: id }, body: change }),
        (moved) => `request ${moved.id}: ${moved.status}`,
      )
    })
  withPlatformOptions(requests.command('message').description('Add a message to a request'))
    .argument('<id>', 'its number', wholeNumber)
    .argument('<text>', 'the message')
    .option('--by <email>', 'a user of the account or an auditor of the audit (default: the system)')
    .action((id: number, text: string, options: PlatformOptions & { by?: string }) => {
      const message = parseInput(NewAuditMessage, { message: text, by: options.by ?? null })
      return runOnPlatform(
        options,
        (operator) => operator.addAuditRequestMessage({ params: { requestId: id }, body: message }),
        (added) => `message ${added.id} about request ${id}`,
      )
    })
}

function requestFields({ code, title, description, status, owner, control }: CreateOptions): Record<string, unknown> {
  const fields = { code, title, description, status, owners: owner, controls: control }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
