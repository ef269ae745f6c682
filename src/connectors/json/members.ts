import type { z } from 'zod'
import { unreadable } from '../file/failures.ts'
import { pointerNames } from '../json-pointer.ts'

/** JSON of the configuration, such as the body of a request. */
type PlainJson = z.core.util.JSONType

/** The member of a body at a JSON pointer; undefined if there is none. */
export function memberAt(body: PlainJson, pointer: string): PlainJson | undefined {
  return pointerNames(pointer).reduce<PlainJson | undefined>(
    (value, name) => (isGroup(value) && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined),
    body,
  )
}

/** The body with a value at a name or JSON pointer. Objects that are missing on the way are made. */
export function withMember(body: PlainJson, parameter: string, value: PlainJson): PlainJson {
  const names = parameter.startsWith('/') ? pointerNames(parameter) : [parameter]
  return replaceMember(body, names, { parameter, value })
}

function isGroup(value: PlainJson | undefined): value is PlainJson[] | Record<string, PlainJson> {
  return typeof value === 'object' && value !== null
}

type Replacement = { readonly parameter: string; readonly value: PlainJson }

function replaceMember(
  whole: PlainJson | undefined,
  [name, ...below]: readonly string[],
  replacement: Replacement,
): PlainJson {
  if (name === undefined) return replacement.value
  if (Array.isArray(whole) && Object.hasOwn(whole, name) && name !== 'length')
    return whole.with(Number(name), replaceMember(whole[Number(name)], below, replacement))
  if (whole !== undefined && (!isGroup(whole) || Array.isArray(whole)))
    throw unreadable(`body has no object where ${replacement.parameter} is to be set`, 'check parameter below pages')
  const current = whole !== undefined && Object.hasOwn(whole, name) ? whole[name] : undefined
  return { ...whole, [name]: replaceMember(current, below, replacement) }
}
