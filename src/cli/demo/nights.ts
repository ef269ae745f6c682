/** HR writes the nightly export at one in the morning; the cut export came later, and the whole one after it. */
const exportTimes = { nightly: '01:00:00Z', cut: '01:20:00Z', whole: '01:40:00Z' } as const
const nightEndMinutes = 100

/** When HR wrote an export. */
export type ExportTime = keyof typeof exportTimes

/** The day of the last night whose exports all lie in the past. An export dated ahead of the clock would be watched before it is read. */
export function lastNight(now: Temporal.Instant): Temporal.PlainDate {
  return now.subtract({ minutes: nightEndMinutes }).toZonedDateTimeISO('UTC').toPlainDate()
}

/** When HR wrote an export of that night. */
export function exportedAt(date: string, time: ExportTime): Date {
  return new Date(`${date}T${exportTimes[time]}`)
}
