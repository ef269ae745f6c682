import type { Path } from './document.ts'

/** The path itself; for a list, the paths of its members. */
export function pathsOf(values: unknown, path: Path): Path[] {
  const value = valueAt(values, path)
  return Array.isArray(value) ? value.map((_, index) => [...path, index]) : [path]
}

/** The object at a path; an empty one if something else is there. */
export function objectAt(values: unknown, path: Path): Record<string, unknown> {
  const value = valueAt(values, path)
  return isObject(value) ? value : {}
}

/** Whether a value is an object and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text at a path; empty if something else is there. */
export function textAt(values: unknown, path: Path): string {
  const value = valueAt(values, path)
  return typeof value === 'string' ? value : ''
}

/** The value at a path; undefined if there is none. */
function valueAt(values: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (parent, name) => (typeof parent === 'object' && parent ? Reflect.get(parent, name) : undefined),
    values,
  )
}
