import { closest, distance } from 'fastest-levenshtein'
import type { z } from 'zod'
import type { Operation } from '../../contract/operation.ts'
import { platformAreas } from '../../contract/platform/platform.ts'

/** Every permission of the API in alphabetical order, with the operations that need it. */
export const knownPermissions: ReadonlyMap<string, readonly string[]> = collectPermissions()

/** Maximum share of wrong letters for which a name is suggested. */
const maxTypoShare = 1 / 3

/** A refinement that adds an issue for each unknown permission, with a suggestion. */
export function refuseUnknownPermissions(names: readonly string[], ctx: z.RefinementCtx): void {
  for (const [index, name] of names.entries()) {
    if (!knownPermissions.has(name)) ctx.addIssue({ code: 'custom', path: [index], message: describeUnknown(name) })
  }
}

function describeUnknown(name: string): string {
  const near = nearMatches(name)
  const help = near.length > 0 ? `did you mean ${near.join(' or ')}?` : '`platform keys permissions` lists all'
  return `no operation asks for a permission "${name}"; ${help}`
}

function nearMatches(name: string): string[] {
  const known = [...knownPermissions.keys()]
  const best = distance(name, closest(name, known))
  return best > name.length * maxTypoShare ? [] : known.filter((candidate) => distance(name, candidate) === best)
}

function collectPermissions(): ReadonlyMap<string, readonly string[]> {
  const operations: readonly Operation[] = platformAreas.flatMap((area) => Object.values<Operation>(area.operations))
  const pairs = operations.flatMap(({ method, path, permission = [] }) =>
    [permission].flat().map((name) => ({ name, operation: `${method} ${path}` })),
  )
  const byName = Map.groupBy(pairs, ({ name }) => name)
  return new Map(
    [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => [name, of.map(({ operation }) => operation)]),
  )
}
