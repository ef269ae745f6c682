import { pluralize, pluralizePeople } from '../../identity/pluralize.ts'
import { openStatements } from '../open-statements.ts'
import type { Db } from '../schema.ts'
import type { Condition, ConditionSettings } from './condition.ts'

/** Departures that one person stated as an emergency, until a second one states or withdraws them. */
export async function emergency(db: Db, settings: ConditionSettings): Promise<Condition[]> {
  return (await openStatements(db, settings)).flatMap(({ name, emergencies: people, emergencyTimes }) => {
    if (emergencyTimes === null) return []
    const { since, newest } = emergencyTimes
    const them = people === 1 ? 'it' : 'them'
    const reason = `one person alone stated ${pluralize(people, 'departure')} as an emergency: a second person has to state or withdraw ${them}`
    const about = { connection: name, kind: 'emergency', since, people, leavers: people, runId: null } as const
    return { ...about, code: newest.toISOString(), reason }
  })
}

/** Stated departures that wait for a second person, that were not sent, or that HR contradicts. */
export async function statedDepartures(db: Db, settings: ConditionSettings): Promise<Condition[]> {
  return (await openStatements(db, settings)).flatMap(({ name, people, times, ...counts }) => {
    if (times === null) return []
    const { since, newest } = times
    const { waiting, unsent, contradicted, broughtBack } = counts
    const waits = `${pluralize(waiting, 'stated departure')} ${waiting === 1 ? 'waits' : 'wait'} to be stated by a second person, or again if it expired or the store was restored, or to be changed by one`
    const contradicts = `HR still states ${pluralizePeople(contradicted)} as employed whose departure an operator states: ask HR, then withdraw it, or have HR write it`
    const isDue = `${pluralize(unsent, 'stated departure')} ${unsent === 1 ? 'is' : 'are'} due and not sent: look at the newest runs of the roster`
    const isBack = `${pluralizePeople(broughtBack)} had left since the backup, as only the platform showed, and HR brought them back: state the departure again if an operator had stated it, or withdraw it`
    const reason = [
      ...(waiting > 0 ? [waits] : []),
      ...(unsent > 0 ? [isDue] : []),
      ...(contradicted > 0 ? [contradicts] : []),
      ...(broughtBack > 0 ? [isBack] : []),
    ].join('; ')
    const about = { connection: name, kind: 'stated_departures', since, people, leavers: people, runId: null } as const
    const code = `${waiting} ${unsent} ${contradicted} ${broughtBack} ${newest.toISOString()}`
    return { ...about, code, reason }
  })
}
