import { type Command, Option } from 'commander'
import type { TokenRole } from '../../contract/control/access.ts'
import type { TokenCreateOptions, TokenRevokeOptions } from '../commands/token.ts'
import type { CommonOptions } from '../session/session.ts'
import { addCommand, byOption, commonOptions, type ExitWith } from './define.ts'

// The schema knows the roles too, but loading it takes as long as everything else that is loaded for the help.
const roles: Readonly<Record<TokenRole, true>> = {
  viewer: true,
  operator: true,
  approver: true,
  admin: true,
  scim: true,
}

/** Adds the commands about the tokens of the control API. */
export function tokenCommands(program: Command, exitWith: ExitWith): void {
  const token = addCommand(program, 'token', 'Create, list and revoke access tokens for people and programs')

  addCommand(token, 'create', 'Create a token and show it once', commonOptions, byOption)
    .requiredOption('--name <name>', 'the person or program that uses the token; recorded in the audit trail')
    .addOption(
      new Option('--role <role>', 'role of the token; each includes the ones before it, and scim only pushes people')
        .choices(Object.keys(roles))
        .makeOptionMandatory(),
    )
    .option('--connection <name>', 'the connection that a token with the role scim pushes to')
    .option('--expires <when>', 'when it expires, such as 90d, 12h or 2027-01-31 (default: never)')
    .action(
      exitWith(async (options: TokenCreateOptions) => (await import('../commands/token.ts')).tokenCreate(options)),
    )

  addCommand(token, 'list', 'List the tokens with role, expiry and last use', commonOptions).action(
    exitWith(async (options: CommonOptions) => (await import('../commands/token.ts')).tokenList(options)),
  )

  addCommand(token, 'revoke', 'Revoke a token now, and end every session started with it', commonOptions, byOption)
    .argument('<name>', 'the name of the token')
    .action(
      exitWith(async (name: string, options: TokenRevokeOptions) =>
        (await import('../commands/token.ts')).tokenRevoke(name, options),
      ),
    )
}
