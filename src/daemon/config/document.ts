import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visitAsync,
  type YAMLMap,
} from 'yaml'
import { Failure } from '../../errors.ts'
import { holdsReference, readReferences, resolveReferences, type TextPart } from './references.ts'

/** The path of a setting: names and indexes. */
export type Path = readonly PropertyKey[]
type Position = { readonly line: number; readonly column: number }
/** A mistake in a configuration and its position. */
export type Problem = Position & { readonly message: string }

/** A parsed YAML file that knows the positions and the references of its values. */
export type ConfigDocument = {
  /** The mistakes, without those of deferred references. */
  readonly problems: readonly Problem[]
  /** The plain values, references resolved. Not to be changed: the next caller gets the same. */
  values(): unknown
  /** The position of the value; for a missing one, of the nearest setting around it. */
  positionOf(path: Path): Position
  /** The position of the name of a setting. */
  positionOfKey(path: Path): Position
  /** The references of a value, if it has any. */
  referencesAt(path: Path): readonly TextPart[] | undefined
  /** The text of a value as written, if it has a reference. */
  writtenAt(path: Path): string | undefined
  /**
   * The position of the value, or of the text that became the object which holds it, with the text as written if it has a reference; null
   * if it is not written.
   */
  writtenValueAt(path: Path): (Position & { readonly written: string | undefined }) | null
  /**
   * Replaces a reference that cannot be resolved, or whose text is refused, by a placeholder. Returns what is wrong with it; null if
   * nothing is.
   */
  defer(path: Path, refuse?: (text: string) => string | null, placeholder?: string): Problem | null
  /** Converts a text that came from a reference into the number or the boolean that it spells. True if it did. */
  convert(path: Path): boolean
}

/** A placeholder that is valid as a token and as an address. */
const anyPlaceholder = 'https://not-read-yet.invalid/'

type ReferenceContext = { readonly env: NodeJS.ProcessEnv; readonly folder: string }

/** A parsed document, with the references of its nodes and their texts. */
type ParsedText = {
  readonly document: Document
  readonly lines: LineCounter
  readonly problems: Problem[]
  readonly references: Map<unknown, readonly TextPart[]>
  readonly written: Map<unknown, string>
  readonly unresolved: Map<unknown, Problem>
}

/** Parses the text of a configuration and resolves its references. Mistakes are listed, not thrown. */
export async function parseConfig(text: string, context: ReferenceContext): Promise<ConfigDocument> {
  const parsed = parseText(text)
  await resolveScalars(parsed, context)
  const { document, lines, problems, references, written, unresolved } = parsed
  if (problems.length === 0) problems.push(...excess(document))
  // Each connection reads them.
  let values: unknown = null
  return {
    get problems() {
      return [...problems, ...unresolved.values()]
    },
    values() {
      values ??= document.toJS()
      return values
    },
    positionOf: (path) => positionAt(lines, nearest(document, path).value?.range?.[0]),
    positionOfKey(path) {
      const { key, value } = nearest(document, path)
      return positionAt(lines, (key ?? value)?.range?.[0])
    },
    referencesAt(path) {
      const { value, exact } = nearest(document, path)
      return exact ? references.get(value) : undefined
    },
    writtenAt(path) {
      const { value, exact } = nearest(document, path)
      return exact ? written.get(value) : undefined
    },
    writtenValueAt(path) {
      const { value, exact } = nearest(document, path)
      const isWritten = exact || isScalar(isAlias(value) ? value.resolve(document) : value)
      return isWritten ? { ...positionAt(lines, value?.range?.[0]), written: written.get(value) } : null
    },
    defer(path, refuse = () => null, placeholder = anyPlaceholder) {
      const { value, exact } = nearest(document, path)
      if (!exact || !isScalar(value) || !references.has(value)) return null
      const message = unresolved.get(value)?.message ?? refuse(String(value.value))
      if (message === null) return null
      values = null
      unresolved.delete(value)
      value.value = placeholder
      return { ...positionAt(lines, value.range?.[0]), message }
    },
    convert(path) {
      const { value, exact } = nearest(document, path)
      if (!exact || !isScalar(value) || !references.has(value)) return false
      values = null
      const spelled = spelledValue(value.value)
      if (spelled !== undefined) value.value = spelled
      return spelled !== undefined
    },
  }
}

function parseText(text: string): ParsedText {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const problems = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    ...positionAt(lines, pos[0]),
    message,
  }))
  return { document, lines, problems, references: new Map(), written: new Map(), unresolved: new Map() }
}

/** Replaces each text that holds a reference by what the reference stands for, or by an empty text. */
async function resolveScalars(parsed: ParsedText, context: ReferenceContext): Promise<void> {
  const { document, lines, problems, references, written, unresolved } = parsed
  await visitAsync(document, {
    Alias(_role, alias) {
      if (alias.resolve(document)) return
      const message = `unknown alias *${alias.source}: the anchor &${alias.source} must stand above it`
      problems.push({ ...positionAt(lines, alias.range?.[0]), message })
    },
    async Scalar(role, scalar) {
      if (role === 'key' || typeof scalar.value !== 'string' || !holdsReference(scalar.value)) return
      const resolved = await resolve(scalar.value, context)
      written.set(scalar, scalar.value)
      references.set(scalar, 'problem' in resolved ? [] : resolved.parts)
      if ('problem' in resolved)
        unresolved.set(scalar, { ...positionAt(lines, scalar.range?.[0]), message: resolved.problem })
      scalar.value = 'problem' in resolved ? '' : resolved.text
    },
  })
}

function positionAt(lines: LineCounter, offset = 0): Position {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(line, 1), column: Math.max(col, 1) }
}

async function resolve(
  text: string,
  context: ReferenceContext,
): Promise<{ readonly problem: string } | { readonly parts: readonly TextPart[]; readonly text: string }> {
  const { parts, problem } = resolveReferences(text, context)
  if (problem !== undefined) return { problem }
  try {
    return { parts, text: await readReferences(parts) }
  } catch (error) {
    if (error instanceof Failure) return { problem: error.message }
    throw error
  }
}

/** Aliases of aliases can expand to more than memory holds; the parser counts them when it builds the values. */
function excess(document: Document): Problem[] {
  try {
    document.toJS()
    return []
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    return [{ line: 1, column: 1, message: 'too many aliases: write the settings out' }]
  }
}

type NearestNode = { readonly key?: Node; readonly value: Node | undefined; readonly exact: boolean }

/** Follows the path as far as it exists. */
function nearest(document: Document, path: Path): NearestNode {
  let nearestNode: NearestNode = { value: nodeOf(document.contents), exact: path.length === 0 }
  for (const [index, name] of path.entries()) {
    const next = child(isAlias(nearestNode.value) ? nearestNode.value.resolve(document) : nearestNode.value, name)
    if (!next) return nearestNode
    nearestNode = { ...next, exact: index === path.length - 1 }
  }
  return nearestNode
}

function child(parent: unknown, name: PropertyKey): Omit<NearestNode, 'exact'> | undefined {
  if (isSeq(parent)) return { value: nodeOf(parent.items[Number(name)]) }
  if (!isMap(parent)) return undefined
  const pair = pairsOf(parent).get(String(name))
  return pair && { key: nodeOf(pair.key), value: nodeOf(pair.value) }
}

/** The pairs of a map by their keys, the first of each. Every setting of a thousand connections is looked up. */
const pairsByMap = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>()

function pairsOf(map: YAMLMap): ReadonlyMap<string, Pair> {
  const known = pairsByMap.get(map)
  if (known) return known
  const named = map.items.map((pair) => [String(isScalar(pair.key) ? pair.key.value : pair.key), pair] as const)
  const pairs = new Map(named.toReversed())
  pairsByMap.set(map, pairs)
  return pairs
}

function nodeOf(candidate: unknown): Node | undefined {
  return isNode(candidate) ? candidate : undefined
}

function spelledValue(value: unknown): number | boolean | undefined {
  if (value === 'true' || value === 'false') return value === 'true'
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : undefined
}
