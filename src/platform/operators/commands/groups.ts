import type { Command } from 'commander'
import { escapeText } from '../../../text/escape.ts'
import { pluralize } from '../../../web/words.ts'
import { GroupInput, GroupRemoval } from '../group-contract.ts'
import { type AccountOptions, withAccountOption } from './accounts.ts'
import { parseInput, runOnPlatform } from './operating.ts'

type GroupOptions = AccountOptions & { readonly provider: string; readonly externalId: string }
type SetOptions = GroupOptions & { readonly providerType: string; readonly name: string; readonly member?: string[] }

/** Adds `platform groups …`. */
export function groupCommands(platform: Command): void {
  const groups = platform.command('groups').description('Groups of people, which come with identity providers')
  withGroupOptions(groups.command('set').description('Make a group, or replace its name and members'))
    .requiredOption('--provider-type <name>', 'such as OKTA_IDENTITY')
    .requiredOption('--name <name>', 'the name of the group')
    .option('--member <email...>', 'all people in the group')
    .action((options: SetOptions) => {
      const { account, provider, providerType: clientType, externalId, name, member: members } = options
      const group = { externalId, name, members }
      const input = parseInput(GroupInput, { account, provider: { name: provider, clientType }, group })
      return runOnPlatform(
        options,
        (operator) => operator.setGroup({ body: input }),
        ({ id, members: count }) => `group ${id}: ${pluralize(count, 'member')}`,
      )
    })
  withGroupOptions(groups.command('remove').description('Remove a group')).action((options: GroupOptions) => {
    const { account, provider, externalId } = options
    const input = parseInput(GroupRemoval, { account, provider, externalId })
    return runOnPlatform(
      options,
      (operator) => operator.removeGroup({ body: input }),
      () => `group ${escapeText(externalId)} of ${escapeText(provider)} is removed`,
    )
  })
}

function withGroupOptions(command: Command): Command {
  return withAccountOption(command)
    .requiredOption('--provider <name>', 'the identity provider')
    .requiredOption('--external-id <key>', 'the key of the group at the identity provider')
}
