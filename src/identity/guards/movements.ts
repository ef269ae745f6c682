import type { Verdict } from '../change.ts'
import type { FieldName } from '../record.ts'
import type { Move, News } from './facts.ts'
import { isOtherField } from './limits.ts'

/** Maximum number of people named with a verdict. */
const peopleNamed = 10
/** Values move alike if at least this share and this number of them do. */
const alike = { share: 0.9, count: 3 }
/** Maximum number of different values, or kinds of move, that are counted per field. */
const valuesKept = 100_000
const dayMs = 86_400_000
/** The text of a hint if values are exchanged between people. */
export const ofOtherPeople = 'values are those of other people'

/** How the values of one field move: the number of people, and the number for each kind of move. */
type Movement = {
  all: number
  blank: number
  swapped: number
  misread: number
  caseAlone: number
  /** By how many days dates move. */
  readonly days: Map<number, number>
  /** The number of addresses by old and new domain. */
  readonly domains: Map<string, number>
  readonly to: Map<string, number>
  /** For each value, how often it is replaced minus how often it is the new one. In a column that was sorted without its keys, all are 0. */
  readonly balance: Map<string, number>
}

/** Collects what is new in a plan, to explain a failed verdict: the people concerned, and how their values move. */
export function movements() {
  const people = new Map<string, string[]>()
  const moved = new Map<FieldName, Movement>()

  function name(guard: string, identityId: string): void {
    const named = people.get(guard) ?? []
    people.set(guard, named)
    const maxNamed = namedAll.has(guard) ? Number.POSITIVE_INFINITY : peopleNamed
    if (named.length < maxNamed && named.at(-1) !== identityId) named.push(identityId)
  }

  return {
    /** Adds what is new about a person. */
    add({ identityId, kinds, moves }: News): void {
      for (const kind of kinds) name(kind, identityId)
      for (const move of moves) {
        const { field, to } = move
        if (field === 'separatedAt' && !kinds.includes('redates')) continue
        const movement = moved.get(field) ?? stillness()
        moved.set(field, movement)
        addMove(movement, move)
        if (isOtherField(field)) name(to === null ? 'blanks' : 'fieldChanges', identityId)
      }
    },

    /** The verdict; a failed one with people concerned and one sentence for each field whose values move alike. */
    explain(verdict: Verdict): Verdict {
      if (verdict.ok) return verdict
      const named = people.get(verdict.name) ?? []
      const fields =
        fieldsOf[verdict.name] ?? (ofOthers.has(verdict.name) ? [...moved.keys()].filter(isOtherField) : [])
      const hints = fields.flatMap((field) => {
        const movement = moved.get(field)
        if (movement === undefined || !isAbout(verdict.name, movement)) return []
        const hint = hintOf(movement)
        return hint === null ? [] : [`${field}: ${hint}`]
      })
      return { ...verdict, ...(named.length > 0 && { people: named }), ...(hints.length > 0 && { hints }) }
    },
  }
}

/** The guards whose verdicts name everybody concerned, so that an approval does too. */
export const namedAll: ReadonlySet<string> = new Set(['pinned', 'reusedKeys'])

const fieldsOf: Readonly<Record<string, readonly FieldName[]>> = {
  redates: ['separatedAt'],
  emailChanges: ['email'],
  contractorFlips: ['isContractor'],
}
const ofOthers: ReadonlySet<string> = new Set(['fieldChanges', 'blanks'])

/** Fields with two limits: `blanks` is about values that are lost, `fieldChanges` about all others. */
function isAbout(guard: string, { all, blank }: Movement): boolean {
  const mostlyBlank = blank * 2 > all
  return guard === 'blanks' ? mostlyBlank : guard !== 'fieldChanges' || !mostlyBlank
}

function stillness(): Movement {
  return {
    ...{ all: 0, blank: 0, swapped: 0, misread: 0, caseAlone: 0 },
    ...{ days: new Map(), domains: new Map(), to: new Map(), balance: new Map() },
  }
}

function addMove(movement: Movement, { from, to }: Move): void {
  movement.all++
  add(movement.balance, String(from), 1)
  if (to === null) {
    movement.blank++
    return
  }
  add(movement.balance, String(to), -1)
  add(movement.to, String(to), 1)
  if (typeof from !== 'string' || typeof to !== 'string') return
  const [before, after] = [dayOf(from), dayOf(to)]
  if (before !== null && after !== null) {
    add(movement.days, (Date.parse(after) - Date.parse(before)) / dayMs, 1)
    if (swapDayAndMonth(before) === after) movement.swapped++
    return
  }
  const [oldDomain, newDomain] = [domainOf(from), domainOf(to)]
  if (oldDomain !== null && newDomain !== null) add(movement.domains, `from ${oldDomain} to ${newDomain}`, 1)
  if (isMisread(from, to)) movement.misread++
  if (from.toLowerCase() === to.toLowerCase()) movement.caseAlone++
}

/** How nearly all values move, and the usual cause; null if they do not move alike. */
function hintOf(movement: Movement): string | null {
  const { all, blank, swapped, misread, caseAlone, days, domains, to, balance } = movement
  const isMost = (count: number) => count >= alike.count && count >= alike.share * all
  if (isMost(blank))
    return `${blank} of ${all} become blank. The column may have been emptied, or taken out of the report`
  if (isMost(swapped))
    return `in ${swapped} of ${all} day and month change places. The format of dates may have changed`
  const [shift, shifted] = most(days)
  if (shift !== undefined && isMost(shifted)) {
    const by = `${Math.abs(shift)} ${Math.abs(shift) === 1 ? 'day' : 'days'} ${shift < 0 ? 'back' : 'forward'}`
    return `${shifted} of ${all} move ${by}. A time zone may have been applied to dates`
  }
  if (isMost(misread))
    return `${misread} of ${all} read as text in the wrong encoding. The encoding of the export may have changed`
  const lost = balance.values().reduce((sum, count) => sum + Math.max(0, count), 0)
  if (balance.size < valuesKept && to.size > 1 && isMost(all - lost)) {
    return `${all - lost} of ${all} ${ofOtherPeople}. The column may have been sorted without its keys`
  }
  if (isMost(caseAlone)) return `${caseAlone} of ${all} differ in upper and lower case alone`
  const [route, routed] = most(domains)
  if (route !== undefined && isMost(routed))
    return `${routed} of ${all} move ${route}. The company may have changed its domain`
  const [, alikeNow] = most(to)
  if (isMost(alikeNow))
    return `${alikeNow} of ${all} become the same value. The column may hold a default, or be another one than before`
  return null
}

function add<K>(counts: Map<K, number>, key: K, count: number): void {
  if (counts.has(key) || counts.size < valuesKept) counts.set(key, (counts.get(key) ?? 0) + count)
}

function most<K>(counts: ReadonlyMap<K, number>): [K | undefined, number] {
  let result: [K | undefined, number] = [undefined, 0]
  for (const [key, count] of counts) if (count > result[1]) result = [key, count]
  return result
}

function dayOf(value: string): string | null {
  return /^(\d{4}-\d{2}-\d{2})T00:00:00\.000Z$/.exec(value)?.[1] ?? null
}

function swapDayAndMonth(date: string): string {
  const [year, month, day] = date.split('-')
  return `${year}-${day}-${month}`
}

function domainOf(value: string): string | null {
  const at = value.lastIndexOf('@')
  return at < 1 ? null : value.slice(at)
}

/** Whether a text is another one read in the wrong encoding. */
function isMisread(from: string, to: string): boolean {
  if (to.includes('\u{fffd}') && !from.includes('\u{fffd}')) return true
  const bytes = new TextEncoder().encode(from)
  return bytes.length > from.length && singleByte.decode(bytes) === to
}

const singleByte = new TextDecoder('windows-1252')
