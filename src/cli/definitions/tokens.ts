import { type Command, Option } from 'commander'
import type { Role } from '../../contract/control/access.ts'
import type { TokenCreateOptions, TokenRevokeOptions } from '../commands/token.ts'
import type { CommonOptions } from '../session/session.ts'
import { add, byOption, commonOptions, type ExitWith } from './define.ts'

// The schema knows the roles too, but loading it takes as long as everything else that is loaded for the help.
const roles: Readonly<Record<Role, true>> = { viewer: true, operator: true, approver: true, admin: true }

/** Adds the commands about the tokens of the control API. */
export function tokenCommands(program: Command, exitWith: ExitWith): void {
  const token = add(program, 'token', 'The tokens by which people and programs are let in: make, list, revoke')

  add(token, 'create', 'Make a token and show it, this once', commonOptions, byOption)
    .requiredOption('--name <name>', 'whose it is, for the record')
    .addOption(
      new Option('--role <role>', 'what its holder may do; each role may do what those before it may')
        .choices(Object.keys(roles))
        .makeOptionMandatory(),
    )
    .option('--expires <when>', 'when it ends, such as 90d, 12h or 2027-01-31 (default: never)')
    .action(
      exitWith(async (options: TokenCreateOptions) => (await import('../commands/token.ts')).tokenCreate(options)),
    )

  add(token, 'list', 'List the tokens with their roles, ends and last uses', commonOptions).action(
    exitWith(async (options: CommonOptions) => (await import('../commands/token.ts')).tokenList(options)),
  )

  add(token, 'revoke', 'End a token now, and every sign-in that was begun with it', commonOptions, byOption)
    .argument('<name>', 'the name of the token')
    .action(
      exitWith(async (name: string, options: TokenRevokeOptions) =>
        (await import('../commands/token.ts')).tokenRevoke(name, options),
      ),
    )
}
