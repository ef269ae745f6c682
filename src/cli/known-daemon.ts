import { readFile, stat } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { distrust } from '../daemon/control/socket-trust.ts'

// Imported as a module, it would load everything that fetch is made of.
const http = process.getBuiltinModule('node:http')

const answerMs = 20_000
// As in the contract, which is not loaded here.
const controlPrefix = '/api/v1'
const plainDataDir = /^dataDir:[ \t]+(?:'([^'\n$]+)'|"([^"\n$\\]+)"|([\w./][^\s'"#${}]*))[ \t]*(?:#.*)?$/m

/** Where a daemon listens and what it serves, as it left it in the data folder. */
type Known = { readonly socket: string; readonly config: { readonly file: string; readonly changedMs: number } }

/**
 * What the daemon of this configuration answers to a GET; null if anything about that is in doubt. The configuration is not read:
 * its data folder is guessed, and the guess is right if the daemon that left its address there started with this very file.
 */
export async function askKnownDaemon(configFile: string, path: string): Promise<unknown> {
  try {
    const { ctimeMs } = await stat(configFile)
    const dataDir = resolve(dirname(configFile), guessDataDir(await readFile(configFile, 'utf8')))
    const known: Known = JSON.parse(await readFile(join(dataDir, 'daemon.json'), 'utf8'))
    if (known.config.file !== configFile || known.config.changedMs !== ctimeMs) return null
    if ((await distrust(known.socket, dataDir)) !== null) return null
    const answer = await get(known.socket, `${controlPrefix}${path}`)
    return answer.statusCode === 200 ? JSON.parse(await text(answer)) : null
  } catch {
    return null
  }
}

function guessDataDir(config: string): string {
  const [, ...spelled] = plainDataDir.exec(config) ?? []
  return spelled.find((value) => value !== undefined) ?? './data'
}

async function get(socketPath: string, path: string): Promise<IncomingMessage> {
  const { promise, resolve: answered, reject } = Promise.withResolvers<IncomingMessage>()
  const signal = AbortSignal.timeout(answerMs)
  http.get({ socketPath, path, agent: false, signal }, answered).on('error', reject)
  return await promise
}
