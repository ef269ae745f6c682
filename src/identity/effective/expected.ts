/** What HR's delivered facts say about employment. Instants in ISO 8601; undefined: HR does not state the field. */
export type EmploymentFacts = {
  readonly startedAt?: string | null
  readonly separatedAt?: string | null
  readonly isContractor?: boolean | null
}

const formers: Readonly<Record<string, string>> = {
  SPECIAL_FORMER_EMPLOYEE: 'FORMER_EMPLOYEE',
  SPECIAL_FORMER_CONTRACTOR: 'FORMER_CONTRACTOR',
}

/** The employment status that follows from these facts at a time. Who is not stated as a contractor is an employee. */
export function expectedStatus({ startedAt, separatedAt, isContractor }: EmploymentFacts, at: Date): string {
  const kind = isContractor ? 'CONTRACTOR' : 'EMPLOYEE'
  if (separatedAt && Date.parse(separatedAt) <= at.getTime()) return `FORMER_${kind}`
  if (startedAt && Date.parse(startedAt) > at.getTime()) return 'FUTURE_HIRE'
  return `CURRENT_${kind}`
}

/** Whether a shown status is the expected one. A special former status is set on purpose and counts as former. */
export function showsStatus(shown: string, expected: string): boolean {
  return (formers[shown] ?? shown) === expected
}

/** Whether the platform shows the person as former. */
export function isFormer(status: string): boolean {
  return /^(SPECIAL_)?FORMER_/.test(status)
}

/** Whether the platform shows the person as employed now. */
export function isCurrent(status: string): boolean {
  return status === 'CURRENT_EMPLOYEE' || status === 'CURRENT_CONTRACTOR'
}

/** The record that decides the status of a person with several records: current before ended, started before future, the latest start. */
export function leadingFirst(at: Date) {
  const rank = ({ startedAt, separatedAt }: EmploymentFacts): readonly number[] => [
    separatedAt && Date.parse(separatedAt) <= at.getTime() ? 1 : 0,
    startedAt && Date.parse(startedAt) > at.getTime() ? 1 : 0,
    startedAt ? -Date.parse(startedAt) : Number.POSITIVE_INFINITY,
  ]
  return (a: EmploymentFacts, b: EmploymentFacts): number => {
    const [left, right] = [rank(a), rank(b)]
    const index = left.findIndex((value, column) => value !== right[column])
    return index === -1 ? 0 : (left[index] ?? 0) < (right[index] ?? 0) ? -1 : 1
  }
}
