/** The fields of an identity record besides its key. Instants are ISO 8601 in UTC with milliseconds. */
export type IdentityValues = {
  readonly email: string | null
  readonly secondaryEmail: string | null
  readonly firstName: string | null
  readonly lastName: string | null
  readonly jobTitle: string | null
  readonly managerId: string | null
  readonly managerName: string | null
  readonly startedAt: string | null
  readonly separatedAt: string | null
  readonly isContractor: boolean | null
}

export const noValues: IdentityValues = {
  email: null,
  secondaryEmail: null,
  firstName: null,
  lastName: null,
  jobTitle: null,
  managerId: null,
  managerName: null,
  startedAt: null,
  separatedAt: null,
  isContractor: null,
}

/** What `stored` becomes when `submitted` arrives: absent fields stay, null clears, and a stored `separatedAt` only gives way to null. */
export function mergeIdentity(stored: IdentityValues, submitted: Partial<IdentityValues>): IdentityValues {
  return { ...stored, ...submitted, separatedAt: mergedSeparation(stored.separatedAt, submitted.separatedAt) }
}

export function sameIdentity(one: IdentityValues, other: IdentityValues): boolean {
  return Object.keys(noValues).every(
    (field) => one[field as keyof IdentityValues] === other[field as keyof IdentityValues],
  )
}

function mergedSeparation(stored: string | null, submitted: string | null | undefined): string | null {
  if (submitted === undefined) return stored
  if (submitted === null) return null
  return stored ?? submitted
}
