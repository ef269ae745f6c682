import { isMap, isScalar, type Node, parseDocument } from 'yaml'

/** The lines of a setting of a block mapping, with the comments above it. */
export type Member = {
  readonly key: string
  /** Index of the first line. */
  readonly from: number
  /** Index after the last line. */
  readonly to: number
  /** The lines without the indentation of the mapping, and without blank lines around them. */
  readonly text: string
}

/** The settings of a mapping that stands in lines of its own. */
export type Block = { readonly indent: number; readonly members: readonly Member[] }

/** The lines of a text, each with its end. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}

/** The settings of the block mapping at a path; null if there is none: it is missing, an alias, or written between braces. */
export function blockAt(text: string, path: readonly string[]): Block | null {
  const document = parseDocument(text)
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path, true)
  if (!isMap(node) || node.flow || node.items.length === 0) return null
  const starts = node.items.map(({ key }) => (isScalar(key) ? startOf(key) : null))
  const lines = linesOf(text)
  const keys = starts.map((start) => (start === null ? null : positionIn(text, start)))
  const indent = keys[0]?.column ?? 0
  if (keys.some((key) => key === null || key.column !== indent)) return null
  const rows = keys.flatMap((key) => (key === null ? [] : [key.line]))
  const end = endOf(lines, rows.at(-1) ?? 0, indent)
  const firsts = rows.map((row, at) => commentsAbove(lines, { row, indent, after: rows[at - 1] ?? -1 }))
  const members = node.items.map(({ key }, at) => {
    const from = firsts[at] ?? 0
    const to = firsts[at + 1] ?? end
    return { key: String(isScalar(key) ? key.value : key), from, to, text: dedented(lines.slice(from, to), indent) }
  })
  return { indent, members }
}

function startOf(node: Node): number | null {
  return node.range?.[0] ?? null
}

function positionIn(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset)
  const line = before.split('\n').length - 1
  return { line, column: offset - (before.lastIndexOf('\n') + 1) }
}

/** The first line of the comments above a key. Comments that are indented more belong to what stands above them. */
function commentsAbove(
  lines: readonly string[],
  { row, indent, after }: { readonly row: number; readonly indent: number; readonly after: number },
): number {
  let first = row
  for (let at = row - 1; at > after; at--) {
    const line = lines[at] ?? ''
    if (line.trim() !== '' && !(line.trimStart().startsWith('#') && indentOf(line) === indent)) break
    first = at
  }
  while (first < row && (lines[first] ?? '').trim() === '') first++
  return first
}

/**
 * The index after the last line of a mapping whose last key stands in `row`. Blank lines below it do not belong to it. A line that was
 * commented out at the margin does not end it: settings of the mapping may follow.
 */
function endOf(lines: readonly string[], row: number, indent: number): number {
  let end = row + 1
  for (let at = row + 1; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (line.trim() === '') continue
    const isDocumentEnd = indent === 0 && /^(?:---|\.\.\.)(?:\s|$)/.test(line)
    if (indentOf(line) < indent && line.trimStart().startsWith('#')) continue
    if (indentOf(line) < indent || isDocumentEnd) break
    end = at + 1
  }
  return end
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

/** The lines without this indentation, and without blank lines around them. */
function dedented(lines: readonly string[], indent: number): string {
  const plain = lines.map((line) =>
    line.trim() === '' ? '' : line.slice(Math.min(indent, indentOf(line))).replace(/\r?\n$/, ''),
  )
  return plain.join('\n').replaceAll(/^\n+|\n+$/g, '')
}
