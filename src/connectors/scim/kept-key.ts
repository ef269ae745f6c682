import { isDeepStrictEqual } from 'node:util'
import type { Mapping } from '../../identity/mapping/mapping.ts'
import { badRequest, quoted } from './errors.ts'
import { isActive, statedKey } from './person.ts'
import { isScimObject, type ScimObject, type ScimResource, spelledExtension } from './resource.ts'
import { isExtensionName, schemaNamed, userSchema } from './schemas.ts'

/** An attribute of the schema of users, or one of an extension. */
type AttributePath = readonly [name: string, member?: string]

/** A user as it is stored, and what replaces it: `body` as it was sent, `stated` as it is read. */
type Replacement = { readonly before: ScimResource; readonly body: ScimObject; readonly stated: ScimResource }

/**
 * The stated user with the externalId and the attributes of its key that the body does not mention. A person does not leave because an update
 * leaves the key out. What the body mentions applies, also if it is empty. A user that was not active keeps its key under its own name only,
 * because systems give the resource of a leaver to the next person with the same userName. Throws a SCIM error if such a user is to be active
 * and its key is not mentioned.
 */
export function keepKey(mapping: Mapping, { before, body, stated }: Replacement): ScimResource {
  const omitted = omittedPaths(before, body)
  const ofKey = pathsOfKey(mapping, before, omitted)
  if (!isActive(before) && !hasSameName(before, stated)) {
    if (ofKey.length === 0 || stated.active !== true) return stated
    throw maybeAnother(ofKey)
  }
  const kept = omitted.filter((path) => path[0] === 'externalId' || ofKey.includes(path))
  return kept.reduce((resource, path) => withAttribute(resource, before, path), stated)
}

/** Whether two states of a user have the same userName and the same name of a person, of which there has to be one. */
function hasSameName(before: ScimResource, stated: ScimResource): boolean {
  const [userName, ...names] = namesOf(before)
  return names.some((name) => name !== '') && isDeepStrictEqual([userName, ...names], namesOf(stated))
}

function namesOf({ userName, name, displayName }: ScimResource): readonly string[] {
  const { givenName, familyName, formatted } = isScimObject(name) ? name : {}
  return [userName, givenName, familyName, formatted, displayName].map((text) => String(text ?? '').toLowerCase())
}

function maybeAnother(ofKey: readonly AttributePath[]) {
  const names = ofKey.map((path) => quoted(path.join('.'))).join(', ')
  return badRequest(
    'invalidValue',
    `the user was not active and comes back under another name, so it may be another person: send ${names} with it`,
  )
}

/** Those of the attributes without which the user would have another key or none. */
function pathsOfKey(mapping: Mapping, user: ScimResource, paths: readonly AttributePath[]): readonly AttributePath[] {
  const key = statedKey(mapping, user)
  if (key === null) return []
  let rest = user
  return paths.filter((path) => {
    const smaller = without(rest, path)
    if (statedKey(mapping, smaller) !== key) return true
    rest = smaller
    return false
  })
}

/** The attributes of a user that a body does not mention. */
function omittedPaths(before: ScimResource, body: ScimObject): readonly AttributePath[] {
  const mentioned = new Set(Object.entries(body).flatMap(([name, value]) => mentionedPaths(name, value)))
  return Object.entries(before)
    .flatMap(([name, value]): AttributePath[] =>
      isExtensionName(name) && isScimObject(value)
        ? Object.keys(value).map((member) => [name, member] as const)
        : [[name]],
    )
    .filter(([name, member]) => ![[name] as const, [name, member] as const].some((path) => mentioned.has(folded(path))))
}

/** The attributes that a member of a body mentions. An extension that is null mentions all of its own. */
function mentionedPaths(name: string, value: ScimObject[string]): string[] {
  if (!isExtensionName(name) || value === null) return [folded([name])]
  const members = isScimObject(value) ? Object.keys(value) : []
  const isCore = schemaNamed(name) === userSchema
  return members.map((member) => folded(isCore ? [member] : [name, member]))
}

function folded(path: AttributePath): string {
  return JSON.stringify(path.filter((part) => part !== undefined)).toLowerCase()
}

function without(resource: ScimResource, [name, member]: AttributePath): ScimResource {
  const { [name]: value, ...rest } = resource
  if (member === undefined || !isScimObject(value)) return rest
  const { [member]: _removed, ...others } = value
  return { ...rest, [name]: others }
}

function withAttribute(resource: ScimResource, before: ScimResource, [name, member]: AttributePath): ScimResource {
  const value = before[name] ?? null
  if (member === undefined || !isScimObject(value)) return { ...resource, [name]: value }
  const urn = spelledExtension(resource, name)
  const extension = resource[urn]
  return { ...resource, [urn]: { ...(isScimObject(extension) ? extension : {}), [member]: value[member] ?? null } }
}
