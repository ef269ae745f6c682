import { isScimObject, type ScimObject, type ScimValue } from './resource.ts'

/** Which attributes of a resource a sender asks for (RFC 7644, section 3.9). Names may begin with the URN of a schema. */
export type Projection = { readonly only: readonly string[] | null; readonly without: readonly string[] }

const alwaysReturned: ReadonlySet<string> = new Set(['id', 'schemas'])

/** The projection of `attributes` and `excludedAttributes`, lists of names with commas between them. */
export function readProjection({
  attributes,
  excludedAttributes,
}: {
  readonly attributes: string | undefined
  readonly excludedAttributes: string | undefined
}): Projection {
  const names = (text: string): string[] => text.split(',').flatMap((name) => name.trim().toLowerCase() || [])
  return { only: attributes ? names(attributes) : null, without: excludedAttributes ? names(excludedAttributes) : [] }
}

/** A resource with the attributes that a projection asks for. */
export function project(resource: ScimObject, { only, without }: Projection): ScimObject {
  const selected = only === null ? resource : pick(resource, [], (path) => isNamed(path, only))
  if (without.length === 0) return selected
  return pick(selected, [], (path) => (without.some((name) => spellings(path).includes(name)) ? 'none' : 'some'))
}

type Answer = 'all' | 'some' | 'none'

/** Keeps the members that `decide` asks for: `some` decides about the members below. A member of which nothing is left goes. */
function pick(value: ScimObject, above: readonly string[], decide: (path: readonly string[]) => Answer): ScimObject {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, ScimValue][] => {
      const path = [...above, name]
      if (path.length === 1 && alwaysReturned.has(name)) return [[name, member]]
      const answer = decide(path)
      if (answer === 'none') return []
      if (answer === 'all') return [[name, member]]
      if (Array.isArray(member)) {
        const kept = (member as readonly ScimValue[]).map((one) => (isScimObject(one) ? pick(one, path, decide) : one))
        return [[name, kept]]
      }
      return [[name, isScimObject(member) ? pick(member, path, decide) : member]]
    }),
  )
}

function isNamed(path: readonly string[], names: readonly string[]): Answer {
  const own = spellings(path)
  if (names.some((name) => own.includes(name))) return 'all'
  const hasInner = names.some((name) => own.some((one) => name.startsWith(`${one}.`) || name.startsWith(`${one}:`)))
  return hasInner ? 'some' : 'none'
}

/** How a path may be written: `urn:…:User:manager.value`, or without the URN for an attribute of the core. */
function spellings(path: readonly string[]): readonly string[] {
  const [first = '', ...rest] = path.map((name) => name.toLowerCase())
  if (first.startsWith('urn:')) return [rest.length === 0 ? first : `${first}:${rest.join('.')}`]
  const plain = [first, ...rest].join('.')
  return [
    plain,
    `urn:ietf:params:scim:schemas:core:2.0:user:${plain}`,
    `urn:ietf:params:scim:schemas:core:2.0:group:${plain}`,
  ]
}
