import fc from 'fast-check'
import type { HrEvent } from '../events.ts'
import type { Employee, Hr } from './hr-model.ts'
import type { Model } from './story.ts'
import type { TestSystem } from './test-system.ts'

/** Index of a person among the candidates, modulo their number. */
export const personIndex = fc.nat({ max: 30 })
/** Days before the first one of the story: a leaving date or a start. */
const date = fc
  .integer({ min: 1, max: 60 })
  .map((days) => Temporal.PlainDate.from('2026-11-20').subtract({ days }).toString())
/** Few, so that much is taken back again. */
const details = fc.record({ title: fc.constantFrom('Director', 'Engineer') })

/** An action of HR. `eventType`: the event that may report it. `act` returns the id of the person. */
type Act = {
  readonly name: string
  readonly eventType: 'hired' | 'updated' | 'terminated' | null
  readonly act: (hr: Hr) => string | undefined
}
export type ReportedAct = Act & { readonly isReported: boolean }

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.constant({
    name: 'a hire',
    eventType: 'hired' as const,
    act: (hr: Hr) => {
      const id = `E${String(hr.people.size + 1).padStart(4, '0')}`
      hr.hire(id)
      return id
    },
  }),
  fc.tuple(personIndex, details).map(([at, news]) => ({
    name: `${at} gets${describeOptions(news)}`,
    eventType: 'updated' as const,
    act: about(at, isListed, (hr, id) => hr.change(id, news)),
  })),
  fc.tuple(personIndex, fc.option(date)).map(([at, leavingDate]) => ({
    name: `${at} leaves on ${leavingDate}`,
    eventType: 'terminated' as const,
    act: about(at, isActive, (hr, id) =>
      hr.leave(id, leavingDate === null ? undefined : notBeforeStart(hr, id, leavingDate)),
    ),
  })),
  fc.tuple(personIndex, date).map(([at, leavingDate]) => ({
    name: `${at} left on ${leavingDate} after all`,
    eventType: 'terminated' as const,
    act: about(at, hasLeft, (hr, id) => hr.correct(id, notBeforeStart(hr, id, leavingDate))),
  })),
  fc.tuple(personIndex, fc.option(date, { freq: 2 })).map(([at, start]) => ({
    name: start === null ? `${at} has never left` : `${at} is back since ${start}`,
    eventType: 'hired' as const,
    act: about(at, isGone, (hr, id) => hr.comeBack(id, start ?? hr.people.get(id)?.start ?? '')),
  })),
  personIndex.map((at) => ({
    name: `${at} is not listed any more`,
    eventType: null,
    act: about(at, isListed, (hr, id) => hr.vanish(id)),
  })),
)

/** Consecutive actions of HR. */
export const acts: fc.Arbitrary<readonly ReportedAct[]> = fc.array(
  fc.tuple(act, fc.boolean()).map(([chosen, isReported]) => ({ ...chosen, isReported })),
  { minLength: 1, maxLength: 5 },
)

/** Performs the actions; returns the events that report them. */
export function carryOut(done: readonly ReportedAct[], { hr, outbox }: Model, { world }: TestSystem): HrEvent[] {
  const fresh = done.flatMap(({ act: carryOutAct, eventType, isReported }) => {
    const id = carryOutAct(hr)
    return id !== undefined && eventType !== null && isReported
      ? [hr.event(eventType, id, world.sync.now().toISOString())]
      : []
  })
  outbox.push(...fresh)
  return fresh
}

export function names(done: readonly ReportedAct[]): string {
  return (
    done.map(({ name, eventType, isReported }) => (isReported && eventType ? `${name} (reported)` : name)).join(', ') ||
    'nothing'
  )
}

function about(
  at: number,
  whom: (person: Employee) => boolean,
  change: (hr: Hr, id: string) => void,
): (hr: Hr) => string | undefined {
  return (hr) => {
    const id = pick([...hr.people.values()].filter(whom), at)?.id
    if (id !== undefined) change(hr, id)
    return id
  }
}

function isListed({ listed }: Employee): boolean {
  return listed
}

function isActive({ listed, status }: Employee): boolean {
  return listed && status === 'Active'
}

function hasLeft({ status }: Employee): boolean {
  return status === 'Inactive'
}

function isGone(person: Employee): boolean {
  return !isActive(person)
}

/** The model does not cover leaving dates before the start. */
function notBeforeStart(hr: Hr, id: string, leavingDate: string): string {
  const start = hr.people.get(id)?.start ?? leavingDate
  return leavingDate < start ? start : leavingDate
}

/** Undefined where there are none. */
export function pick<T>(items: readonly T[], at: number): T | undefined {
  return items[at % Math.max(items.length, 1)]
}

/** The options that are set, for the name of a command. */
export function describeOptions(options: object): string {
  const words = Object.entries(options).filter(([, value]) => value !== false && value !== null)
  return words.length > 0 ? ` ${JSON.stringify(Object.fromEntries(words))}` : ''
}
