import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { SFTPWrapper, Stats } from 'ssh2'
import type SftpClient from 'ssh2-sftp-client'
import { unreachable, unreadable } from '../file/failures.ts'
import { brokenResponse, lostConnection, resumeAdvice, sftpStatus, statusFailure, statusOf } from './failures.ts'
import { isPlainName, type RemoteEntry, type RemoteStats, toStats } from './stats.ts'

const maxEntries = 50_000
/** An empty batch counts as this many entries, so that a server cannot send empty batches for ever. */
const emptyBatchEntries = 100
const closeTimeoutMs = 1000

type Callback<T> = (error: Error | null | undefined, value: T) => void

/** The parts of an open connection, and its limits. */
type SftpConnection = {
  readonly sftp: SFTPWrapper
  readonly client: SftpClient
  readonly socket: Socket
  readonly signal: AbortSignal
  readonly host: string
  readonly port: number
  readonly idleTimeoutMs: number
  readonly totalTimeoutMs: number
}

type ReadRequest = { readonly path: string; readonly position: number; readonly into: Buffer }

/**
 * Owns one connection to an SFTP server. Every request ends with a response or with a failure: the connection is lost, the server is
 * silent for too long, the whole session takes too long, or the signal is aborted.
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

  constructor({ sftp, client, socket, signal, host, port, idleTimeoutMs, totalTimeoutMs }: SftpConnection) {
    this.server = `${host}:${port}`
    this.#sftp = sftp
    this.#client = client
    this.#socket = socket
    this.#idleTimeoutMs = idleTimeoutMs
    this.#cleanup = new DisposableStack()
    const onAbort = () => this.#end(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    this.#cleanup.defer(() => signal.removeEventListener('abort', onAbort))
    const deadline = setTimeout(() => this.#end(this.#tooLong(totalTimeoutMs)), totalTimeoutMs)
    this.#cleanup.defer(() => clearTimeout(deadline))
    sftp.on('error', (error: unknown) => this.#end(brokenResponse(this.server, error)))
    client.on('error', (error: unknown) => this.#end(lostConnection(this.server, error)))
    sftp.on('close', () => this.#end(lostConnection(this.server)))
    socket.on('close', () => this.#end(lostConnection(this.server)))
    if (signal.aborted) onAbort()
    else if (socket.destroyed) this.#end(lostConnection(this.server))
  }

  /** The entries of the folder whose names `accepts` accepts. Skips names that no folder can hold. */
  async list(folder: string, accepts: (name: string) => boolean): Promise<RemoteEntry[]> {
    const action = `list ${folder} on ${this.server}`
    const handle = await this.#handle(action, (callback) => this.#sftp.opendir(folder, callback))
    const entries: RemoteEntry[] = []
    for (let count = 0; count <= maxEntries; ) {
      const batch = await this.#batch(handle, action)
      if (!batch) {
        await this.close(handle)
        return entries
      }
      count += batch.length || emptyBatchEntries
      for (const { filename, attrs } of batch) {
        if (!isPlainName(filename) || !accepts(filename)) continue
        entries.push({ name: filename, ...toStats(attrs, filename, this.server) })
      }
    }
    const problem = `${folder} on ${this.server} holds more than ${maxEntries} entries`
    throw unreadable(problem, 'move old exports away, or name the file without * and ?')
  }

  /** The stats of the file or folder at `path`; undefined if there is none. */
  async stats(path: string): Promise<RemoteStats | undefined> {
    try {
      return toStats(await this.#request<Stats>((callback) => this.#sftp.lstat(path, callback)), path, this.server)
    } catch (error) {
      if (statusOf(error) === sftpStatus.noSuchFile) return undefined
      throw this.#withStatus(error, `look at ${path} on ${this.server}`)
    }
  }

  /** Opens a file for reading and returns its handle. */
  open(path: string): Promise<Buffer> {
    return this.#handle(`read ${path} on ${this.server}`, (callback) => this.#sftp.open(path, 'r', callback))
  }

  /** The stats of an open file. */
  async statsOfOpen(handle: Buffer, path: string): Promise<RemoteStats> {
    try {
      return toStats(await this.#request<Stats>((callback) => this.#sftp.fstat(handle, callback)), path, this.server)
    } catch (error) {
      throw this.#withStatus(error, `read ${path} on ${this.server}`)
    }
  }

  /**
   * Reads bytes from `position` into `into` and returns how many; 0 at the end of the file. The caller provides the memory, so that a
   * server that sends single bytes costs no more of it.
   */
  async read(handle: Buffer, { path, position, into }: ReadRequest): Promise<number> {
    try {
      const bytesRead = await this.#request<number>((callback) =>
        this.#sftp.read(handle, into, 0, into.length, position, callback),
      )
      if (!Number.isInteger(bytesRead) || bytesRead < 0 || bytesRead > into.length) throw brokenResponse(this.server)
      return bytesRead
    } catch (error) {
      throw this.#withStatus(error, `read ${path} on ${this.server}`)
    }
  }

  /** Ends the session unless `work`, named `workName`, is done within twice the idle time: responses of one byte each are no progress. */
  async progress<T>(work: Promise<T>, workName: string): Promise<T> {
    const timer = setTimeout(() => this.#end(this.#tooSlow(workName)), 2 * this.#idleTimeoutMs)
    try {
      return await work
    } finally {
      clearTimeout(timer)
    }
  }

  /** Closes a handle. */
  async close(handle: Buffer): Promise<void> {
    await this.#complete(`close a file on ${this.server}`, (callback) => this.#sftp.close(handle, callback))
  }

  /** Moves a file. */
  async rename({ from, to }: { readonly from: string; readonly to: string }): Promise<void> {
    await this.#complete(`move ${from} to ${to} on ${this.server}`, (callback) => this.#sftp.rename(from, to, callback))
  }

  /** Deletes a file. */
  async remove(path: string): Promise<void> {
    await this.#complete(`delete ${path} on ${this.server}`, (callback) => this.#sftp.unlink(path, callback))
  }

  /** Creates a folder that only the account can read. */
  async makeFolder(path: string): Promise<void> {
    await this.#complete(`make the folder ${path} on ${this.server}`, (callback) =>
      this.#sftp.mkdir(path, { mode: 0o700 }, callback),
    )
  }

  /** Ends the session. If the server does not close the connection, we do. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#socket.closed ? undefined : once(this.#socket, 'close')
    this.#stop(lostConnection(this.server))
    if (!closed) return
    const timer = setTimeout(() => this.#socket.destroy(), closeTimeoutMs)
    if (!this.#socket.destroyed) this.#client.end().catch(() => {})
    await closed.catch(() => {})
    clearTimeout(timer)
  }

  /** The next entries of a folder; undefined after the last. */
  async #batch(handle: Buffer, action: string) {
    try {
      const batch = await this.#request<{ filename: string; attrs: Stats }[]>((callback) =>
        this.#sftp.readdir(handle, callback as never),
      )
      if (!Array.isArray(batch)) throw brokenResponse(this.server)
      return batch
    } catch (error) {
      if (statusOf(error) === sftpStatus.endOfFile) return undefined
      throw this.#withStatus(error, action)
    }
  }

  async #handle(action: string, send: (callback: Callback<Buffer>) => void): Promise<Buffer> {
    try {
      const handle = await this.#request(send)
      if (!Buffer.isBuffer(handle)) throw brokenResponse(this.server)
      return handle
    } catch (error) {
      throw this.#withStatus(error, action)
    }
  }

  async #complete(action: string, send: (callback: (error: Error | null | undefined) => void) => void): Promise<void> {
    try {
      await this.#request<undefined>((callback) => send((error) => callback(error, undefined)))
    } catch (error) {
      throw this.#withStatus(error, action)
    }
  }

  #request<T>(send: (callback: Callback<T>) => void): Promise<T> {
    if (this.#ended) return Promise.reject(this.#ended.reason)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject)
      this.#idle ??= setTimeout(() => this.#end(this.#silent()), this.#idleTimeoutMs)
      const callback: Callback<T> = (error, value) => {
        // An abandoned request is called back once more when the connection closes.
        if (!this.#waiting.delete(reject)) return
        if (this.#waiting.size > 0) this.#idle?.refresh()
        else this.#stopIdle()
        if (!error) resolve(value)
        else reject(statusOf(error) === undefined ? this.#requestFailure(error) : error)
      }
      send(callback)
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

  // ssh2 reports this text for every open request when the channel closes.
  #requestFailure(error: Error) {
    if (error.message === 'No response from server') return lostConnection(this.server, error)
    return brokenResponse(this.server, error)
  }

  #withStatus(error: unknown, action: string): unknown {
    return statusOf(error) === undefined ? error : statusFailure(error, action)
  }

  #silent() {
    const problem = `${this.server} has not answered for ${this.#idleTimeoutMs} ms`
    return unreachable(problem, `${resumeAdvice}; check the network, or raise idleTimeoutMs`)
  }

  #tooSlow(workName: string) {
    const problem = `${this.server} has not sent ${workName} within ${2 * this.#idleTimeoutMs} ms`
    return unreachable(problem, `${resumeAdvice}; check the network, or raise idleTimeoutMs`)
  }

  #tooLong(totalTimeoutMs: number) {
    const problem = `reading from ${this.server} took longer than ${totalTimeoutMs} ms`
    return unreachable(problem, `${resumeAdvice}; or raise totalTimeoutMs`)
  }
}
