import type { Dice } from '../dice.ts'
import type { Hr, Night } from '../model/hr-model.ts'
import type { HrPerson } from '../world.ts'

const kinds = ['email', 'start', 'date', 'date alone', 'twice'] as const
const unlistedKinds = ['status', 'status alone'] as const

/**
 * A fault of a person's row: a cell that cannot be read, a row that occurs twice, or a status that no list holds. `alone`: nothing else in
 * the row states whether the person has left.
 */
export type Fault = { readonly kind: (typeof kinds)[number] | (typeof unlistedKinds)[number]; readonly suffix: string }
export type Faults = ReadonlyMap<string, Fault>

/** An export: what HR meant, and its faults by key. */
export type Untidy = { readonly night: Night; readonly faults: Faults }

/** Makes mistakes in HR's exports, as clerks do, and corrects some of them later. */
export function createClerks(hr: Hr) {
  const faults = new Map<string, Fault>()

  return {
    faults: faults as Faults,

    /**
     * Corrects some faulty rows and adds faults to others, preferably to those of `leavers`. With `unlisted`, faults include unlisted
     * statuses. Without it, earlier unlisted statuses are corrected, because the status of a person who leaves meanwhile would change.
     */
    addFaults(dice: Dice, { leavers, unlisted }: { leavers: readonly string[]; unlisted: boolean }): void {
      for (const [id, fault] of faults) if (dice.chance(1 / 4) || (!unlisted && isUnlisted(fault))) faults.delete(id)
      const addFault = (kind: Fault['kind']) => {
        const tidy = hr.rows().flatMap(({ id }) => (faults.has(id) ? [] : [id]))
        const ofLeavers = tidy.filter((id) => leavers.includes(id))
        const [first, ...others] = ofLeavers.length > 0 && dice.chance(1 / 2) ? ofLeavers : tidy
        if (first !== undefined) faults.set(dice.pick([first, ...others]), { kind, suffix: String(hr.nights.length) })
      }
      for (let remaining = dice.integer(1, 2); remaining > 0; remaining--) addFault(dice.pick(kinds))
      if (unlisted) addFault(dice.pick(unlistedKinds))
    },

    correctAll(): void {
      faults.clear()
    },
  }
}

/** The rows of the export, with their faults. */
export function written({ night, faults }: Untidy): HrPerson[] {
  return night.rows.flatMap((row) => rowsOf(row, faults.get(row.id)))
}

/** The statuses of an export that no list holds, with what they mean. */
export function unlistedIn({ night, faults }: Untidy): { value: string; as: 'employed' | 'left' }[] {
  return night.rows.flatMap((row) => {
    const fault = faults.get(row.id)
    if (!fault || !isUnlisted(fault)) return []
    return [{ value: statusOf(row, fault), as: hasLeft(row) ? ('left' as const) : ('employed' as const) }]
  })
}

/**
 * How exports are to be understood, in their order: an unreadable cell leaves its field as it was, and a row that occurs twice leaves the
 * person as they were. `open`: people whose outcome the test does not predict, because it depends on an operator or because two outcomes
 * are right. A person is open until their row has no fault again.
 */
export function understood(exports: readonly Untidy[]): {
  readonly nights: Night[]
  readonly open: ReadonlySet<string>
} {
  const known = new Map<string, HrPerson>()
  const open = new Set<string>()
  const nights = exports.map(({ night, faults }) => {
    const rows = night.rows.flatMap((row) => {
      const [fault, before] = [faults.get(row.id), known.get(row.id)]
      if (!fault) open.delete(row.id)
      else if (isOpen(row, fault, before)) open.add(row.id)
      return fault ? (readable(row, fault, before) ?? []) : row
    })
    const listed = new Set(night.rows.map(({ id }) => id))
    for (const [id, person] of known) if (!listed.has(id)) known.set(id, { ...person, status: 'Inactive' })
    for (const row of rows) known.set(row.id, row)
    return { ...night, rows }
  })
  return { nights, open }
}

export function isUnlisted({ kind }: Fault): boolean {
  return unlistedKinds.some((one) => one === kind)
}

export function hasLeft({ leavingDate, status }: HrPerson): boolean {
  return Boolean(leavingDate) || status === 'Inactive'
}

function rowsOf(row: HrPerson, fault: Fault | undefined): HrPerson[] {
  if (fault === undefined) return [row]
  switch (fault.kind) {
    case 'email':
      return [{ ...row, email: 'DISABLED' }]
    case 'start':
      return [{ ...row, start: '2026-02-31' }]
    case 'date':
      return [{ ...row, leavingDate: 'soon' }]
    case 'date alone':
      return [{ ...row, leavingDate: 'soon', status: 'Active' }]
    case 'twice':
      return [row, row]
    case 'status':
      return [{ ...row, status: statusOf(row, fault) }]
    case 'status alone':
      return [{ ...row, leavingDate: '', status: statusOf(row, fault) }]
    default:
      return fault.kind satisfies never
  }
}

function statusOf(row: HrPerson, { suffix }: Fault): string {
  return hasLeft(row) ? `Gone ${suffix}` : `Sabbatical ${suffix}`
}

/** The row without its fault, with the values that follow from it; undefined if the person stays unknown. */
function readable(row: HrPerson, { kind }: Fault, before: HrPerson | undefined): HrPerson | undefined {
  const { email = '', start = '', leavingDate = '', status = 'Active' } = before ?? {}
  switch (kind) {
    case 'email':
      return { ...row, email }
    case 'start':
      return { ...row, start }
    case 'date':
      return hasLeft(row) ? { ...row, leavingDate: '' } : { ...row, leavingDate, status }
    case 'date alone':
      return { ...row, leavingDate, status }
    case 'twice':
      return before
    case 'status':
      return row
    case 'status alone':
      return hasLeft(row) ? { ...row, leavingDate, status } : row
    default:
      return kind satisfies never
  }
}

function isOpen(row: HrPerson, { kind }: Fault, before: HrPerson | undefined): boolean {
  const hadLeft = before !== undefined && hasLeft(before)
  // All rows of such a person say the same: they may be believed or be rejected.
  if (kind === 'twice') return hasLeft(row)
  if (kind === 'status alone') return hasLeft(row) !== hadLeft
  return kind === 'status' && !hasLeft(row) && hadLeft
}
