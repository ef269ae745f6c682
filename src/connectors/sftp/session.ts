import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { SFTPWrapper, Stats } from 'ssh2'
import type SftpClient from 'ssh2-sftp-client'
import { unreachable, unreadable } from '../file/failures.ts'
import { brokenAnswer, lostConnection, status, statusFailure, statusOf } from './failures.ts'
import { isPlainName, type RemoteEntry, type RemoteStats, toStats } from './stats.ts'

const entryLimit = 50_000
const emptyBatchEntries = 100
const farewellMs = 1000

type Answer<T> = (error: Error | null | undefined, value: T) => void

/**
 * Owns one connection to an SFTP server. Every request ends, either with an answer or with a failure: because the connection is lost,
 * the server is silent for too long, everything together takes too long, or the signal is aborted.
 */
export class SftpSession implements AsyncDisposable {
  readonly server: string
  readonly #sftp: SFTPWrapper
  readonly #client: SftpClient
  readonly #socket: Socket
  readonly #idleTimeoutMs: number
  readonly #cleanup: DisposableStack
  readonly #waiting = new Set<(reason: unknown) => void>()
  #idle: NodeJS.Timeout | undefined
  #ended: { readonly reason: unknown } | undefined

  constructor({
    sftp,
    client,
    socket,
    signal,
    host,
    port,
    idleTimeoutMs,
    totalTimeoutMs,
  }: {
    readonly sftp: SFTPWrapper
    readonly client: SftpClient
    readonly socket: Socket
    readonly signal: AbortSignal
    readonly host: string
    readonly port: number
    readonly idleTimeoutMs: number
    readonly totalTimeoutMs: number
  }) {
    this.server = `${host}:${port}`
    this.#sftp = sftp
    this.#client = client
    this.#socket = socket
    this.#idleTimeoutMs = idleTimeoutMs
    this.#cleanup = new DisposableStack()
    const aborted = () => this.#end(signal.reason)
    signal.addEventListener('abort', aborted, { once: true })
    this.#cleanup.defer(() => signal.removeEventListener('abort', aborted))
    const deadline = setTimeout(() => this.#end(this.#tooLong(totalTimeoutMs)), totalTimeoutMs)
    this.#cleanup.defer(() => clearTimeout(deadline))
    sftp.on('error', (error: unknown) => this.#end(brokenAnswer(this.server, error)))
    client.on('error', (error: unknown) => this.#end(lostConnection(this.server, error)))
    sftp.on('close', () => this.#end(lostConnection(this.server)))
    socket.on('close', () => this.#end(lostConnection(this.server)))
    if (signal.aborted) aborted()
    else if (socket.destroyed) this.#end(lostConnection(this.server))
  }

  /** The entries of the folder whose names `desired` accepts. Names that are impossible in a folder are skipped. */
  async list(folder: string, desired: (name: string) => boolean): Promise<RemoteEntry[]> {
    const doing = `list ${folder} on ${this.server}`
    const handle = await this.#handle(doing, (answer) => this.#sftp.opendir(folder, answer))
    const entries: RemoteEntry[] = []
    // An empty batch counts, too, so that a server cannot send empty batches for ever.
    for (let seen = 0; seen <= entryLimit; ) {
      const batch = await this.#batch(handle, doing)
      if (!batch) {
        await this.close(handle)
        return entries
      }
      seen += batch.length || emptyBatchEntries
      for (const { filename, attrs } of batch) {
        if (!isPlainName(filename) || !desired(filename)) continue
        entries.push({ name: filename, ...toStats(attrs, this.#named(filename)) })
      }
    }
    const what = `${folder} on ${this.server} holds more than ${entryLimit} entries`
    throw unreadable(what, 'move old exports away, or name the file without * and ?')
  }

  /** The stats of what stands at `path`; undefined if there is nothing. */
  async stats(path: string): Promise<RemoteStats | undefined> {
    try {
      return toStats(await this.#request<Stats>((answer) => this.#sftp.lstat(path, answer)), this.#named(path))
    } catch (error) {
      if (statusOf(error) === status.noSuchFile) return undefined
      throw this.#explained(error, `look at ${path} on ${this.server}`)
    }
  }

  /** Opens a file for reading. */
  open(path: string): Promise<Buffer> {
    return this.#handle(`read ${path} on ${this.server}`, (answer) => this.#sftp.open(path, 'r', answer))
  }

  async statsOfOpen(handle: Buffer, path: string): Promise<RemoteStats> {
    try {
      return toStats(await this.#request<Stats>((answer) => this.#sftp.fstat(handle, answer)), this.#named(path))
    } catch (error) {
      throw this.#explained(error, `read ${path} on ${this.server}`)
    }
  }

  /**
   * Reads bytes from `position` on into `into`, as many as it holds at most, and tells how many; 0 at the end of the file. The caller
   * owns the memory, so that a server that sends a byte at a time costs no more of it.
   */
  async read(handle: Buffer, { path, position, into }: { path: string; position: number; into: Buffer }) {
    try {
      const bytesRead = await this.#request<number>((answer) =>
        this.#sftp.read(handle, into, 0, into.length, position, answer),
      )
      if (!Number.isInteger(bytesRead) || bytesRead < 0 || bytesRead > into.length) throw brokenAnswer(this.server)
      return bytesRead
    } catch (error) {
      throw this.#explained(error, `read ${path} on ${this.server}`)
    }
  }

  /** Ends the session if `work`, which takes several answers, is not done in twice the idle time: answers of a byte each are no progress. */
  async progress<T>(work: Promise<T>, what: string): Promise<T> {
    const timer = setTimeout(() => this.#end(this.#tooSlow(what)), 2 * this.#idleTimeoutMs)
    try {
      return await work
    } finally {
      clearTimeout(timer)
    }
  }

  async close(handle: Buffer): Promise<void> {
    await this.#done(`close a file on ${this.server}`, (answer) => this.#sftp.close(handle, answer))
  }

  async rename({ from, to }: { readonly from: string; readonly to: string }): Promise<void> {
    await this.#done(`move ${from} to ${to} on ${this.server}`, (answer) => this.#sftp.rename(from, to, answer))
  }

  async remove(path: string): Promise<void> {
    await this.#done(`delete ${path} on ${this.server}`, (answer) => this.#sftp.unlink(path, answer))
  }

  async makeFolder(path: string): Promise<void> {
    await this.#done(`make the folder ${path} on ${this.server}`, (answer) =>
      this.#sftp.mkdir(path, { mode: 0o700 }, answer),
    )
  }

  /** Ends the session. If the server does not close the connection, we do. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#socket.closed ? undefined : once(this.#socket, 'close')
    this.#stop(lostConnection(this.server))
    if (!closed) return
    const timer = setTimeout(() => this.#socket.destroy(), farewellMs)
    if (!this.#socket.destroyed) this.#client.end().catch(() => {})
    await closed.catch(() => {})
    clearTimeout(timer)
  }

  /** The next entries of a folder; undefined after the last. */
  async #batch(handle: Buffer, doing: string) {
    try {
      const batch = await this.#request<{ filename: string; attrs: Stats }[]>((answer) =>
        this.#sftp.readdir(handle, answer as never),
      )
      if (!Array.isArray(batch)) throw brokenAnswer(this.server)
      return batch
    } catch (error) {
      if (statusOf(error) === status.endOfFile) return undefined
      throw this.#explained(error, doing)
    }
  }

  async #handle(doing: string, send: (answer: Answer<Buffer>) => void): Promise<Buffer> {
    try {
      const handle = await this.#request(send)
      if (!Buffer.isBuffer(handle)) throw brokenAnswer(this.server)
      return handle
    } catch (error) {
      throw this.#explained(error, doing)
    }
  }

  async #done(doing: string, send: (answer: (error: Error | null | undefined) => void) => void): Promise<void> {
    try {
      await this.#request<undefined>((answer) => send((error) => answer(error, undefined)))
    } catch (error) {
      throw this.#explained(error, doing)
    }
  }

  #request<T>(send: (answer: Answer<T>) => void): Promise<T> {
    if (this.#ended) return Promise.reject(this.#ended.reason)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject)
      this.#idle ??= setTimeout(() => this.#end(this.#silent()), this.#idleTimeoutMs)
      const answer: Answer<T> = (error, value) => {
        // A request that was given up gets another answer when the connection closes.
        if (!this.#waiting.delete(reject)) return
        if (this.#waiting.size > 0) this.#idle?.refresh()
        else this.#stopIdle()
        if (!error) resolve(value)
        else reject(statusOf(error) === undefined ? this.#unanswered(error) : error)
      }
      send(answer)
    })
  }

  #end(reason: unknown): void {
    if (this.#ended) return
    this.#stop(reason)
    this.#socket.destroy()
  }

  #stop(reason: unknown): void {
    this.#ended ??= { reason }
    this.#cleanup.dispose()
    this.#stopIdle()
    for (const reject of this.#waiting) reject(reason)
    this.#waiting.clear()
  }

  #stopIdle(): void {
    clearTimeout(this.#idle)
    this.#idle = undefined
  }

  // ssh2 reports this for every open request when the channel closes.
  #unanswered(error: Error) {
    if (error.message === 'No response from server') return lostConnection(this.server, error)
    return brokenAnswer(this.server, error)
  }

  #explained(error: unknown, doing: string): unknown {
    return statusOf(error) === undefined ? error : statusFailure(error, doing)
  }

  #named(name: string) {
    return { name, server: this.server }
  }

  #silent() {
    const what = `${this.server} has not answered for ${this.#idleTimeoutMs} ms`
    return unreachable(what, 'the next run goes on from there; check the network, or raise idleTimeoutMs')
  }

  #tooSlow(what: string) {
    const slow = `${this.server} has not sent ${what} within ${2 * this.#idleTimeoutMs} ms`
    return unreachable(slow, 'the next run goes on from there; check the network, or raise idleTimeoutMs')
  }

  #tooLong(totalTimeoutMs: number) {
    const what = `reading from ${this.server} took longer than ${totalTimeoutMs} ms`
    return unreachable(what, 'the next run goes on from there; or raise totalTimeoutMs')
  }
}
