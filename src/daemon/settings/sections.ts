import { parseDocument } from 'yaml'
import { type Block, blockAt, linesOf, type Member } from './block-members.ts'

/** The parts of a connection that a person edits on their own, in the order of the form. */
export const sectionNames = ['target', 'source', 'mapping', 'leaving', 'guards', 'schedule', 'other'] as const
/** The name of such a part. */
export type SectionName = (typeof sectionNames)[number]

/** A part of a connection as the file has it: settings with their comments, in YAML. */
export type Section = { readonly name: SectionName; readonly text: string }

/** A mistake in what a person typed. `section`: null if it is in none of the parts. */
export type SectionProblem = { readonly section: SectionName | null; readonly message: string }

/** The settings of each part; `other` has all further ones of a connection, and `source` those of its source. */
const ofConnection: Readonly<Record<string, SectionName>> = {
  target: 'target',
  source: 'source',
  guards: 'guards',
  pinned: 'guards',
  onHold: 'guards',
  schedule: 'schedule',
  verify: 'schedule',
  blackouts: 'schedule',
}
const ofSource: Readonly<Record<string, SectionName>> = {
  preset: 'mapping',
  fields: 'mapping',
  record: 'mapping',
  action: 'mapping',
  severalRows: 'mapping',
  onBadCell: 'mapping',
  rowTimeZone: 'mapping',
  scope: 'mapping',
  group: 'mapping',
  status: 'leaving',
  statusMeans: 'leaving',
  outOfScope: 'leaving',
  absence: 'leaving',
  graceRuns: 'leaving',
}
const sourceSections: ReadonlySet<SectionName> = new Set<SectionName>(['source', 'mapping', 'leaving'])

/** The part that the setting at this path of a connection belongs to. */
export function sectionOf([first = '', second = '']: readonly string[]): SectionName {
  if (first === 'source') return ofSource[second] ?? 'source'
  return ofConnection[first] ?? 'other'
}

/** The parts of a connection in the text of a configuration; null if its settings do not stand in lines of their own. */
export function readSections(text: string, connection: string): Section[] | null {
  const findSection = findSections(text, connection)
  if (findSection === null) return null
  return sectionNames.flatMap((name) => {
    const sectionBlock = findSection(name)
    return sectionBlock === null ? [] : [{ name, text: sectionBlock.own.map(({ text: own }) => own).join('\n') }]
  })
}

/** The members of a part, and the mapping that holds them. */
type SectionBlock = { readonly block: Block; readonly own: readonly Member[]; readonly owns: (key: string) => boolean }

function findSections(text: string, connection: string): ((name: SectionName) => SectionBlock | null) | null {
  const at = ['connections', connection]
  const block = blockAt(text, at)
  if (block === null) return null
  // A source that is an alias or stands between braces is edited as one setting.
  const source = blockAt(text, [...at, 'source'])
  return (name) => {
    const isInSource = source !== null && sourceSections.has(name)
    if (!isInSource && (name === 'mapping' || name === 'leaving')) return null
    const parent = isInSource ? source : block
    const names = isInSource ? ofSource : ofConnection
    const rest = isInSource ? 'source' : 'other'
    const owns = (key: string) => {
      if (!isInSource && key === 'source') return name === 'source' && source === null
      return (Object.hasOwn(names, key) ? names[key] : rest) === name
    }
    return { block: parent, own: parent.members.filter(({ key }) => owns(key)), owns }
  }
}

/** A text with changed parts, or what is wrong with them. */
type Edited = { readonly text: string } | { readonly problems: readonly SectionProblem[] }

/**
 * Puts the typed parts of a connection in place of those in the file. Settings that were not changed stay as written, character by
 * character, and so does everything outside of the connection. The connection must have the form that `readSections` wants.
 */
export function withSections(
  text: string,
  connection: string,
  typed: Readonly<Partial<Record<SectionName, string>>>,
): Edited {
  const problems: SectionProblem[] = []
  let edited = text
  for (const name of sectionNames) {
    const sectionBlock = typed[name] === undefined ? null : (findSections(edited, connection)?.(name) ?? null)
    if (sectionBlock === null) continue
    const read = readTyped(typed[name] ?? '', name, sectionBlock)
    if ('problems' in read) problems.push(...read.problems)
    else edited = spliced(edited, sectionBlock, read.members)
  }
  return problems.length > 0 ? { problems } : { text: edited }
}

type Typed = { readonly members: readonly Member[] } | { readonly problems: readonly SectionProblem[] }

function readTyped(typed: string, section: SectionName, { owns, block, own }: SectionBlock): Typed {
  const text = typed.replaceAll('\r\n', '\n')
  const problem = (message: string): Typed => ({ problems: [{ section, message }] })
  if (text.trim() === '') return { members: [] }
  if (text.split('\n').every((line) => /^\s*(?:#|$)/.test(line)))
    return problem('comments alone cannot be a part: keep a setting in it, or remove the comments too')
  const [error] = parseDocument(text, { prettyErrors: false }).errors
  if (error) return problem(`line ${text.slice(0, error.pos[0]).split('\n').length}: ${error.message}`)
  const read = blockAt(`${text}\n`, [])
  if (read === null) return problem('write each setting on a line of its own, as NAME: VALUE')
  const elsewhere = block.members.filter((member) => !own.includes(member)).map(({ key }) => key)
  const foreign = read.members.find(({ key }) => !owns(key) && elsewhere.includes(key))
  if (foreign) return problem(`"${foreign.key}" stands in another part of this form: change it there`)
  return { members: withCommentsAbove(text, read.members) }
}

/** Adds comments above the first setting that are indented otherwise: in the file they would belong to what stands above the part. */
function withCommentsAbove(text: string, [first, ...others]: readonly Member[]): Member[] {
  if (first === undefined) return others
  const lines = linesOf(text).slice(0, first.from)
  const comments = lines.map((line) => line.trim()).filter((line) => line.startsWith('#'))
  return [{ ...first, text: [...comments, first.text].join('\n') }, ...others]
}

type Edit = { readonly from: number; readonly to: number; readonly lines: readonly string[] }

/** Replaces, removes and adds lines. Edits are applied from the last line to the first, so that line numbers stay true. */
function spliced(text: string, { block, own }: SectionBlock, typed: readonly Member[]): string {
  const lines = linesOf(text)
  const end = lines.find((line) => line.endsWith('\n'))?.endsWith('\r\n') ? '\r\n' : '\n'
  const written = (member: Member) => indented(member.text, block.indent, end)
  const known = new Map(own.map((member) => [member.key, member]))
  const edits: Edit[] = []
  for (const member of own) {
    const next = typed.find(({ key }) => key === member.key)
    if (next?.text === member.text) continue
    edits.push({ from: member.from, to: lastContent(lines, member) + 1, lines: next ? written(next) : [] })
  }
  const added = typed.filter(({ key }) => !known.has(key)).flatMap(written)
  const before = own.at(-1) ?? block.members.at(-1)
  const at = before === undefined ? lines.length : lastContent(lines, before) + 1
  if (added.length > 0) edits.push({ from: at, to: at, lines: added })
  for (const edit of edits.toSorted((a, b) => b.from - a.from || b.to - a.to)) {
    if (edit.from > 0 && edit.lines.length > 0) lines[edit.from - 1] = withEnd(lines[edit.from - 1] ?? '', end)
    lines.splice(edit.from, edit.to - edit.from, ...edit.lines)
  }
  return lines.join('')
}

/** The index of the last line of a member that is not blank. */
function lastContent(lines: readonly string[], { from, to }: Member): number {
  let last = to - 1
  while (last > from && (lines[last] ?? '').trim() === '') last--
  return last
}

function withEnd(line: string, end: string): string {
  return line.endsWith('\n') ? line : `${line}${end}`
}

function indented(text: string, indent: number, end: string): string[] {
  return text.split('\n').map((line) => (line === '' ? end : `${' '.repeat(indent)}${line}${end}`))
}
