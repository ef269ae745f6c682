import { holdsReference, readReferences, resolveReferences } from '../../daemon/config/references.ts'
import { moveStore } from '../../daemon/installation/move.ts'
import { Failure } from '../../errors.ts'
import { escapeText, pluralize } from '../render/text.ts'
import { findDaemon } from '../session/find-daemon.ts'
import { createOutput } from '../session/output.ts'
import { type CommonOptions, configOf } from '../session/session.ts'

/** The options of `rollcall move`. */
export type MoveOptions = CommonOptions & { readonly to: string; readonly by: string }

/** Moves the embedded store to PostgreSQL. The daemon must be stopped, because the address in its configuration changes. */
export async function move({ to, by, ...options }: MoveOptions): Promise<number> {
  const output = createOutput(options)
  const config = await configOf(options, { secrets: 'when needed' })
  if (await findDaemon(config))
    throw new Failure(
      'already_active',
      'a daemon is using the store: stop it, move the store, and start it with the new database',
    )
  const moved = await moveStore(config, { to: await addressOf(to, config.folder), by, now: () => new Date() })
  output.printResult(moved, (done, paint) =>
    [
      `${paint('green', '✔')} ${pluralize(done.people, 'person', 'people')} and the whole history were moved to ${escapeText(done.to)}`,
      `${paint('dim', '-')} set its address as "database" in the configuration, and start the daemon; ${escapeText(done.from)} can no longer be opened`,
    ].join('\n'),
  )
  return 0
}

/** Resolves references in the address. Refuses a plain password, because other accounts of this machine can read the command line. */
async function addressOf(to: string, folder: string): Promise<string> {
  if (!holdsReference(to)) {
    if (URL.parse(to)?.password)
      throw new Failure(
        'usage',
        `others can read a password on the command line: write '\${env:NAME}' or '\${file:PATH}'`,
      )
    return to
  }
  const { parts, problem } = resolveReferences(to, { env: process.env, folder })
  if (problem !== undefined) throw new Failure('usage', `--to: ${problem}`)
  return await readReferences(parts)
}
