import type { z } from 'zod'

/** What zod hands to a check of a whole document: the document, and the list of its issues. */
export type DocumentCheck<T> = z.core.ParsePayload<T>

type Path = readonly (string | number)[]
type Names = { has(name: string): boolean }
type UniqueValues = { readonly path: Path; readonly noun: string; readonly values: readonly (string | number)[] }
type KnownValues = {
  readonly path: Path
  readonly noun: string
  readonly values: readonly string[]
  readonly known: Names
}
type KnownValue = {
  readonly path: Path
  readonly noun: string
  readonly value: string | null | undefined
  readonly known: Names
}
type KnownKeys = { readonly path: Path; readonly noun: string; readonly keys: readonly string[]; readonly known: Names }

/** Adds an issue for each value that the list has already, at the position of the repetition. */
export function checkUnique(checking: DocumentCheck<unknown>, { path, noun, values }: UniqueValues): void {
  const seen = new Set<string | number>()
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) addIssue(checking, [...path, index], `the ${noun} ${JSON.stringify(value)} is there twice`)
    seen.add(value)
  }
}

/** Adds an issue for each value that is not `known`, at its position in the list. */
export function checkKnown(checking: DocumentCheck<unknown>, { path, values, ...rest }: KnownValues): void {
  for (const [index, value] of values.entries()) checkKnownOne(checking, { path: [...path, index], value, ...rest })
}

/** Adds an issue at `path` if the value is there and not `known`. */
export function checkKnownOne(checking: DocumentCheck<unknown>, { path, noun, value, known }: KnownValue): void {
  if (value == null || known.has(value)) return
  addIssue(checking, path, `there is no ${noun} ${JSON.stringify(value)}`)
}

/** Adds an issue for each key of an object that is not `known`, at that key. */
export function checkKnownKeys(checking: DocumentCheck<unknown>, { path, keys, ...rest }: KnownKeys): void {
  for (const key of keys) checkKnownOne(checking, { path: [...path, key], value: key, ...rest })
}

/** Adds an issue at `path` of the document. */
export function addIssue({ issues, value }: DocumentCheck<unknown>, path: Path, message: string): void {
  issues.push({ code: 'custom', input: value, path: [...path], message })
}
