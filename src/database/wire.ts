/** The parts of PostgreSQL's frontend/backend protocol (version 3) that are needed to share one session. */

const headerBytes = 5
const messages = {
  query: 'Q'.charCodeAt(0),
  sync: 'S'.charCodeAt(0),
  copyDone: 'c'.charCodeAt(0),
  terminate: 'X'.charCodeAt(0),
  notification: 'A'.charCodeAt(0),
  error: 'E'.charCodeAt(0),
} as const

/** The answer to a startup message: authentication is fine (R), and the session is ready and idle (Z). */
export const startupAnswer = Buffer.concat([encodeMessage('R', Buffer.alloc(4)), encodeMessage('Z', Buffer.from('I'))])

/** A simple query message. */
export function queryMessage(sql: string): Buffer {
  return encodeMessage('Q', Buffer.from(`${sql}\0`))
}

/** Marks a statement `copy … from stdin` whose rows follow at once, in the same batch. */
export const copyMark = '/* copied */ '

/** The messages of a COPY with its rows: one batch, in pieces, so that the rows are not copied in memory. */
export function copyMessages(sql: string, rows: Buffer): Buffer[] {
  return [queryMessage(sql), header('d', rows.length), rows, header('c', 0)]
}

/** The text of a batch that is one simple query; otherwise null. */
export function simpleQueryText(batch: Buffer): string | null {
  const isQuery = batch[0] === messages.query && batch.length === 1 + batch.readUInt32BE(1)
  return isQuery ? batch.toString('utf8', headerBytes, batch.length - 1) : null
}

/**
 * Splits the bytes of a client into batches, each answered as a whole by the server. A batch ends with a Query or Sync message; the
 * batch of a COPY (see `copyMark`) ends with its CopyDone message. `rest`: the bytes of a batch that is not complete yet.
 */
export function takeBatches(bytes: Buffer): { batches: Buffer[]; rest: Buffer } {
  const batches: Buffer[] = []
  let start = 0
  for (const { type, from, to } of frames(bytes)) {
    if (type === messages.terminate) start = to
    if (type === messages.query && beginsCopy(bytes, from)) continue
    if (type !== messages.query && type !== messages.sync && type !== messages.copyDone) continue
    batches.push(bytes.subarray(Math.min(start, from), to))
    start = to
  }
  return { batches, rest: bytes.subarray(start) }
}

function beginsCopy(bytes: Buffer, from: number): boolean {
  const at = from + headerBytes
  return bytes.toString('latin1', at, at + copyMark.length) === copyMark
}

type Notification = { readonly channel: string; readonly frame: Buffer }

type Answer = {
  /** The answer for the client that asked. */
  readonly bytes: Buffer
  /** Notifications for the listeners. */
  readonly notifications: readonly Notification[]
  /** Why the server ends after this answer, if it does. */
  readonly lastWords: string | null
  /** The message of the server about damaged data, if there is one. */
  readonly damage: string | null
}

/** Reads what a server has answered to a batch. */
export function readAnswer(written: Buffer): Answer {
  const notifications: Notification[] = []
  const pieces: Buffer[] = []
  let kept = 0
  let lastWords: string | null = null
  let damage: string | null = null
  for (const { type, from, to } of frames(written)) {
    if (type === messages.error) {
      const error = readError(written.subarray(from, to))
      if (error.isEnd) lastWords ??= error.message
      if (error.isDamage) damage ??= error.message
    }
    if (type !== messages.notification) continue
    notifications.push({ channel: channelOf(written.subarray(from, to)), frame: written.subarray(from, to) })
    pieces.push(written.subarray(kept, from))
    kept = to
  }
  const bytes = pieces.length === 0 ? written : Buffer.concat([...pieces, written.subarray(kept)])
  return { bytes, notifications, lastWords, damage }
}

function encodeMessage(type: string, body: Buffer): Buffer {
  return Buffer.concat([header(type, body.length), body])
}

/** The header of a message with a body of this size. */
function header(type: string, bytes: number): Buffer {
  const written = Buffer.alloc(headerBytes)
  written.write(type, 0, 'latin1')
  written.writeUInt32BE(bytes + 4, 1)
  return written
}

function* frames(bytes: Buffer): Generator<{ type: number; from: number; to: number }> {
  let from = 0
  while (from + headerBytes <= bytes.length) {
    const to = from + 1 + bytes.readUInt32BE(from + 1)
    if (to > bytes.length) return
    yield { type: bytes.readUInt8(from), from, to }
    from = to
  }
}

function channelOf(frame: Buffer): string {
  const channelAt = headerBytes + 4
  return frame.toString('utf8', channelAt, frame.indexOf(0, channelAt))
}

/** Each field of an error is a letter and a text. V is the severity in English; the codes of class XX beyond XX000 say that data is corrupted. */
function readError(frame: Buffer): { message: string; isEnd: boolean; isDamage: boolean } {
  const fields = frame.toString('utf8', headerBytes).split('\0')
  const message = fields.find((field) => field.startsWith('M'))?.slice(1) ?? 'no reason given'
  const isEnd = fields.includes('VFATAL') || fields.includes('VPANIC')
  return { message, isEnd, isDamage: fields.includes('CXX001') || fields.includes('CXX002') }
}
