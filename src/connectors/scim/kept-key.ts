import { isDeepStrictEqual } from 'node:util'
import type { Mapping } from '../../identity/mapping/mapping.ts'
import { badRequest, quoted } from './errors.ts'
import type { PatchOperation } from './patch.ts'
import { isActive, statedKey } from './person.ts'
import { isScimObject, type ScimObject, type ScimResource, spelledExtension } from './resource.ts'
import { findSchema, isExtensionName, userSchema } from './schemas.ts'

/** An attribute of the schema of users, or one of an extension. */
type AttributePath = readonly [name: string, member?: string]

/** A user as it is stored, and what replaces it: `body` as it was sent, `stated` as it is read. */
type Replacement = { readonly before: ScimResource; readonly body: ScimObject; readonly stated: ScimResource }

/**
 * The stated user with the externalId and the attributes of its key that the body does not mention. A person does not leave because an update
 * leaves the key out. What the body mentions applies, also if it is empty. A user that is not active keeps its key under its own name only,
 * because systems give the resource of a leaver to the next person with the same userName. Throws a SCIM error if such a user is to be active
 * and its key is not mentioned.
 */
export function keepKey(mapping: Mapping, { before, body, stated }: Replacement): ScimResource {
  const omitted = omittedPaths(before, mentionedIn(body))
  const ofKey = pathsOfKey(mapping, before, omitted)
  if (!isActive(before) && !hasSameName(before, stated)) {
    if (ofKey.length === 0 || stated.active !== true) return stated
    throw maybeAnother(ofKey)
  }
  if (isActive(before) && stated.active === false && isRenamed(before, stated)) return stated
  const kept = omitted.filter((path) => path[0] === 'externalId' || ofKey.includes(path))
  return kept.reduce((resource, path) => withAttribute(resource, before, path), stated)
}

/** A user as it is stored, the operations of a patch, and what they make of it. */
type PatchedUser = {
  readonly before: ScimResource
  readonly operations: readonly PatchOperation[]
  readonly patched: ScimResource
}

/**
 * The patched user. As with a replacement, one that is not active keeps its key under its own name only: with another name it loses what the
 * operations do not mention of its key. Throws a SCIM error if such a user is to be active.
 */
export function keepKeyOfPatch(mapping: Mapping, { before, operations, patched }: PatchedUser): ScimResource {
  const isActiveNow = patched.active ?? isActive(before)
  if (!isRenamed(before, patched) || (isActive(before) && isActiveNow)) return patched
  // No user is without a userName.
  const omitted = omittedPaths(before, mentionedBy(operations)).filter(([name]) => name !== 'userName')
  const ofKey = pathsOfKey(mapping, before, omitted)
  if (isActiveNow && ofKey.length > 0) throw maybeAnother(ofKey)
  return ofKey.reduce(withoutAttribute, patched)
}

/** Whether two states of a user have the same userName and the same name of a person, of which there has to be one. */
function hasSameName(before: ScimResource, stated: ScimResource): boolean {
  return namesOf(before).some((name, index) => index > 0 && name !== '') && haveEqualNames(before, stated)
}

/** Whether a user has another userName, or states a name of a person that it did not have. */
function isRenamed(before: ScimResource, after: ScimResource): boolean {
  const [login, ...names] = namesOf(after)
  return login !== namesOf(before)[0] || (names.some((name) => name !== '') && !haveEqualNames(before, after))
}

function haveEqualNames(one: ScimResource, other: ScimResource): boolean {
  return isDeepStrictEqual(namesOf(one), namesOf(other))
}

function namesOf({ userName, name, displayName }: ScimResource): readonly string[] {
  const { givenName, familyName, formatted } = isScimObject(name) ? name : {}
  return [userName, givenName, familyName, formatted, displayName].map((text) => String(text ?? '').toLowerCase())
}

function maybeAnother(ofKey: readonly AttributePath[]) {
  const names = ofKey.map((path) => quoted(path.join('.'))).join(', ')
  return badRequest(
    'invalidValue',
    `the user was not active and comes back under another name, so it may be another person: send ${names} with it, or delete the user and create it again`,
  )
}

/** Those of the attributes without which the user would have another key or none. */
function pathsOfKey(mapping: Mapping, user: ScimResource, paths: readonly AttributePath[]): readonly AttributePath[] {
  const key = statedKey(mapping, user)
  if (key === null) return []
  let rest = user
  return paths.filter((path) => {
    const smaller = withoutAttribute(rest, path)
    if (statedKey(mapping, smaller) !== key) return true
    rest = smaller
    return false
  })
}

/** The attributes of a user that are not among the mentioned ones, which are folded. */
function omittedPaths(before: ScimResource, mentioned: ReadonlySet<string>): readonly AttributePath[] {
  return Object.entries(before)
    .flatMap(([name, value]): AttributePath[] =>
      isExtensionName(name) && isScimObject(value)
        ? Object.keys(value).map((member) => [name, member] as const)
        : [[name]],
    )
    .filter(
      ([name, member]) => ![[name] as const, [name, member] as const].some((path) => mentioned.has(foldPath(path))),
    )
}

function mentionedIn(body: ScimObject): ReadonlySet<string> {
  return new Set(Object.entries(body).flatMap(([name, value]) => mentionedPaths(name, value)))
}

function mentionedBy(operations: readonly PatchOperation[]): ReadonlySet<string> {
  return new Set(
    operations.flatMap(({ target: { extension, name }, whole }) => [
      foldPath(extension === null ? [name] : [extension, name]),
      ...(whole === undefined ? [] : [foldPath([whole])]),
    ]),
  )
}

/** The attributes that a member of a body mentions. An extension that is null mentions all of its own. */
function mentionedPaths(name: string, value: ScimObject[string]): string[] {
  if (!isExtensionName(name) || value === null) return [foldPath([name])]
  const members = isScimObject(value) ? Object.keys(value) : []
  const isCore = findSchema(name) === userSchema
  return members.map((member) => foldPath(isCore ? [member] : [name, member]))
}

function foldPath(path: AttributePath): string {
  return JSON.stringify(path.filter((part) => part !== undefined)).toLowerCase()
}

function withoutAttribute(resource: ScimResource, [name, member]: AttributePath): ScimResource {
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
