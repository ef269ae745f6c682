import type { Command } from 'commander'
import type { AccountListing } from '../../accounts/contract.ts'
import { Entitlements } from '../contract.ts'
import { type AccountOptions, nameOf, ofAccount } from './accounts.ts'
import { runAsOperator, parseInput } from './operating.ts'

/** Adds `platform entitlements …`. */
export function entitlementCommands(platform: Command): void {
  const entitlements = platform.command('entitlements').description("The features of an account's plan")
  ofAccount(entitlements.command('list').description('List them')).action((options: AccountOptions) =>
    runAsOperator(
      options,
      async (operator) => namesOf(await operator.showAccount({ params: { account: nameOf(options) } })),
      render,
    ),
  )
  ofAccount(entitlements.command('grant').description('Add features'))
    .argument('<names...>', 'such as CUSTOM_CONNECTIONS_AND_TESTS')
    .action((given: string[], options: AccountOptions) => {
      const { names } = parseInput(Entitlements, { names: given })
      return runAsOperator(
        options,
        async (operator) =>
          namesOf(await operator.grantEntitlements({ params: { account: nameOf(options) }, body: { names: names } })),
        render,
      )
    })
  ofAccount(entitlements.command('revoke').description('Take features away'))
    .argument('<names...>', 'such as CUSTOM_CONNECTIONS_AND_TESTS')
    .action((given: string[], options: AccountOptions) => {
      const { names } = parseInput(Entitlements, { names: given })
      return runAsOperator(
        options,
        async (operator) =>
          namesOf(await operator.revokeEntitlements({ params: { account: nameOf(options) }, body: { names: names } })),
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
