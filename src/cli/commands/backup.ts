import { resolve } from 'node:path'
import { escapeText, pluralize } from '../render/text.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall backup`. */
export type BackupOptions = CommonOptions & { readonly by: string }

/** Writes everything in the store to a file, while the daemon runs. */
export async function backup(file: string, { by, ...options }: BackupOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    const made = await control.backUpStore({ body: { file: resolve(file), by } })
    output.printResult(made, ({ people, bytes }, paint) =>
      [
        `${paint('green', '✔')} ${escapeText(made.file)} contains the current store: ${pluralize(people, 'person', 'people')}, ${pluralize(bytes, 'byte')}`,
        `${paint('dim', '-')} it contains personal values and no secrets: keep it where only you can read it, together with audit-key.pem from the data folder`,
      ].join('\n'),
    )
    return 0
  })
}
