import type { Command } from 'commander'
import { accountCommands } from './accounts.ts'
import { auditRequestCommands } from './audit-requests.ts'
import { auditCommands } from './audits.ts'
import { entitlementCommands } from './entitlements.ts'
import { exportCommands } from './export.ts'
import { groupCommands } from './groups.ts'
import { identitySyncCommands } from './identity-syncs.ts'
import { keyCommands } from './keys.ts'
import { openapiCommand } from './openapi.ts'
import { operatorCommands } from './operators.ts'
import { seedCommand } from './seed.ts'
import { serveCommand } from './serve.ts'

/** Adds the subcommands of `platform`: running and operating the compliance platform on this machine. */
export function platformCommands(platform: Command): void {
  serveCommand(platform)
  accountCommands(platform)
  entitlementCommands(platform)
  keyCommands(platform)
  operatorCommands(platform)
  identitySyncCommands(platform)
  groupCommands(platform)
  seedCommand(platform)
  exportCommands(platform)
  auditCommands(platform)
  auditRequestCommands(platform)
  openapiCommand(platform)
}
