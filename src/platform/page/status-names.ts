import type { EmploymentStatus } from '../../contract/platform/personnel.ts'

/** The names of the statuses, in the order of the page. */
export const statusNames: Readonly<Record<EmploymentStatus, string>> = {
  CURRENT_EMPLOYEE: 'Current employee',
  CURRENT_CONTRACTOR: 'Current contractor',
  FUTURE_HIRE: 'Future hire',
  FORMER_EMPLOYEE: 'Former employee',
  FORMER_CONTRACTOR: 'Former contractor',
  SPECIAL_FORMER_EMPLOYEE: 'Special former employee',
  SPECIAL_FORMER_CONTRACTOR: 'Special former contractor',
  SERVICE_ACCOUNT: 'Service account',
  OUT_OF_SCOPE: 'Out of scope',
  UNKNOWN: 'Unknown',
}
/** The statuses in the order of the page. */
export const statuses = Object.keys(statusNames) as readonly EmploymentStatus[]
