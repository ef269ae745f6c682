import { unreadable } from '../file/failures.ts'
import { pointerNames } from '../json-pointer.ts'

const mebibyte = 1024 * 1024
const maxRecordMebibytes = 16
const maxRestMebibytes = 32
/** A member name is compared with the pointer up to this length. */
const maxNameBytes = 1024

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

/** What a character begins or ends; null: neither a record nor the list of records. */
type Boundary = 'listBegins' | 'recordEnds' | 'listEnds' | null

/** An open object or list that the pointer leads through. `position`: the name of the current member, or the index of the current item. */
type Level = { readonly isList: boolean; position: string }

/**
 * Cuts the records out of a JSON text that is too long to be parsed at once. It only finds where they begin and end: the caller parses
 * the records and the rest of the text, which shows whether they are valid JSON.
 */
export class RecordSplitter {
  readonly #path: readonly string[]
  readonly #name: string
  readonly #levels: Level[] = []
  #rest: Buffer[] = []
  #restBytes = 0
  #record: Buffer[] = []
  #recordBytes = 0
  #depth = 0
  /** The depth of the open list of records; 0: it is not open. */
  #listDepth = 0
  /** Whether the list of records has begun. A second one is refused. */
  #hasBegun = false
  /** How many records of the list were cut out. */
  #records = 0
  #isInString = false
  #isEscaped = false
  /** The last string that may be a member name of a level. */
  #text: number[] = []

  /** `path`: a pointer to the list of records. `name`: the name of the text in failures. */
  constructor(path: string, name: string) {
    this.#path = pointerNames(path)
    this.#name = name
  }

  /** The texts of the records that end in this chunk. */
  write(chunk: Buffer): Buffer[] {
    const records: Buffer[] = []
    let from = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
      const boundary = this.#isInString ? this.#readString(byte) : this.#readCharacter(byte)
      if (boundary === null) continue
      if (boundary === 'listBegins') this.#addToRest(chunk.subarray(from, at + 1))
      else {
        const text = this.#takeRecord(chunk.subarray(from, at))
        if (boundary === 'recordEnds' || this.#records > 0 || !isBlank(text)) records.push(text)
        this.#records += 1
      }
      from = boundary === 'listEnds' ? at : at + 1
    }
    if (this.#listDepth > 0) this.#addToRecord(chunk.subarray(from))
    else this.#addToRest(chunk.subarray(from))
    return records
  }

  /** The rest of the text: everything but the records, with an empty list in their place. Refuses a text that ends within the list. */
  end(): Buffer {
    if (this.#listDepth === 0) return Buffer.concat(this.#rest)
    throw unreadable(`${this.#name} ends within its list of records`, 'it was cut off: have it sent again')
  }

  #readString(byte: number): null {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === backslash) this.#isEscaped = true
    else if (byte === quote) this.#isInString = false
    if (this.#isInString && this.#isAtLevel() && this.#text.length < maxNameBytes) this.#text.push(byte)
    return null
  }

  #readCharacter(byte: number): Boundary {
    switch (byte) {
      case quote:
        this.#isInString = true
        this.#text = []
        return null
      case openBrace:
      case openBracket:
        return this.#open(byte === openBracket)
      case closeBrace:
      case closeBracket:
        return this.#close(byte === closeBracket)
      case comma:
        if (this.#listDepth > 0 && this.#depth === this.#listDepth) return 'recordEnds'
        this.#countItem()
        return null
      case colon:
        this.#nameMember()
        return null
      default:
        return null
    }
  }

  #open(isList: boolean): Boundary {
    const isOnPath = this.#listDepth === 0 && this.#depth === this.#levels.length && this.#isAtPath()
    const isAtRecords = isOnPath && this.#depth === this.#path.length
    this.#depth += 1
    if (isAtRecords && isList) {
      if (this.#hasBegun) throw unreadable(`${this.#name} has its list of records twice`, 'check the sender')
      this.#hasBegun = true
      this.#listDepth = this.#depth
      return 'listBegins'
    }
    if (isOnPath && !isAtRecords) this.#levels.push({ isList, position: isList ? '0' : '' })
    return null
  }

  #close(isList: boolean): Boundary {
    if (this.#listDepth > 0 && this.#depth === this.#listDepth) {
      // The parser refuses a record that ends with the bracket of an object.
      if (!isList) return null
      this.#listDepth = 0
      this.#depth -= 1
      return 'listEnds'
    }
    this.#depth = Math.max(0, this.#depth - 1)
    this.#levels.length = Math.min(this.#levels.length, this.#depth)
    return null
  }

  /** Whether the value that begins here is the next one on the path. */
  #isAtPath(): boolean {
    const level = this.#levels.at(-1)
    return level === undefined || level.position === this.#path[this.#levels.length - 1]
  }

  /** Whether the reader is directly in a level, where strings may be names of members. */
  #isAtLevel(): boolean {
    return this.#listDepth === 0 && this.#depth > 0 && this.#depth === this.#levels.length
  }

  #countItem(): void {
    const level = this.#levels.at(-1)
    if (level?.isList && this.#isAtLevel()) level.position = String(Number(level.position) + 1)
  }

  #nameMember(): void {
    const level = this.#levels.at(-1)
    if (level && !level.isList && this.#isAtLevel()) level.position = nameIn(Buffer.from(this.#text))
  }

  #addToRest(bytes: Buffer): void {
    this.#rest.push(bytes)
    this.#restBytes += bytes.length
    if (this.#restBytes <= maxRestMebibytes * mebibyte) return
    const problem = `${this.#name} holds more than ${maxRestMebibytes} MiB outside its list of records`
    throw unreadable(problem, 'check records')
  }

  #addToRecord(bytes: Buffer): void {
    this.#record.push(bytes)
    this.#recordBytes += bytes.length
    if (this.#recordBytes <= maxRecordMebibytes * mebibyte) return
    const problem = `${this.#name}: a record is longer than ${maxRecordMebibytes} MiB`
    throw unreadable(problem, 'let records point to the list of people')
  }

  #takeRecord(end: Buffer): Buffer {
    this.#addToRecord(end)
    const text = Buffer.concat(this.#record)
    this.#record = []
    this.#recordBytes = 0
    return text
  }
}

/** The name of a member as JSON writes it. A broken one is refused by the parser. */
function nameIn(bytes: Buffer): string {
  const text = bytes.toString()
  try {
    return text.includes('\\') ? String(JSON.parse(`"${text}"`)) : text
  } catch {
    return text
  }
}

function isBlank(text: Buffer): boolean {
  return /^[ \t\r\n]*$/.test(text.toString('latin1'))
}
