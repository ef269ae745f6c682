import { pluralizePeople } from '../pluralize.ts'
import { isHiredAgain } from '../employment.ts'
import { timedFieldsOf } from '../record.ts'
import { column, minSampleSize, type LintScope, type Watch } from './watch.ts'

/** Finds exports in which no one has left, though they have a column to say so. A leaving date that lies ahead is no leaver yet. */
export function watchLeavers({ columns, exportDate }: LintScope): Watch[] {
  const telling = [columns.separatedAt, columns.status].filter((header) => header !== undefined)
  if (telling.length === 0) return []
  let anybodyLeft = false
  return [
    {
      see(observation) {
        const { statesDeparture, leavingDate } = observation
        // The date of a person who was hired again is kept in exports that leave out who has left.
        const hasCome =
          typeof leavingDate === 'string' && leavingDate < exportDate && !isHiredAgain(observation, exportDate)
        if (statesDeparture || hasCome) anybodyLeft = true
        return anybodyLeft
      },
      spares: ({ left }) => !left,
      found(people) {
        if (anybodyLeft || people < minSampleSize) return null
        const message =
          `this export contains no leavers (${pluralizePeople(people)}, ${telling.map(column).join(', ')}); ` +
          'such reports often leave inactive people out: have the report include them'
        return { message }
      },
    },
  ]
}

/** Finds mapped columns that say nothing about anybody. */
export function watchBlankColumns({ columns }: LintScope): Watch[] {
  const unsaid = timedFieldsOf(columns).filter((name) => columns[name] !== undefined)
  return [
    {
      see({ fields, badCells = [] }) {
        for (let at = unsaid.length - 1; at >= 0; at -= 1) {
          const name = unsaid[at]
          if (name === undefined) continue
          if (fields[name] != null || badCells.some((cell) => cell.column === columns[name])) unsaid.splice(at, 1)
        }
        return unsaid.length === 0
      },
      spares: ({ fills }) => !unsaid.some(fills),
      found(people) {
        if (unsaid.length === 0 || people < minSampleSize) return null
        const named = unsaid.map((name) => `${column(columns[name])} (${name})`).join(', ')
        const message = `${named}: every row is blank or holds a value that means "not known"; have the report fill it, or take the field out of the mapping`
        return { message }
      },
    },
  ]
}

/** Finds exports that name managers without saying by a key who they are. */
export function watchManagers({ columns }: LintScope): Watch[] {
  if (columns.managerName === undefined || columns.managerId !== undefined) return []
  let anyManager = false
  return [
    {
      see({ fields }) {
        if (fields.managerName != null) anyManager = true
        return anyManager
      },
      spares: ({ fills }) => !fills('managerName'),
      found() {
        if (!anyManager) return null
        const message =
          `managers are known by name only (${column(columns.managerName)}), and two people may share one; ` +
          "add a column with the manager's key to the report, or take managerName out of the mapping"
        return { message }
      },
    },
  ]
}

/** Finds an e-mail address that several of the first people have. */
export function watchAddresses({ columns, sampleSize, addressOf }: LintScope): Watch[] {
  if (columns.email === undefined) return []
  /** `identityId`: null of a row that was left out, whose key stands in no other one. */
  const owners = new Map<string, { readonly identityId: string | null; readonly line: number }>()
  let shared = 0
  let first: { readonly line: number; readonly before: number } | null = null

  function note(address: string, { identityId, line }: { identityId: string | null; line: number }): boolean {
    const owner = owners.get(address)
    if (owner === undefined) {
      owners.set(address, { identityId, line })
    } else if (owner.identityId === null || owner.identityId !== identityId) {
      shared += 1
      first ??= { line, before: owner.line }
    }
    return owners.size >= sampleSize
  }

  return [
    {
      see({ fields: { email }, identityId, origin }) {
        return typeof email === 'string' && note(addressOf(email), { identityId, line: origin.line })
      },
      spares: ({ fills }, knowsAddress) => knowsAddress || !fills('email'),
      spareOne: ({ address, line }) => address !== null && note(address, { identityId: null, line }),
      found() {
        if (first === null) return null
        const { line, before } = first
        const message =
          `${pluralizePeople(shared)} with the e-mail address of somebody else (${column(columns.email)}), such as lines ${before} and ${line}; ` +
          'the platform matches people by address'
        return { message, line }
      },
    },
  ]
}
