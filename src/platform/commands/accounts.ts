import type { Command } from 'commander'
import { AccountInput } from '../account-input.ts'
import { asOperator, type OperatingOptions, operating, parseInput } from './operating.ts'

type CreateOptions = OperatingOptions & {
  readonly name: string
  readonly entitlement: string[]
  readonly acceptTerms?: boolean
}

/** Adds `platform accounts …`. */
export function accountCommands(platform: Command): void {
  const accounts = platform.command('accounts').description('Accounts of the platform')
  operating(accounts.command('create').description('Open an account'))
    .requiredOption('--name <name>', 'how you name the account')
    .option('--entitlement <name...>', 'the features of its plan', ['CUSTOM_CONNECTIONS_AND_TESTS'])
    .option('--accept-terms', 'record that its terms are accepted')
    .action((options: CreateOptions) => {
      const account = parseInput(AccountInput, {
        name: options.name,
        entitlements: options.entitlement,
        termsAcceptedAt: options.acceptTerms ? new Date().toISOString() : null,
      })
      return asOperator(
        options,
        (operator) => operator.createAccount(account),
        ({ id, name }) => `account ${id}: ${name}`,
      )
    })
}
