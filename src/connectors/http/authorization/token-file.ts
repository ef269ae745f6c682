import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { errorCode } from '../../../errors.ts'
import { takeFileLock } from '../../../system/file-lock.ts'
import { replaceFile } from '../../../system/replace-file.ts'
import { unreachable, unreadable, writingTo } from '../../file/failures.ts'
import type { TokenContext } from './token-client.ts'

const pollMs = 50
const maxLockWaitMs = 2 * 60 * 1000
const forgottenMs = 400 * 24 * 60 * 60 * 1000
/** Token files and their drafts, with and without the ending that drafts have today. */
const ownName = /^[0-9a-f]{64}\.json(?:\.\d+(?:\.draft)?)?$/

const StoredTokens = z.strictObject({
  version: z.literal(1),
  refreshToken: z.string().min(1),
  /** When a request was sent whose answer did not arrive yet. */
  requestedAt: z.iso.datetime().nullable(),
  access: z.strictObject({ text: z.string().min(1), usableUntilMs: z.number().nullable() }).nullable(),
})

/** What is kept of the tokens that followed a configured refresh token. */
export type StoredTokens = Omit<z.infer<typeof StoredTokens>, 'version'>

/** The file of a configured refresh token. */
export type TokenFile = {
  /** null: there is none yet. Marks the file as used, so that it is not forgotten. */
  readonly read: () => Promise<StoredTokens | null>
  /** Replaces the content. When this returns, it survives a crash of the machine. */
  readonly write: (tokens: StoredTokens) => Promise<void>
}

/**
 * Runs a step while no other process and no other reading uses the file. It is named after the configured refresh token, so that a new
 * token in the configuration begins a new file, and connections that share a token, or get another name, share the file.
 */
export async function withTokenFile<T>(
  configured: string,
  options: TokenContext & { readonly signal: AbortSignal },
  step: (file: TokenFile) => Promise<T>,
): Promise<T> {
  const { tokensDir: folder } = options.context
  if (folder === undefined) throw new Error('there is no folder for tokens')
  const stem = join(folder, createHash('sha256').update(`refresh token\n${configured}`).digest('hex'))
  await writingTo(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  using _lock = await waitForLock(`${stem}.lock`, options)
  return await step(openTokenFile(folder, `${stem}.json`))
}

async function waitForLock(path: string, { clock, signal }: TokenContext & { readonly signal: AbortSignal }) {
  const endMs = clock.elapsedMs() + maxLockWaitMs
  for (;;) {
    const lock = tryLock(path)
    if (lock !== null) return lock
    if (clock.elapsedMs() >= endMs)
      throw unreachable(
        `another reading has been renewing the same refresh token for ${maxLockWaitMs / 1000} s`,
        'try again later',
      )
    await clock.wait(pollMs, signal)
  }
}

function tryLock(path: string): Disposable | null {
  try {
    return takeFileLock(path, { timeoutMs: 0 })
  } catch (error) {
    throw unreadable(`cannot lock ${path}`, 'check the free space and the permissions of dataDir', { cause: error })
  }
}

function openTokenFile(folder: string, path: string): TokenFile {
  return {
    read: async () => {
      const now = new Date()
      // Before it is read, so that no other reading removes it meanwhile. Without the mark the tokens can be used all the same.
      await utimes(path, now, now).catch(() => {})
      return await readTokens(path)
    },
    write: async (tokens) => {
      const text = `${JSON.stringify({ version: 1, ...tokens } satisfies z.infer<typeof StoredTokens>)}\n`
      await writingTo(folder, async () => {
        await replaceFile(path, async (draft) => {
          await draft.writeFile(text)
          await draft.sync()
        })
        await using directory = await open(folder)
        await directory.sync()
      })
      await removeForgotten(folder)
    },
  }
}

async function readTokens(path: string): Promise<StoredTokens | null> {
  try {
    const { version: _, ...tokens } = StoredTokens.parse(JSON.parse(await readFile(path, 'utf8')))
    return tokens
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    // The cause may quote the tokens.
    throw unreadable(
      `${path} is damaged, which holds the newest refresh token`,
      'let the HR system issue a new one, and write it where oauth2.refreshToken points',
    )
  }
}

/** Removes tokens that nothing has used for a year, and drafts that a killed process left. */
async function removeForgotten(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!ownName.test(name)) continue
    const stats = await stat(join(folder, name)).catch(() => null)
    if (stats === null || Date.now() - stats.mtimeMs < forgottenMs) continue
    await rm(join(folder, name), { force: true })
  }
}
