import type { Command } from 'commander'
import type { AccountListing } from '../../accounts/contract.ts'
import { Entitlements } from '../contract.ts'
import { type AccountOptions, accountName, withAccountOption } from './accounts.ts'
import { parseInput, runOnPlatform } from './operating.ts'

/** Adds `platform entitlements …`. */
export function entitlementCommands(platform: Command): void {
  const entitlements = platform.command('entitlements').description("The features of an account's plan")
  withAccountOption(entitlements.command('list').description('List them')).action((options: AccountOptions) =>
    runOnPlatform(
      options,
      async (operator) => namesOf(await operator.showAccount({ params: { account: accountName(options) } })),
      render,
    ),
  )
  withAccountOption(entitlements.command('grant').description('Add features'))
    .argument('<names...>', 'such as CUSTOM_CONNECTIONS_AND_TESTS')
    .action((argument: string[], options: AccountOptions) => {
      const { names } = parseInput(Entitlements, { names: argument })
      return runOnPlatform(
        options,
        async (operator) =>
          namesOf(
            await operator.grantEntitlements({ params: { account: accountName(options) }, body: { names: names } }),
          ),
        render,
      )
    })
  withAccountOption(entitlements.command('revoke').description('Remove features'))
    .argument('<names...>', 'such as CUSTOM_CONNECTIONS_AND_TESTS')
    .action((argument: string[], options: AccountOptions) => {
      const { names } = parseInput(Entitlements, { names: argument })
      return runOnPlatform(
        options,
        async (operator) =>
          namesOf(
            await operator.revokeEntitlements({ params: { account: accountName(options) }, body: { names: names } }),
          ),
        render,
      )
    })
}

function namesOf({ entitlements }: AccountListing): string[] {
  return entitlements
}

function render(names: readonly string[]): string {
  return names.join('\n') || 'no entitlements'
}
