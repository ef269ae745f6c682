import type { EmploymentStatus } from '../../contract/platform/personnel.ts'
import { type Html, html } from '../../web/html.ts'

/** What people call the statuses of the contract, in the order in which the page lists them. */
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
export const statuses = Object.keys(statusNames) as readonly EmploymentStatus[]

const wholeNumbers = new Intl.NumberFormat('en')
const moments = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const secondMs = 1000
const minuteMs = 60 * secondMs
const tenthMs = 100

export function number(value: number): string {
  return wholeNumbers.format(value)
}

/** A number with its noun. */
export function counted(value: number, one: string, many: string): string {
  return `${number(value)} ${value === 1 ? one : many}`
}

export function moment(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${moments.format(at)} UTC</time>`
}

export function day(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${days.format(at)}</time>`
}

export function duration(ms: number): string {
  if (ms < secondMs) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < minuteMs) return `${Math.round(ms / tenthMs) / (secondMs / tenthMs)} s`
  return `${Math.floor(ms / minuteMs)} min ${Math.floor((ms % minuteMs) / secondMs)} s`
}
