import { createRequire } from 'node:module'
import { expressionsOf, type Mapping } from '../../identity/mapping/mapping.ts'

const require = createRequire(import.meta.url)

// The same row must always become the same text, and the content of a cell is no program.
const refusedFunctions: readonly unknown[] = ['now', 'millis', 'random', 'shuffle', 'eval']

/** Why a JSONata expression cannot be used, or null. */
export function expressionProblem(text: string): string | null {
  const parsed = parse(text)
  if ('problem' in parsed) return parsed.problem
  const refused = nodesOf(parsed.ast).find(({ type, value }) => type === 'variable' && refusedFunctions.includes(value))
  return refused === undefined
    ? null
    : `$${String(refused.value)} cannot be used: a row must always become the same text`
}

/** The problems of the expressions of a mapping, each with its path in the mapping. */
export function expressionProblems(
  mapping: Mapping,
): readonly { readonly path: readonly string[]; readonly message: string }[] {
  return expressionsOf(mapping).flatMap(({ path, text }) => {
    const message = expressionProblem(text)
    return message === null ? [] : [{ path, message }]
  })
}

/** The names that stand in the expression itself. A refusal may quote them. */
export function namesIn(ast: unknown): ReadonlySet<string> {
  return new Set(nodesOf(ast).flatMap(({ value }) => (typeof value === 'string' ? [value] : [])))
}

/** The columns that an expression names itself. */
export function columnsIn(text: string): readonly string[] {
  const parsed = parse(text)
  if ('problem' in parsed) return []
  const names = nodesOf(parsed.ast).flatMap(({ type, value }) => (type === 'name' ? [String(value)] : []))
  return [...new Set(names)]
}

function parse(text: string): { readonly ast: unknown } | { readonly problem: string } {
  // Loaded here because few mappings hold an expression, and every command loads what checks them.
  const jsonata: typeof import('jsonata') = require('jsonata')
  try {
    return { ast: jsonata(text).ast() }
  } catch (error) {
    if (error instanceof RangeError) return { problem: 'the expression is nested too deeply' }
    const { message, position } =
      typeof error === 'object' && error !== null ? { message: '', position: 0, ...error } : {}
    return { problem: `not a JSONata expression: ${message} (at character ${position})` }
  }
}

type Node = { readonly type?: unknown; readonly value?: unknown }

function nodesOf(ast: unknown): readonly Node[] {
  const nodes = new Set<object>()
  const open = [ast]
  for (let node = open.pop(); node !== undefined || open.length > 0; node = open.pop()) {
    if (typeof node !== 'object' || node === null || nodes.has(node)) continue
    nodes.add(node)
    open.push(...Object.values(node))
  }
  return [...nodes]
}
