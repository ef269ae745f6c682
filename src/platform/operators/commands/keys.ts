import type { Command } from 'commander'
import { Failure } from '../../../errors.ts'
import { KeyInput, type KeyListing } from '../../accounts/contract.ts'
import { knownPermissions } from '../../accounts/permissions.ts'
import {
  type PlatformOptions,
  parseInput,
  printResult,
  runOnPlatform,
  table,
  wholeNumber,
  withPlatformOptions,
} from './operating.ts'

type CreateOptions = PlatformOptions & {
  readonly account: string
  readonly name: string
  readonly permission?: string[]
  readonly allRead?: boolean
  readonly all?: boolean
  readonly expires?: string
  readonly allowAddress?: string[]
}

/** Adds `platform keys …`. */
export function keyCommands(platform: Command): void {
  const keys = platform.command('keys').description('API keys of the platform')
  addCreate(keys)
  withPlatformOptions(keys.command('list').description('List all API keys, without the keys themselves')).action(
    (options: PlatformOptions) =>
      runOnPlatform(options, async (operator) => (await operator.listKeys({})).data, renderKeys),
  )
  withPlatformOptions(keys.command('revoke').description('Revoke an API key'))
    .argument('<id>', 'its number, as `keys list` shows it', wholeNumber)
    .action((id: number, options: PlatformOptions) =>
      runOnPlatform(
        options,
        async (operator) => {
          await operator.revokeKey({ params: { keyId: id } })
          return { id, state: 'revoked' }
        },
        () => `key ${id} is revoked`,
      ),
    )
  keys
    .command('permissions')
    .description('List all permissions with the operations that need them')
    .option('--json', 'print one JSON document on stdout and nothing else there')
    .action((options: { json?: boolean }) => {
      const permissions = [...knownPermissions].map(([name, operations]) => ({ name, operations }))
      printResult(options, permissions, () =>
        permissions.map(({ name, operations }) => `${name}\t${operations.join(', ')}`).join('\n'),
      )
    })
}

function addCreate(keys: Command): void {
  withPlatformOptions(keys.command('create').description('Create an API key and print it once'))
    .requiredOption('--account <name>', 'the account of the key')
    .requiredOption('--name <name>', 'what it is for')
    .option('--permission <key...>', 'the permissions of the key')
    .option('--all-read', 'all read permissions, also future ones')
    .option('--all', 'all permissions, also future ones (default)')
    .option('--expires <instant>', 'when it expires, or "never" (default: in twelve months)')
    .option('--allow-address <address...>', 'addresses and networks from which it works, such as 10.0.0.0/8')
    .action((options: CreateOptions) => {
      const key = parseInput(KeyInput, {
        account: options.account,
        name: options.name,
        permissions: permissionsOf(options),
        expiresAt: options.expires === 'never' ? null : options.expires,
        allowedAddresses: options.allowAddress,
      })
      return runOnPlatform(
        options,
        (operator) => operator.createKey({ body: key }),
        (created) => created.key,
      )
    })
}

function permissionsOf({ permission, allRead, all }: CreateOptions): string[] | 'all' | 'all-read' {
  const choices = [permission, allRead, all].filter((option) => option !== undefined)
  if (choices.length > 1)
    throw new Failure('usage', 'a key has either the named permissions (--permission), --all-read or --all')
  return permission ?? (allRead ? 'all-read' : 'all')
}

function renderKeys(keys: readonly KeyListing[]): string {
  if (keys.length === 0) return 'no API keys'
  return table(
    keys.map(({ id, account, name, access, permissions, state, expiresAt, allowedAddresses }) => [
      id,
      state.replace('-', ' '),
      account,
      name,
      access === 'custom' ? permissions.join(',') : access,
      expiresAt ?? 'never expires',
      allowedAddresses.join(',') || 'any address',
    ]),
  )
}
