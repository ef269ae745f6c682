import { Document, isMap, isScalar, isSeq, parseDocument, type Scalar, type YAMLSeq } from 'yaml'
import { Failure } from '../../errors.ts'
import { type Block, blockAt, linesOf } from './block-members.ts'

/**
 * Sets one setting of a block mapping in YAML, or removes it if the value is undefined. All other lines stay as written. What stands
 * between braces around the setting is written anew.
 */
export function withSetting(text: string, path: readonly string[], value: unknown): string {
  const [key = '', ...below] = path
  const block = text.trim() === '' ? null : blockAt(`${text}\n`, [])
  const member = block?.members.find((one) => one.key === key)
  const changed = changedMember(member?.text ?? '', [key, ...below], value)
  const lines = text === '' ? [] : text.split('\n')
  const [from, to] = member ? [member.from, member.from + member.text.split('\n').length] : [lines.length, lines.length]
  return [...lines.slice(0, from), ...(changed === '' ? [] : changed.split('\n')), ...lines.slice(to)].join('\n')
}

/** The lines of one setting of the mapping; empty if it is removed. */
function changedMember(text: string, [key = '', ...below]: readonly string[], value: unknown): string {
  const block = below.length > 0 && text !== '' ? blockAt(`${text}\n`, [key]) : null
  if (block !== null) return withInner(text, block, withSetting(innerOf(text, block), below, value))
  const document = text === '' ? new Document({}) : parseDocument(text)
  const parent = below.length === 0 ? document.contents : document.getIn([key], true)
  if (parent !== undefined && parent !== null && !isMap(parent) && below.length > 0)
    throw new Failure('conflict', `${key} is written as an alias or one value: change it in YAML`)
  const present: unknown = document.getIn([key, ...below], true)
  if (value === undefined) document.deleteIn([key, ...below])
  else if (Array.isArray(value) && isSeq(present)) setItems(document, present, { texts: value, source: text })
  // A text in the place of another keeps its comment.
  else document.setIn([key, ...below], isPlain(value) ? value : nodeOf(document, value))
  const isEmpty = !isMap(document.contents) || document.contents.items.length === 0
  // A list whose lines stand below its key without indentation stays so.
  const indentSeq = !/^- /m.test(text)
  return isEmpty ? '' : document.toString({ lineWidth: 0, singleQuote: true, indentSeq }).trimEnd()
}

type ListTexts = {
  readonly texts: readonly unknown[]
  /** The text that the list was parsed from. */
  readonly source: string
}

/** Removes and adds texts of a list. Those that stay keep their comments, and items that were commented out stay too. */
function setItems(document: Document, list: YAMLSeq, { texts, source }: ListTexts): void {
  giveFirstItemItsComment(list, source)
  const kept: Scalar[] = []
  let commentedOut: string[] = []
  for (const item of list.items.filter(isScalar)) {
    const comment = item.commentBefore?.split('\n') ?? []
    const isKept = texts.includes(item.value)
    commentedOut.push(...(isKept ? comment : comment.filter((line) => /^\s*-\s/.test(line))))
    if (!isKept) continue
    item.commentBefore = commentedOut.join('\n') || null
    commentedOut = []
    kept.push(item)
  }
  list.comment = [...commentedOut, ...(list.comment ? [list.comment] : [])].join('\n') || null
  const known = new Set(kept.map(({ value }) => value))
  list.items = [...kept, ...texts.filter((text) => !known.has(text)).map((text) => document.createNode(text))]
}

/** The parser gives a comment above the first item to the list. The lines directly above the item are about the item. */
function giveFirstItemItsComment(list: YAMLSeq, source: string): void {
  const [first] = list.items
  if (list.flow || !isScalar(first) || !list.commentBefore) return
  const above = source.slice(0, first.range?.[0]).split('\n').slice(0, -1)
  const own = above.length - 1 - above.findLastIndex((line) => !line.trimStart().startsWith('#'))
  const lines = list.commentBefore.split('\n')
  first.commentBefore = lines.splice(lines.length - own, own).join('\n') || null
  list.commentBefore = lines.join('\n') || null
}

/** Lists stand between brackets in one line, settings in lines of their own. */
function nodeOf(document: Document, value: unknown): unknown {
  if (Array.isArray(value)) return document.createNode(value, { flow: true })
  const members = Object.entries(value as object).map(
    ([name, one]) => [name, isPlain(one) ? one : nodeOf(document, one)] as const,
  )
  return document.createNode(Object.fromEntries(members))
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value !== 'object'
}

/** The lines of a mapping below its key, without their indentation. */
function innerOf(text: string, { indent, members }: Block): string {
  const lines = linesOf(text).slice(members[0]?.from, members.at(-1)?.to)
  return lines.map((line) => line.slice(Math.min(indent, line.length - line.trimStart().length)).trimEnd()).join('\n')
}

function withInner(text: string, { indent, members }: Block, inner: string): string {
  if (inner.trim() === '') return ''
  const before = linesOf(text)
    .slice(0, members[0]?.from)
    .map((line) => line.trimEnd())
  const after = linesOf(text)
    .slice(members.at(-1)?.to)
    .map((line) => line.trimEnd())
  const changed = inner.split('\n').map((line) => (line === '' ? '' : `${' '.repeat(indent)}${line}`))
  return [...before, ...changed, ...after].join('\n')
}
