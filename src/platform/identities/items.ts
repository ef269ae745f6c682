import { z } from 'zod'
import { IdentityRecord, type IdentityUpdate } from '../../contract/platform/hris-user-identities.ts'
import { inPlainWords } from '../../http/issues.ts'
import type { IdentityValues } from './values.ts'

/** A valid item of a batch. Fields that the item does not name are undefined. */
export type Submission = { readonly identityId: string; readonly values: SubmittedValues }
type SubmittedValues = { readonly [field in keyof IdentityValues]?: IdentityValues[field] | undefined }

/** An item of a batch after its check. */
export type CheckedItem = { readonly submission: Submission } | { readonly error: string }

const record = z.compile(IdentityRecord)
// Most callers send instants in the stored format, which needs no conversion.
const storedForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** Checks every item; the result has the order of the input. All items with a repeated key are errors, so that their order decides nothing. */
export function checkItems(items: readonly unknown[]): CheckedItem[] {
  const repeated = repeatedKeys(items)
  return items.map((item) => {
    const key = keyOf(item)
    if (key !== undefined && repeated.has(key)) return { error: 'identityId occurs more than once in this batch' }
    const checked = record.safeParse(item, { error: inPlainWords })
    if (!checked.success) return { error: describe(checked.error) }
    return { submission: { identityId: checked.data.identityId, values: submittedValues(checked.data) } }
  })
}

/** The fields that a request names, with instants in UTC with milliseconds. */
export function submittedValues(fields: Omit<IdentityUpdate, 'identityId'>): SubmittedValues {
  const { email, secondaryEmail, firstName, lastName, jobTitle, managerId, managerName, isContractor } = fields
  const [startedAt, separatedAt] = [inUtc(fields.startedAt), inUtc(fields.separatedAt)]
  return {
    email,
    secondaryEmail,
    firstName,
    lastName,
    jobTitle,
    managerId,
    managerName,
    startedAt,
    separatedAt,
    isContractor,
  }
}

function repeatedKeys(items: readonly unknown[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const item of items) {
    const key = keyOf(item)
    if (key === undefined) continue
    if (seen.has(key)) repeated.add(key)
    seen.add(key)
  }
  return repeated
}

function keyOf(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null || !('identityId' in item)) return undefined
  return typeof item.identityId === 'string' ? item.identityId : undefined
}

// Names the field and the rule, never the value: it may be personal data.
function describe({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message)).join('; ')
}

function inUtc(instant: string | null | undefined): string | null | undefined {
  return instant == null || storedForm.test(instant) ? instant : new Date(instant).toISOString()
}
