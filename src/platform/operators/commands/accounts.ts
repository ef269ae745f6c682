import type { Command } from 'commander'
import { z } from 'zod'
import { escapeText } from '../../../text/escape.ts'
import { pluralize } from '../../../web/words.ts'
import { AccountInput, type AccountListing } from '../../accounts/contract.ts'
import { Name } from '../../core/input-texts.ts'
import { type PlatformOptions, parseInput, runOnPlatform, table, withPlatformOptions } from './operating.ts'

/** The options of a command about one account. */
export type AccountOptions = PlatformOptions & { readonly account: string }

const AccountName = z.object({ account: Name })

type CreateOptions = PlatformOptions & {
  readonly name: string
  readonly entitlement: string[]
  readonly acceptTerms?: boolean
}

/** Adds `platform accounts …` and `platform terms …`. */
export function accountCommands(platform: Command): void {
  const accounts = platform.command('accounts').description('Accounts of the platform')
  withPlatformOptions(accounts.command('create').description('Open an account'))
    .requiredOption('--name <name>', 'the name of the account')
    .option('--entitlement <name...>', 'the features of its plan', ['CUSTOM_CONNECTIONS_AND_TESTS'])
    .option('--accept-terms', 'record that its terms are accepted')
    .action((options: CreateOptions) => {
      const account = parseInput(AccountInput, {
        name: options.name,
        entitlements: options.entitlement,
        termsAcceptedAt: options.acceptTerms ? new Date().toISOString() : null,
      })
      return runOnPlatform(
        options,
        (operator) => operator.createAccount({ body: account }),
        ({ id, name }) => `account ${id}: ${escapeText(name)}`,
      )
    })
  withPlatformOptions(accounts.command('list').description('List all accounts')).action((options: PlatformOptions) =>
    runOnPlatform(options, async (operator) => (await operator.listAccounts({})).data, renderAccounts),
  )
  withAccountOption(accounts.command('show').description('Show one account')).action((options: AccountOptions) =>
    runOnPlatform(
      options,
      (operator) => operator.showAccount({ params: { account: accountName(options) } }),
      renderAccount,
    ),
  )
  const terms = platform.command('terms').description('The terms of the platform')
  withAccountOption(
    terms.command('accept').description('Record that an account accepts them; a second time changes nothing'),
  ).action((options: AccountOptions) =>
    runOnPlatform(
      options,
      (operator) => operator.acceptTerms({ params: { account: accountName(options) } }),
      ({ name, termsAcceptedAt }) => `account ${escapeText(name)} accepted the terms at ${termsAcceptedAt}`,
    ),
  )
}

/** Adds the operator's options and `--account`. */
export function withAccountOption(command: Command): Command {
  return withPlatformOptions(command).requiredOption('--account <name>', 'the account')
}

/** The value of `--account`; fails with `usage` if no account can have that name. */
export function accountName({ account }: AccountOptions): string {
  return parseInput(AccountName, { account }).account
}

function renderAccounts(accounts: readonly AccountListing[]): string {
  if (accounts.length === 0) return 'no accounts'
  return table(
    accounts.map(({ id, name, termsAcceptedAt, entitlements, counts }) => [
      id,
      name,
      termsAcceptedAt === null ? 'terms open' : 'terms accepted',
      entitlements.join(',') || 'no entitlements',
      pluralize(counts.personnel, 'person', 'people'),
      pluralize(counts.connections, 'connection'),
      pluralize(counts.keys, 'key'),
    ]),
  )
}

function renderAccount({ id, name, createdAt, termsAcceptedAt, entitlements, counts }: AccountListing): string {
  return [
    `account ${id}: ${escapeText(name)}, opened at ${createdAt}`,
    termsAcceptedAt === null ? 'the terms are not accepted' : `terms accepted at ${termsAcceptedAt}`,
    `entitlements: ${escapeText(entitlements.join(', ')) || 'none'}`,
    ...Object.entries(counts).map(([noun, count]) => `  ${noun} ${count}`),
  ].join('\n')
}
