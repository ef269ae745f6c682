import { resolve } from 'node:path'
import { pluralize, escapeText } from '../render/text.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

export type BackupOptions = CommonOptions & { readonly by: string }

/** Writes everything that the store holds into a file, while the daemon goes on. */
export async function backup(file: string, { by, ...options }: BackupOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    const made = await control.backUpStore({ body: { file: resolve(file), by } })
    output.printResult(made, ({ people, bytes }, paint) =>
      [
        `${paint('green', '✔')} ${escapeText(made.file)} holds the store as of now: ${pluralize(people, 'person', 'people')}, ${pluralize(bytes, 'byte')}`,
        `${paint('dim', '-')} it holds personal values and no secrets: keep it where only you can read it, and keep audit-key.pem of the data folder beside it`,
      ].join('\n'),
    )
    return 0
  })
}
