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

/** The column that holds each field. */
export const identityColumns = {
  email: { name: 'email', type: 'text' },
  secondaryEmail: { name: 'secondary_email', type: 'text' },
  firstName: { name: 'first_name', type: 'text' },
  lastName: { name: 'last_name', type: 'text' },
  jobTitle: { name: 'job_title', type: 'text' },
  managerId: { name: 'manager_id', type: 'text' },
  managerName: { name: 'manager_name', type: 'text' },
  startedAt: { name: 'started_at', type: 'timestamptz' },
  separatedAt: { name: 'separated_at', type: 'timestamptz' },
  isContractor: { name: 'is_contractor', type: 'boolean' },
} as const satisfies Readonly<Record<keyof IdentityValues, { readonly name: string; readonly type: string }>>
