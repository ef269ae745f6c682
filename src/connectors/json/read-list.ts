import { joinChunks } from '../file/chunks.ts'
import { unreadable } from '../file/failures.ts'
import type { ExportFormat } from '../file/format.ts'
import { findOtherText } from '../file/other-text.ts'
import { isAboutList, isTotalOfList, listsInOtherItems } from './about-list.ts'
import { type JsonValue, notUtf8, readJson } from './cells.ts'
import { RecordSplitter } from './record-splitter.ts'
import { recordsAt } from './records-at.ts'
import { escapedLocation, helpIfUnrelated, textOf } from './statement-text.ts'
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
  const all = [...statedByMembers(content, list.records)]
  const isUsed = isConsidered(list)
  const statements = all.filter(isUsed)
  const proofs = statements.filter((statement) => provesEnd(statement, read))
  const context = { read, proofs, recordsPath: list.records }
  const more = statements.find((statement) => saysPartOnly(statement, context))
  if (more) {
    const help = 'have all people exported into one file'
    return {
      problem: `${textOf(more, read)}, so this is not the whole list`,
      help: isSurelyAbout(more, list.records) ? help : `${help}; ${helpIfUnrelated(more)}`,
    }
  }
  const beside = [...listsInOtherItems(content, list.records)]
    .map((location) => ({ location, kind: 'more' }) as const)
    .find(isUsed)
  if (beside)
    return {
      problem: `${escapedLocation(beside)} holds records too, so this is not the whole list`,
      help: `have all people exported into one list; ${helpIfUnrelated(beside)}`,
    }
  const other = statements.find((statement) => isOtherTotal(statement, context))
  if (other)
    return {
      problem: `${textOf(other, read)}, so it is not the total of this list`,
      help: `have the file exported again; ${helpIfUnrelated(other)}`,
    }
  const proved = proofs.map((statement) => textOf(statement, read)).join('; ')
  const ignored = all
    .filter((statement) => !isUsed(statement) && isSurelyAbout(statement, list.records))
    .filter((statement) => saysPartOnly(statement, context))
    .map((statement) => `; ignored: ${textOf(statement, read)}`)
    .join('')
  return {
    problem: null,
    end: `the JSON text is complete: ${proved || 'nothing in it says that there is more'}${ignored}`,
  }
}

type StatementContext = {
  readonly read: ReadCounts
  readonly proofs: readonly Statement[]
  readonly recordsPath: string
}

/** Whether a statement in a file says that the file holds a part of the list only. */
function saysPartOnly(statement: Statement, { read, proofs, recordsPath }: StatementContext): boolean {
  // What joins all pages may keep what the last one states besides its records. The total shows it.
  if (statement.kind === 'previous')
    return isAboutList(statement, recordsPath) && !proofs.some((proof) => isTotalOfList(proof, recordsPath))
  // Nobody asked for a page of this file: that nothing follows does not say that nothing comes before.
  const refutingProofs = statement.kind === 'records' ? proofs.filter(({ kind }) => kind !== 'noMore') : proofs
  return saysMore(statement, { ...read, proofs: refutingProofs, isRepeated: () => false })
}

/** Whether a statement is about this list beyond doubt, so that no advice says to ignore it. Some first pages name a previous one too. */
function isSurelyAbout(statement: Statement, recordsPath: string): boolean {
  const namesMore = statement.kind === 'next' || statement.kind === 'more'
  return namesMore ? isAboutList(statement, recordsPath) : isTotalOfList(statement, recordsPath)
}

/** Whether the total of the list is smaller than the list. The right total beside it shows that it counts something else. */
function isOtherTotal(statement: Statement, { read, proofs, recordsPath }: StatementContext): boolean {
  if (!isTotalOfList(statement, recordsPath) || provesEnd(statement, read)) return false
  return !proofs.some(({ kind }) => kind === 'records')
}
