import type { z } from 'zod'

/** What a check on a whole document gets from zod: the document, and where complaints go. */
export type Checking<T> = z.core.ParsePayload<T>

type Path = readonly (string | number)[]

/** Complains about a value that stands twice in the list, at the place of the second one. */
export function checkUnique(
  checking: Checking<unknown>,
  { path, what, values }: { path: Path; what: string; values: readonly (string | number)[] },
): void {
  const seen = new Set<string | number>()
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) complain(checking, [...path, index], `the ${what} ${JSON.stringify(value)} is there twice`)
    seen.add(value)
  }
}

/** Complains about a value that names nothing, at its place in the list. */
export function checkKnown(
  checking: Checking<unknown>,
  {
    path,
    what,
    values,
    known,
  }: { path: Path; what: string; values: readonly string[]; known: { has(value: string): boolean } },
): void {
  for (const [index, value] of values.entries()) {
    if (!known.has(value)) complain(checking, [...path, index], `there is no ${what} ${JSON.stringify(value)}`)
  }
}

/** The same for a single value that may be missing. */
export function checkKnownOne(
  checking: Checking<unknown>,
  {
    path,
    what,
    value,
    known,
  }: { path: Path; what: string; value: string | null | undefined; known: { has(value: string): boolean } },
): void {
  if (value == null || known.has(value)) return
  complain(checking, path, `there is no ${what} ${JSON.stringify(value)}`)
}

/** The same for the keys of an object, each at its own place. */
export function checkKnownKeys(
  checking: Checking<unknown>,
  {
    path,
    what,
    keys,
    known,
  }: { path: Path; what: string; keys: readonly string[]; known: { has(value: string): boolean } },
): void {
  for (const key of keys) checkKnownOne(checking, { path: [...path, key], what, value: key, known })
}

/** Adds a complaint about the place. */
export function complain({ issues, value }: Checking<unknown>, path: Path, message: string): void {
  issues.push({ code: 'custom', input: value, path: [...path], message })
}
