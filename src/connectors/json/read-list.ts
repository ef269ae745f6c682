import { joinChunks } from '../file/chunks.ts'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'
import { findOtherText } from '../file/other-text.ts'
import { type JsonValue, notUtf8, readJson } from './cells.ts'
import { RecordSplitter } from './record-splitter.ts'
import { recordsAt } from './records-at.ts'
import { helpIfUnrelated, textOf } from './statement-text.ts'
import { isConsidered, provesEnd, type ReadCounts, type Statement, saysMore, statedByMembers } from './statements.ts'

const headBytes = 1024
const maxLineBytes = 64 * 1024
const sizeHelp = 'let records point to the list of people'

/** A JSON text that holds one list of records. */
type ListText = Pick<ExportFormat, 'records' | 'ignoredStatements'> & {
  readonly chunks: AsyncIterable<Buffer>
  /** Its name in failures. */
  readonly name: string
}

/** How the end of a list was recognised, and how many records it has. */
export type ListEnd = { readonly records: number; readonly end: string }

/**
 * The records of a JSON text, in batches. Ends normally only if the text is one JSON value in UTF-8, has a list at `records`, and states
 * nowhere that there are more of them.
 */
export async function* readList(list: ListText): AsyncGenerator<readonly JsonValue[], ListEnd> {
  const { name } = list
  const splitter = new RecordSplitter(list.records, name)
  let records = 0
  const parse = (text: Buffer): JsonValue => {
    records += 1
    return readJson(text, { name: `${name}: record ${records}`, sizeHelp })
  }
  for await (const chunk of requireJsonText(list.chunks, name)) {
    const texts = splitter.write(chunk)
    if (texts.length > 0) yield texts.map(parse)
  }
  const rest = splitter.end()
  const content = readJson(rest, { name: records === 0 ? name : `${name}, without its records,`, sizeHelp })
  // Records that were not cut out would be missing without a word.
  if (recordsAt(content, list.records, name).length > 0)
    throw unreadable(`${name}: its list of records was not recognised`, 'have shorter names on the way to it')
  const ended = endOfText(content, list, records)
  if (ended.problem !== null) throw unreadable(`${name}: ${ended.problem}`, ended.help)
  return { records, end: ended.end }
}

async function* requireJsonText(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const chunk of joinChunks(chunks, headBytes)) {
    if (isFirst) {
      checkStart(chunk.toString('utf8', 0, headBytes), name)
      checkJsonLines(chunk, name)
    }
    isFirst = false
    yield chunk
  }
}

function checkStart(start: string, name: string): void {
  const [first] = start.replace(/^\uFEFF/, '').trimStart()
  if (first === '{' || first === '[') return
  if (/^.{0,4}(?:\0|\uFFFD)/s.test(start)) throw notUtf8(name)
  const other = findOtherText(start, 'JSON')
  throw unreadable(
    `${name} ${other?.problem ?? 'is no JSON'}`,
    other?.help ?? 'check format, or have it exported as JSON',
  )
}

/** Refuses a text whose beginning shows that each line is a record. `start`: the text, or its beginning. */
export function checkJsonLines(start: Buffer, name: string): void {
  const [line = '', next = ''] = start
    .toString('utf8', 0, maxLineBytes)
    .trimStart()
    .split(/\s*\n\s*/, 2)
  if (!line.startsWith('{') || !next.startsWith('{') || !isJson(line)) return
  throw unreadable(`${name} has one record per line (JSON Lines)`, 'have it exported as one list')
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

type EndOfText = { readonly problem: null; readonly end: string } | { readonly problem: string; readonly help: string }

/** How the end of the list in a text was recognised, in words; or how the text states that there is more. It was saved from a page then. */
export function endOfText(
  content: JsonValue,
  list: Pick<ListText, 'records' | 'ignoredStatements'>,
  records: number,
): EndOfText {
  const read = { records, pages: 1 }
  const statements = [...statedByMembers(content, list.records)].filter(isConsidered(list))
  const proofs = statements.filter((statement) => provesEnd(statement, read))
  const more = statements.find((statement) => isPartOfMore(statement, read, proofs))
  if (more)
    return {
      problem: `${textOf(more, read)}, so this is not the whole list`,
      help: `have all people exported into one file; ${helpIfUnrelated(more)}`,
    }
  const other = statements.find((statement) => isOtherTotal(statement, read, proofs))
  if (other)
    return {
      problem: `${textOf(other, read)}, so it is not the total of this list`,
      help: `have the file exported again; ${helpIfUnrelated(other)}`,
    }
  const texts = proofs.map((statement) => textOf(statement, read)).join('; ')
  return { problem: null, end: `the JSON text is complete: ${texts || 'nothing in it says that there is more'}` }
}

/** Whether a statement in a file says that the file holds a part of the list only. */
function isPartOfMore(statement: Statement, read: ReadCounts, proofs: readonly Statement[]): boolean {
  if (statement.kind === 'previous') return true
  // Nobody asked for a page of this file: that nothing follows does not say that nothing comes before.
  const refuting = statement.kind === 'records' ? proofs.filter(({ kind }) => kind !== 'noMore') : proofs
  return saysMore(statement, { ...read, proofs: refuting, isRepeated: () => false })
}

/** Whether a statement counts another list than this one, for all that the file says. The right total beside it shows that it is another. */
function isOtherTotal(statement: Statement, { records }: ReadCounts, proofs: readonly Statement[]): boolean {
  if (statement.kind !== 'records' || !statement.isTotal || statement.count === records) return false
  return !proofs.some(({ kind }) => kind === 'records')
}
