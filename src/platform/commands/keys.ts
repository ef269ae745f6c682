import type { Command } from 'commander'
import { KeyInput, type KeyListing } from '../operator-contract.ts'
import { asOperator, type OperatingOptions, operating, parseInput, wholeNumber } from './operating.ts'

type CreateOptions = OperatingOptions & {
  readonly account: string
  readonly name: string
  readonly permission?: string[]
  readonly allRead?: boolean
  readonly expires?: string
}

/** Adds `platform keys …`. */
export function keyCommands(platform: Command): void {
  const keys = platform.command('keys').description('API keys of the platform')
  operating(keys.command('create').description('Make an API key and print it, this once'))
    .requiredOption('--account <name>', 'the account it belongs to')
    .requiredOption('--name <name>', 'what it is for')
    .option('--permission <key...>', 'the permissions it holds (default: all)')
    .option('--all-read', 'everything that reads')
    .option('--expires <instant>', 'when it ends, or "never" (default: in twelve months)')
    .action((options: CreateOptions) => {
      const key = parseInput(KeyInput, {
        account: options.account,
        name: options.name,
        permissions: options.permission ?? (options.allRead ? 'all-read' : 'all'),
        ...(options.expires !== undefined && { expiresAt: options.expires === 'never' ? null : options.expires }),
      })
      return asOperator(
        options,
        (operator) => operator.createKey(key),
        (created) => created.key,
      )
    })
  operating(keys.command('list').description('List all API keys, without the keys themselves')).action(
    (options: OperatingOptions) => asOperator(options, (operator) => operator.listKeys(), renderKeys),
  )
  operating(keys.command('revoke').description('End an API key for good'))
    .argument('<id>', 'its number, as `keys list` shows it', wholeNumber)
    .action((id: number, options: OperatingOptions) =>
      asOperator(
        options,
        async (operator) => {
          await operator.revokeKey(id)
          return { id, state: 'revoked' }
        },
        () => `key ${id} is revoked`,
      ),
    )
}

function renderKeys(keys: readonly KeyListing[]): string {
  if (keys.length === 0) return 'no API keys'
  return keys
    .map(({ id, account, name, access, permissions, state, expiresAt }) =>
      [
        id,
        state,
        account,
        name,
        access === 'custom' ? permissions.join(',') : access,
        expiresAt ?? 'never expires',
      ].join('\t'),
    )
    .join('\n')
}
