import type { Command } from 'commander'
import { pluralize } from '../../../web/words.ts'
import type { SyncResult } from '../../identity-sync/sync-result.ts'
import { type PlatformOptions, runOnPlatform, withPlatformOptions } from './operating.ts'

/** Adds `platform sync-identities`. */
export function identitySyncCommands(platform: Command): void {
  withPlatformOptions(platform.command('sync-identities').description('Run the identity sync of an account now'))
    .requiredOption('--account <name>', 'the account')
    .action((options: PlatformOptions & { account: string }) =>
      runOnPlatform(options, (operator) => operator.syncIdentities({ body: { account: options.account } }), renderSync),
    )
}

function renderSync({ identities, created, changed, counts, durationMs }: SyncResult): string {
  const people = Object.entries(counts).filter(([, count]) => count > 0)
  return [
    `${pluralize(identities, 'HR record')} in ${durationMs} ms: ${pluralize(created, 'person', 'people')} created, ${changed} changed`,
    ...people.map(([status, count]) => `  ${status} ${count}`),
  ].join('\n')
}
