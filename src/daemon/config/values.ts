import type { Path } from './document.ts'

/**
 * The path itself; for a list or an object, the paths of all that is in it. A `*` in the path means every member of a list or an object.
 */
export function pathsOf(values: unknown, path: Path): Path[] {
  const star = path.indexOf('*')
  if (star >= 0) {
    const start = path.slice(0, star)
    return membersOf(valueAt(values, start)).flatMap((name) =>
      pathsOf(values, [...start, name, ...path.slice(star + 1)]),
    )
  }
  const value = valueAt(values, path)
  const isGroup = Array.isArray(value) || isObject(value)
  return isGroup ? membersOf(value).flatMap((name) => pathsOf(values, [...path, name])) : [path]
}

function membersOf(value: unknown): readonly (string | number)[] {
  if (Array.isArray(value)) return [...value.keys()]
  return isObject(value) ? Object.keys(value) : []
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
