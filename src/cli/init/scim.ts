import type { Config } from '../../daemon/config/config.ts'
import { type ConnectionText, requireTimeZone, toConnectionName } from '../../daemon/proposal/configuration.ts'
import { addressHelp, firstTokenName, scimAddress, scimConnection } from '../../daemon/proposal/scim-connection.ts'
import { type SenderSetup, senderSetups } from '../../daemon/proposal/sender-setups.ts'
import { loadScim } from '../../daemon/scim/load.ts'
import { Failure } from '../../errors.ts'
import { withSession } from '../session/session.ts'
import { type PromptContext, type Question, untilGood } from './recipe.ts'

/** What `--source` is called with for people whom an identity system pushes. */
export const pushedSource = 'scim'

/** The options of `rollcall init` about a connection that is pushed. */
type ScimOptions = {
  readonly name?: string
  readonly timeZone?: string
  readonly publicUrl?: string
}

/** A connection that is pushed, its name in the configuration, and the address of the daemon, if a person gave it. */
type ScimResult = { readonly connection: ConnectionText; readonly name: string; readonly publicUrl: string | null }

/** Asks for what a connection needs that is pushed. `prompts`: null takes everything from the options. */
export async function connectScim(options: ScimOptions, asking: PromptContext): Promise<ScimResult> {
  await loadScim()
  const ask = (option: string | undefined, question: Omit<Question, 'lacking'>) =>
    untilGood(asking, option, { ...question, lacking: null })
  const target = await ask(options.name, {
    message: 'Name of the connection?',
    usual: 'HR',
    check: async (text) => text,
  })
  const timeZone = await ask(options.timeZone, {
    message: 'Which time zone decides on which day a person leaves?',
    usual: Temporal.Now.timeZoneId(),
    check: async (text) => requireTimeZone(text),
  })
  const publicUrl = await ask(options.publicUrl, {
    message: 'Under which https address does the identity system reach this daemon? (Enter: there is none yet)',
    usual: '',
    check: async (text) => (text === '' ? '' : requireOrigin(text)),
  })
  const name = toConnectionName(target)
  const connection = scimConnection({ name, target, timeZone })
  return { connection, name, publicUrl: publicUrl === '' ? null : publicUrl }
}

/** What a person gives to the administrator of the identity system. */
export type SenderResult = {
  readonly address: string
  /** Why identity systems cannot reach the address; null: they can. */
  readonly help: string | null
  /** Shown here and never again. */
  readonly token: string
  readonly senders: readonly SenderSetup[]
}

/** Creates the token of the identity system, in the daemon that has the store or else in the store itself. */
export async function createSender(
  config: Config,
  { connection, by, json = false }: { readonly connection: string; readonly by: string; readonly json?: boolean },
): Promise<SenderResult> {
  let token = ''
  const exit = await withSession({ config: config.file, json }, { isReadOnly: true }, async ({ control }) => {
    const body = { name: firstTokenName(connection), role: 'scim', connection, by } as const
    token = (await control.createToken({ body })).token
    return 0
  })
  if (exit !== 0) throw new Failure('usage', 'the command was stopped')
  const address = scimAddress(config, connection)
  return { address, help: addressHelp(address), token, senders: senderSetups(address) }
}

function requireOrigin(text: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin
  throw new Failure('usage', 'the address of the daemon is a scheme and a host, such as https://rollcall.acme.example')
}
