import { Failure } from '../../errors.ts'
import type { Config, ConnectionConfig } from '../config/config.ts'
import { configOfText } from '../config/load-config.ts'

/** The text of a configuration that is not written yet, the file it will be written to, and its new connection. */
type DraftedText = { readonly config: Pick<Config, 'file'>; readonly text: string; readonly name: string }

/** A checked configuration, and its new connection. */
type DraftedConfig = { readonly next: Config; readonly connection: ConnectionConfig }

/** Checks a configuration that is not written yet. Mistakes are named by their settings, since nobody can look up its lines. */
export async function draftedConfig(
  { config, text, name }: DraftedText,
  env: NodeJS.ProcessEnv,
): Promise<DraftedConfig> {
  try {
    const next = await configOfText({ file: config.file, text, changedMs: 0 }, env, { secrets: 'when needed' })
    const connection = next.connections.get(name)
    if (connection === undefined) throw new Error('the drafted configuration lacks its connection')
    return { next, connection }
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'config_invalid') throw error
    const lines = error.message.split('\n').map((line) => withoutPosition(line, name))
    throw new Failure('config_invalid', lines, { cause: error })
  }
}

/** The line without the file and the position, and without the path to the source where the mistake is below it. */
function withoutPosition(line: string, name: string): string {
  return line.replace(/^.*?:\d+:\d+: /, '').replace(`connections.${name}.source.`, '')
}
