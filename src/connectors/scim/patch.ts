import type { Filter } from 'scim2-parse-filter'
import { badRequest, quoted } from './errors.ts'
import { matcher } from './filter.ts'
import { type PatchTarget, readPath } from './patch-path.ts'
import {
  isScimObject,
  maxValues,
  readResource,
  readSingle,
  readUnknown,
  readValue,
  type ScimObject,
  type ScimResource,
  type ScimValue,
  spelledExtension,
} from './resource.ts'
import { coreSchemas, enterpriseSchema, findSchema, isExtensionName, type ScimKind } from './schemas.ts'

const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const verbs = ['add', 'replace', 'remove'] as const
type Verb = (typeof verbs)[number]

const maxOperations = 1000

/** One operation of a patch on one attribute. `value` is what the sender wrote; null: nothing. */
export type PatchOperation = {
  readonly verb: Verb
  readonly target: PatchTarget
  readonly value: ScimValue
  /** The path, where it may also be the URN of a whole extension that no schema describes. */
  readonly whole?: string
}

/**
 * Reads the operations of a patch (RFC 7644, section 3.5.2) in the forms of the standard, of Okta and of Microsoft Entra, which write verbs in
 * any case and values whose members are paths. Throws a SCIM error.
 */
export function readPatch(kind: ScimKind, body: ScimObject): PatchOperation[] {
  const { schemas } = body
  const [, operations] = Object.entries(body).find(([name]) => name.toLowerCase() === 'operations') ?? []
  if (!Array.isArray(schemas) || !schemas.includes(patchSchema))
    throw badRequest('invalidSyntax', `schemas must hold ${patchSchema}`)
  if (!Array.isArray(operations) || operations.length === 0)
    throw badRequest('invalidSyntax', 'Operations must be a list of at least one operation')
  const read = operations.flatMap((operation: ScimValue) => readOperation(kind, operation))
  if (read.filter(({ target }) => target.name !== 'members').length > maxOperations)
    throw badRequest('invalidValue', `a patch has at most ${maxOperations} operations: send several`)
  return read
}

/** The resource after these operations. Throws a SCIM error. */
export function patchResource(
  kind: ScimKind,
  resource: ScimResource,
  operations: readonly PatchOperation[],
): ScimResource {
  let patched: ScimResource = resource
  for (const operation of operations)
    for (const one of resolveOperation(kind, patched, operation)) patched = applyOperation(patched, one)
  return withoutFormerManager(resource, readResource(kind, patched))
}

function readOperation(kind: ScimKind, operation: ScimValue): PatchOperation[] {
  if (!isScimObject(operation)) throw badRequest('invalidSyntax', 'an operation is no object')
  const { op, path, value = null } = operation
  const verb = verbs.find((one) => one === String(op).toLowerCase())
  if (verb === undefined) throw badRequest('invalidSyntax', `expected an op of ${verbs.join(', ')}`)
  if (path !== undefined && path !== null) {
    if (typeof path !== 'string') throw badRequest('invalidPath', 'a path is no text')
    const read = readMember(kind, { verb, path, value })
    const fixed = read.find(({ target }) => target.attribute?.mutability === 'readOnly')
    if (fixed) throw badRequest('mutability', `${fixed.target.name} cannot be changed by a sender`)
    return read
  }
  if (verb === 'remove') throw badRequest('noTarget', 'remove needs a path')
  if (!isScimObject(value)) throw badRequest('invalidValue', `${verb} without a path needs an object of attributes`)
  // Okta repeats what it may not change, such as the ID.
  return Object.entries(value)
    .flatMap(([name, member]) => readMember(kind, { verb, path: name, value: member }))
    .filter(({ target }) => target.attribute?.mutability !== 'readOnly')
}

type StatedOperation = { readonly verb: Verb; readonly path: string; readonly value: ScimValue }

function readMember(kind: ScimKind, { verb, path, value }: StatedOperation): PatchOperation[] {
  if (path.toLowerCase() === 'password') return []
  if (!isWholeSchema(path)) {
    const target = readPath(kind, path)
    const isOpen =
      isExtensionName(path) && target.attribute === null && target.filter === null && target.subAttribute === null
    return [{ verb, target, value, ...(isOpen && { whole: path }) }]
  }
  return wholeSchema(kind, { verb, path, value })
}

/** The operations on the members of a schema that a path names as a whole. */
function wholeSchema(kind: ScimKind, { verb, path, value }: StatedOperation): PatchOperation[] {
  const schema = findSchema(path)
  if (value === null || verb === 'remove') {
    if (schema === coreSchemas[kind]) throw badRequest('noTarget', `a ${kind} cannot be without its attributes`)
    return [{ verb: 'remove', target: wholeExtension(schema), value: null }]
  }
  if (!isScimObject(value)) throw badRequest('invalidValue', `${quoted(path)} holds no object`)
  return Object.entries(value).map(([name, member]) => {
    return { verb, target: readPath(kind, `${schema}:${name}`), value: member }
  })
}

/** Whether a path names a schema and no attribute of it: what stands after the version is its last part. */
function isWholeSchema(path: string): boolean {
  return isExtensionName(path) && /:\d+(?:\.\d+)*:[^:.[\]]+$/.test(path)
}

function wholeExtension(schema: string): PatchTarget {
  return { extension: null, name: schema, attribute: null, filter: null, subAttribute: null }
}

/** The operations that an operation means for this resource: Okta's own extensions are named like attributes of others. */
function resolveOperation(kind: ScimKind, resource: ScimResource, operation: PatchOperation): PatchOperation[] {
  const { verb, target, value, whole } = operation
  if (whole === undefined || target.extension === null) return [operation]
  const has = (urn: string) => spelledExtension(resource, urn) in resource
  const isWhole = has(whole) || (isScimObject(value) && !has(target.extension))
  return isWhole ? wholeSchema(kind, { verb, path: whole, value }) : [operation]
}

/** The resource without the name of the former manager, unless the sender stated the name of the new one. */
function withoutFormerManager(before: ScimResource, after: ScimResource): ScimResource {
  const [former, manager] = [managerIn(before), managerIn(after)]
  if (manager === null || former === null || former.value === manager.value) return after
  const kept = Object.entries(manager).filter(([name, value]) => name === 'value' || former[name] !== value)
  const enterprise = after[enterpriseSchema] as ScimObject
  return { ...after, [enterpriseSchema]: { ...enterprise, manager: Object.fromEntries(kept) } }
}

function managerIn(resource: ScimResource): ScimObject | null {
  const enterprise = resource[enterpriseSchema]
  return isScimObject(enterprise) && isScimObject(enterprise.manager) ? enterprise.manager : null
}

function applyOperation(resource: ScimResource, operation: PatchOperation): ScimResource {
  const { extension: urn, name } = operation.target
  if (urn === null) {
    const spelled = isExtensionName(name) ? spelledExtension(resource, name) : name
    return { ...resource, [spelled]: changeValue(resource[spelled] ?? null, operation) }
  }
  const extension = spelledExtension(resource, urn)
  const holder = resource[extension]
  const members = isScimObject(holder) ? holder : {}
  // No schema says how the names of this extension are spelled: those that are there win.
  const known = Object.keys(members).find((one) => one.toLowerCase() === name.toLowerCase()) ?? name
  return { ...resource, [extension]: { ...members, [known]: changeValue(members[known] ?? null, operation) } }
}

/** The value of an attribute after an operation; null: not assigned. */
function changeValue(before: ScimValue, { verb, target, value }: PatchOperation): ScimValue {
  const { attribute, filter, subAttribute: sub } = target
  if (filter !== null) return changeMatches(before, { verb, target, filter, value })
  if (sub !== null) {
    const stated = verb === 'remove' ? null : readSub(target, value)
    if (!Array.isArray(before) && attribute?.multiValued !== true) return withMember(before, sub, stated)
    const values = valuesOf(before)
    return (values.length === 0 ? [{}] : values).map((one) => withMember(one, sub, stated))
  }
  if (verb === 'remove') return withoutValues(before, value)
  const stated = attribute === null ? readUnknown(value) : readValue(attribute, value)
  if (verb === 'add' && stated === null) return before
  if (verb === 'add' && (Array.isArray(before) || attribute?.multiValued)) return withAdded(before, stated)
  return isScimObject(before) && isScimObject(stated) ? { ...before, ...stated } : stated
}

type MatchedChange = PatchOperation & { readonly filter: Filter }

function changeMatches(before: ScimValue, { verb, target, filter, value }: MatchedChange): ScimValue {
  const { attribute, subAttribute: sub } = target
  const values = valuesOf(before)
  const matches = matcher(filter)
  if (verb === 'remove') {
    if (sub === null) return values.filter((one) => !matches(one))
    return values.map((one) => (matches(one) ? withMember(one, sub, null) : one))
  }
  const stated = sub === null ? readElement(target, value) : { [sub]: readSub(target, value) }
  if (values.some(matches)) return values.map((one) => (matches(one) ? mergeMembers(one, stated) : one))
  // An operation on a missing value creates it: Microsoft Entra replaces and adds values of a type that is not there yet.
  const traits = traitsOf(filter)
  if (traits === null || attribute?.multiValued === false)
    throw badRequest('noTarget', `no value of ${quoted(target.name)} passes the filter`)
  return [...values, mergeMembers(traits, stated)]
}

function readElement({ attribute }: PatchTarget, value: ScimValue): ScimObject {
  const read = attribute === null ? readUnknown(value) : readSingle(attribute, value)
  if (read === null) return {}
  if (!isScimObject(read)) throw badRequest('invalidValue', 'the value for what a filter selects is no object')
  return read
}

function readSub({ attribute, subAttribute: sub }: PatchTarget, value: ScimValue): ScimValue {
  const subAttribute = attribute?.subAttributes.find(({ name }) => name === sub)
  return subAttribute === undefined ? readUnknown(value) : readSingle(subAttribute, value)
}

/** What the conditions of a filter say of the value that they select; null if they say something else than what is equal. */
function traitsOf(filter: Filter): ScimObject | null {
  if (filter.op === 'eq' && 'compValue' in filter) return { [filter.attrPath]: filter.compValue }
  if (filter.op !== 'and') return null
  const parts = filter.filters.map(traitsOf)
  return parts.includes(null) ? null : Object.assign({}, ...parts)
}

function withMember(value: ScimValue, name: string, member: ScimValue): ScimValue {
  const { [name]: _before, ...others } = isScimObject(value) ? value : {}
  return member === null ? others : { ...others, [name]: member }
}

function mergeMembers(value: ScimValue, stated: ScimObject): ScimValue {
  return { ...(isScimObject(value) ? value : {}), ...stated }
}

function withAdded(before: ScimValue, stated: ScimValue): ScimValue {
  const values = valuesOf(before)
  const known = new Set(values.map(canonicalText))
  const all = [...values, ...valuesOf(stated).filter((one) => !known.has(canonicalText(one)))]
  // Refused before the next operation reads them all again.
  if (all.length > maxValues) throw badRequest('invalidValue', `an attribute holds at most ${maxValues} values`)
  return all
}

/** Without these values; without any if none is named. Some senders name what they remove in a value instead of a filter. */
function withoutValues(before: ScimValue, named: ScimValue): ScimValue {
  if (named === null || !Array.isArray(before)) return null
  const removed = new Set(valuesOf(named).map((one) => canonicalText(identityOf(one))))
  return valuesOf(before).filter((one) => !removed.has(canonicalText(identityOf(one))))
}

/** Equal for equal values, whatever the order of their members. */
function canonicalText(value: ScimValue): string {
  const ordered = (_name: string, member: ScimValue) =>
    isScimObject(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member
  return JSON.stringify(value, ordered)
}

function identityOf(value: ScimValue): ScimValue {
  return isScimObject(value) ? (value.value ?? value) : value
}

function valuesOf(value: ScimValue): readonly ScimValue[] {
  if (value === null) return []
  return Array.isArray(value) ? (value as readonly ScimValue[]) : [value]
}
