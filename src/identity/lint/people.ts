import { isHiredAgain } from '../employment.ts'
import { pluralizePeople } from '../pluralize.ts'
import { timedFieldsOf } from '../record.ts'
import { type Check, column, type LintScope, minSampleSize } from './watch.ts'

/** Finds exports without leavers, though they have a column for them. A future leaving date makes no leaver yet. */
export function watchLeavers({ columns, exportDate }: LintScope): Check[] {
  const headers = [columns.separatedAt, columns.status].filter((header) => header !== undefined)
  if (headers.length === 0) return []
  let hasLeaver = false
  return [
    {
      addRow(observation) {
        const { statesDeparture, leavingDate } = observation
        // Exports without leavers keep the old date of a person who was hired again.
        const hasCome =
          typeof leavingDate === 'string' && leavingDate < exportDate && !isHiredAgain(observation, exportDate)
        if (statesDeparture || hasCome) hasLeaver = true
        return hasLeaver
      },
      traits: { areEnough: ({ isLeaver }) => !isLeaver },
      finding(people) {
        if (hasLeaver || people < minSampleSize) return null
        const message =
          `this export contains no leavers (${pluralizePeople(people)}, ${headers.map(column).join(', ')}); ` +
          'such reports often leave inactive people out: have the report include them'
        return { message }
      },
    },
  ]
}

/** Finds mapped columns that are blank for everybody. */
export function watchBlankColumns({ columns }: LintScope): Check[] {
  const blankFields = timedFieldsOf(columns).filter((name) => columns[name] !== undefined)
  return [
    {
      addRow({ fields, badCells = [] }) {
        for (let at = blankFields.length - 1; at >= 0; at -= 1) {
          const name = blankFields[at]
          if (name === undefined) continue
          if (fields[name] != null || badCells.some((cell) => cell.column === columns[name])) blankFields.splice(at, 1)
        }
        return blankFields.length === 0
      },
      traits: { areEnough: ({ fills }) => !blankFields.some(fills) },
      finding(people) {
        if (blankFields.length === 0 || people < minSampleSize) return null
        const named = blankFields.map((name) => `${column(columns[name])} (${name})`).join(', ')
        const message = `${named}: every row is blank or holds a value that means "not known"; have the report fill it, or take the field out of the mapping`
        return { message }
      },
    },
  ]
}

/** Finds exports that name managers without their keys. */
export function watchManagers({ columns }: LintScope): Check[] {
  if (columns.managerName === undefined || columns.managerId !== undefined) return []
  let anyManager = false
  return [
    {
      addRow({ fields }) {
        if (fields.managerName != null) anyManager = true
        return anyManager
      },
      traits: { areEnough: ({ fills }) => !fills('managerName') },
      finding() {
        if (!anyManager) return null
        const message =
          `managers are known by name only (${column(columns.managerName)}), and two people may have the same name; ` +
          "add a column with the manager's key to the report, or take managerName out of the mapping"
        return { message }
      },
    },
  ]
}

/** The first row with an e-mail address. `identityId`: null for a row added by its traits, whose key is in no other row. */
type Owner = { readonly identityId: string | null; readonly line: number }

/** Finds an e-mail address that several of the first people have. */
export function watchAddresses({ columns, sampleSize, addressOf }: LintScope): Check[] {
  if (columns.email === undefined) return []
  const owners = new Map<string, Owner>()
  let shared = 0
  let first: { readonly line: number; readonly before: number } | null = null

  function addAddress(address: string, { identityId, line }: Owner): boolean {
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
      addRow({ fields: { email }, identityId, origin }) {
        return typeof email === 'string' && addAddress(addressOf(email), { identityId, line: origin.line })
      },
      traits: {
        areEnough: ({ fills }, hasAddress) => hasAddress || !fills('email'),
        addInOrder: ({ address, line }) => address !== null && addAddress(address, { identityId: null, line }),
      },
      finding() {
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
