import type { Command } from 'commander'
import { accountCommands } from './commands/accounts.ts'
import { auditRequestCommands } from './commands/audit-requests.ts'
import { auditCommands } from './commands/audits.ts'
import { entitlementCommands } from './commands/entitlements.ts'
import { exportCommands } from './commands/export.ts'
import { identitySyncCommands } from './commands/identity-syncs.ts'
import { keyCommands } from './commands/keys.ts'
import { openapiCommand } from './commands/openapi.ts'
import { operatorCommands } from './commands/operators.ts'
import { seedCommand } from './commands/seed.ts'
import { serveCommand } from './commands/serve.ts'

/** Adds `platform …`: running the compliance platform on this machine, and operating it. */
export function platformCommands(program: Command): void {
  const platform = program.command('platform').description('Run and operate the compliance platform on this machine')
  serveCommand(platform)
  accountCommands(platform)
  entitlementCommands(platform)
  keyCommands(platform)
  operatorCommands(platform)
  identitySyncCommands(platform)
  seedCommand(platform)
  exportCommands(platform)
  auditCommands(platform)
  auditRequestCommands(platform)
  openapiCommand(platform)
}
