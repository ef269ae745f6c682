import { rm, writeFile } from 'node:fs/promises'
import { errorCode, Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import type { SyncContext } from '../../sync/context/context.ts'
import type { Config } from '../config/config.ts'
import { digestOf } from '../config/configuration-digest.ts'
import { configOfText } from '../config/load-config.ts'
import { readReplaceable, writeConfig } from '../config/write-config.ts'
import { firstKey, type KeyTrial } from './first-key.ts'

/** What a person confirmed. */
export type Confirmation = {
  /** The digest of what the person looked at. */
  readonly digest: string
  readonly apiKey: string | undefined
  readonly by: string
}

/** What is written: the text of the configuration as it is, and as it will be. */
type FirstDraft = {
  readonly before: string
  readonly text: string
  readonly digest: string
  readonly connection: { readonly name: string }
}

type WriteParts = {
  readonly config: Config
  readonly env: NodeJS.ProcessEnv
  readonly sync: Pick<SyncContext, 'store' | 'now'>
  readonly tryKey: KeyTrial
  readonly signal: AbortSignal
}

/** The text of the configuration as it is now. Throws `conflict` if it has a connection, and as `readReplaceable` does. */
export async function emptyConfiguration({ file }: Config, env: NodeJS.ProcessEnv): Promise<string> {
  const before = await readReplaceable(file)
  const current = await configOfText({ file, text: before, changedMs: 0 }, env, { secrets: 'when needed' })
  if (current.connections.size > 0)
    throw new Failure('conflict', `${file} has a connection by now: reload the daemon or restart it`)
  return before
}

/** The digest of a draft: of the configuration as it is, and as it will be. */
export function draftDigest(before: string, text: string): string {
  return digestOf(JSON.stringify([before, text]))
}

/** Writes the key, what `prepare` writes, and the configuration. Undoes what was written if a step fails. */
export async function writeFirstConnection(
  parts: WriteParts,
  draft: FirstDraft,
  request: Confirmation & { readonly prepare: (undoing: AsyncDisposableStack) => Promise<void> },
): Promise<void> {
  const { config, env, signal, tryKey } = parts
  if (draft.digest !== request.digest)
    throw new Failure(
      'conflict',
      `${config.file}, or what would be written into it, has changed since you looked at it: look at the plan again`,
    )
  const apiKey = await firstKey(config, { tryKey, entered: request.apiKey, signal })
  const { file } = apiKey
  await using undoing = new AsyncDisposableStack()
  if (file !== null && request.apiKey !== undefined) {
    await writeSecret(file, request.apiKey)
    undoing.defer(() => rm(file, { force: true }))
  } else if (apiKey.trouble?.isLacking) throw new Failure('config_invalid', apiKey.trouble.message)
  await request.prepare(undoing)
  // The same checks as at a start: a key that cannot be read would end the daemon.
  await configOfText({ file: config.file, text: draft.text, changedMs: 0 }, env)
  await saveConfiguration(parts, draft, { by: request.by, undoing })
  undoing.move()
}

/** Writes a secret into a new file that only this account can read. */
export async function writeSecret(file: string, secret: string): Promise<void> {
  try {
    await writeFile(file, `${secret}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw new Failure(
      'conflict',
      `cannot write the secret to ${file} (${errorCode(error)}): write it there yourself, or move that file away`,
      {
        cause: error,
      },
    )
  }
}

async function saveConfiguration(
  { config, sync }: WriteParts,
  { connection, before, text }: FirstDraft,
  { by, undoing }: { readonly by: string; readonly undoing: AsyncDisposableStack },
): Promise<void> {
  await sync.store.db.transaction().execute(async (tx) => {
    const details = { file: config.file, configuration: digestOf(text) }
    await recordAuditEntry(tx, {
      act: 'config.connected',
      connection: connection.name,
      by,
      details,
      now: sync.now(),
    })
    await writeConfig(config.file, text)
    // If the record is not committed, the file must not name a connection and a key that are then gone.
    undoing.defer(() => writeConfig(config.file, before))
  })
}
