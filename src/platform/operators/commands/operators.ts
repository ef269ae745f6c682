import type { Command } from 'commander'
import { escapeText } from '../../../text/escape.ts'
import { OperatorInput, type OperatorListing, OperatorPassword } from '../contract.ts'
import { type PlatformOptions, parseInput, runOnPlatform, table, withPlatformOptions } from './operating.ts'
import { readPassword } from './read-password.ts'

type PasswordOptions = PlatformOptions & { readonly name: string; readonly passwordFile?: string }

/** Adds `platform operators …`. */
export function operatorCommands(platform: Command): void {
  const operators = platform.command('operators').description('Operators of the Personnel page')
  withPassword(operators.command('create').description('Add an operator of the Personnel page'))
    .option('--account <name>', 'the only account that the operator sees (default: all)')
    .action(async (options: PasswordOptions & { account?: string }) => {
      const operator = parseInput(OperatorInput, {
        name: options.name,
        account: options.account ?? null,
        password: await readPassword(options.passwordFile),
      })
      await runOnPlatform(
        options,
        (access) => access.createOperator({ body: operator }),
        ({ id, name, account }) => `operator ${id}: ${escapeText(name)}, ${escapeText(account ?? 'all accounts')}`,
      )
    })
  withPlatformOptions(operators.command('list').description('List the operators of the Personnel page')).action(
    (options: PlatformOptions) =>
      runOnPlatform(options, async (access) => (await access.listOperators({})).data, renderOperators),
  )
  withPassword(
    operators.command('set-password').description('Replace a password and end all sessions of the operator'),
  ).action(async (options: PasswordOptions) => {
    const { name, password } = parseInput(OperatorPassword, {
      name: options.name,
      password: await readPassword(options.passwordFile),
    })
    await runOnPlatform(
      options,
      async (access) => {
        await access.setOperatorPassword({ params: { operatorName: name }, body: { password } })
        return { name, state: 'changed' }
      },
      () => `the password of ${name} is changed; all their sessions have ended`,
    )
  })
  withPlatformOptions(operators.command('remove').description('Remove an operator of the Personnel page'))
    .requiredOption('--name <name>', 'the operator')
    .action(({ name, ...options }: PlatformOptions & { name: string }) =>
      runOnPlatform(
        options,
        async (access) => {
          await access.removeOperator({ params: { operatorName: name } })
          return { name, state: 'removed' }
        },
        () => `operator ${name} is removed`,
      ),
    )
}

function withPassword(command: Command): Command {
  return withPlatformOptions(command)
    .requiredOption('--name <name>', 'the sign-in name')
    .option('--password-file <path>', 'a file that holds the password (default: standard input)')
}

function renderOperators(operators: readonly OperatorListing[]): string {
  if (operators.length === 0) return 'no operators'
  return table(operators.map(({ id, name, account }) => [id, name, account ?? 'all accounts']))
}
