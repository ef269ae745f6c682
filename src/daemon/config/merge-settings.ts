import { isObject } from './values.ts'

/** A setting that is still to be given. */
const openSetting: unique symbol = Symbol('open setting')

/** The names of settings that choose one of several forms. Settings of another form are not mixed with the former ones. */
const choosing = ['type', 'by', 'grant', 'from']

/**
 * The settings with others over them, member by member. Lists are replaced, unless `own` has numbers as names, which change single members.
 * null removes a member.
 */
export function mergeSettings(base: unknown, own: unknown): unknown {
  if (!isObject(own)) return own
  if (Array.isArray(base)) return isAboutMembers(own) ? base.map((value, at) => mergeMember(value, own, `${at}`)) : own
  if (!isObject(base) || choosing.some((name) => isOther(base[name], own[name]))) return own
  const kept = Object.entries(base).filter(([name]) => own[name] !== null)
  const merged = kept.map(([name, value]) => [name, mergeMember(value, own, name)] as const)
  return Object.fromEntries([...merged, ...Object.entries(own).filter(([name]) => !Object.hasOwn(base, name))])
}

function mergeMember(value: unknown, own: Readonly<Record<string, unknown>>, name: string): unknown {
  return own[name] === undefined ? value : mergeSettings(value, own[name])
}

function isAboutMembers(own: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(own).every((name) => /^\d+$/.test(name))
}

function isOther(value: unknown, own: unknown): boolean {
  return value !== undefined && own !== undefined && value !== own
}

/** The settings in which the one at a path is still to be given. */
export function withOpenSetting(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return openSetting
  if (Array.isArray(value))
    return value.map((member, at) => (`${at}` === name ? withOpenSetting(member, rest) : member))
  const members = isObject(value) ? value : {}
  return { ...members, [name]: withOpenSetting(members[name], rest) }
}

/** The paths of settings that are still to be given. */
export function openSettings(value: unknown, path: readonly string[] = []): string[][] {
  if (value === openSetting) return [[...path]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => openSettings(member, [...path, name]))
}

/** The settings without those that are still to be given, and without groups that hold nothing else. */
export function withoutOpenSettings(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((member) => (member === openSetting ? null : withoutOpenSettings(member)))
  if (!isObject(value)) return value
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    if (member === openSetting || (isObject(member) && holdsOnlyOpen(member))) return []
    return [[name, withoutOpenSettings(member)]]
  })
  return Object.fromEntries(members)
}

function holdsOnlyOpen(value: Readonly<Record<string, unknown>>): boolean {
  const members = Object.values(value)
  return members.length > 0 && members.every((one) => one === openSetting || (isObject(one) && holdsOnlyOpen(one)))
}
