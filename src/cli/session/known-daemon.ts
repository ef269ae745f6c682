import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { distrust } from '../../daemon/control/socket-trust.ts'

const { readFileSync, statSync } = process.getBuiltinModule('node:fs')
const net = process.getBuiltinModule('node:net')

const answerMs = 20_000
const success = /^HTTP\/1\.\d 200 .*?\r\n\r\n(.*)$/s
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
    const stats = statSync(configFile)
    // Reading a pipe would wait. Whoever reads the configuration next refuses it.
    if (!stats.isFile()) return null
    const dataDir = resolve(dirname(configFile), guessDataDir(readFileSync(configFile, 'utf8')))
    const known: Known = JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))
    if (known.config.file !== configFile || known.config.changedMs !== stats.ctimeMs) return null
    if (distrust(known.socket, dataDir) !== null) return null
    return JSON.parse(await get(known.socket, `${controlPrefix}${path}`))
  } catch {
    return null
  }
}

function guessDataDir(config: string): string {
  const [, ...spelled] = plainDataDir.exec(config) ?? []
  return spelled.find((value) => value !== undefined) ?? './data'
}

/** The body of an answer that was a success. Loading Node's HTTP client takes longer than the question, and HTTP 1.0 is answered in one piece. */
async function get(socketPath: string, path: string): Promise<string> {
  const connection = net.connect({ path: socketPath, signal: AbortSignal.timeout(answerMs) })
  connection.write(`GET ${path} HTTP/1.0\r\nHost: localhost\r\n\r\n`)
  const [, body] = success.exec(await text(connection)) ?? []
  if (body === undefined) throw new Error('the daemon does not say that it has an answer')
  return body
}
