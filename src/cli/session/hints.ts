import { delimiter, join } from 'node:path'

/** The commands that take --config. */
export const commandsWithConfig = [
  'accept-status',
  'accept-store',
  'alerts',
  'alias',
  'approve',
  'audit',
  'backup',
  'cancel',
  'check',
  'dismiss-events',
  'doctor',
  'effective',
  'events',
  'forget',
  'hold-back',
  'leave',
  'move',
  'pause',
  'person',
  'plan',
  'problems',
  'reject',
  'report',
  'restore',
  'resume',
  'resync',
  'retract',
  'retry-events',
  'revert',
  'run',
  'runs',
  'separate',
  'serve',
  'statement',
  'status',
  'sync',
  'token',
  'unblock',
  'webhook',
] as const

/** The commands that do not take --config. */
const commandsWithoutConfig = ['completion', 'demo', 'init', 'platform', 'recipes'] as const
const plainWord = /^[\w./@%+=:,-]+$/
const namedWithConfig = new RegExp(
  String.raw`(?<![\w/.-])rollcall (?=(?:${commandsWithConfig.join('|')})(?![\w-]))`,
  'g',
)
const namedWithoutConfig = new RegExp(
  String.raw`(?<![\w/.-])rollcall (?=(?:${commandsWithoutConfig.join('|')})(?![\w-]))`,
  'g',
)

type HintOptions = {
  /** What `--config` named. */
  readonly config?: string
  /** How the program was called, and where programs are looked for. */
  readonly env?: { readonly ROLLCALL_SELF?: string; readonly PATH?: string }
}

/** Makes the commands that a text names ready to paste: with the name under which this program was called, and with its --config. */
export function pasteable(text: string, { config, env = process.env }: HintOptions): string {
  const name = nameOf(env)
  const named = config === undefined ? name : `${name} --config ${quotedForShell(config)}`
  return text.replaceAll(namedWithConfig, () => `${named} `).replaceAll(namedWithoutConfig, () => `${name} `)
}

/** The file after --config on a command line that may be invalid otherwise. */
export function configIn(args: readonly string[]): string | undefined {
  const joined = args.find((arg) => arg.startsWith('--config='))
  const at = args.indexOf('--config')
  return joined?.slice('--config='.length) ?? (at < 0 ? undefined : args[at + 1])
}

function nameOf({ ROLLCALL_SELF: self, PATH = '' }: NonNullable<HintOptions['env']>): string {
  if (!self || PATH.split(delimiter).some((folder) => folder !== '' && join(folder, 'rollcall') === self))
    return 'rollcall'
  return quotedForShell(self)
}

function quotedForShell(word: string): string {
  return plainWord.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
