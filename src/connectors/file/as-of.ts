import { z } from 'zod'
import type { Failure } from '../../errors.ts'
import type { ExportFile } from './export-file.ts'
import { unreadable } from './failures.ts'
import { compilePattern } from './linear-pattern.ts'

const dayMs = 24 * 60 * 60 * 1000
const requiredGroups = ['year', 'month', 'day']

const NamePattern = z.string().superRefine((pattern, context) => {
  const problem = patternProblem(pattern)
  if (problem) context.addIssue({ code: 'custom', message: problem })
})

/** The setting `asOf`: where the as-of time of an export is read from. */
export const AsOf = z
  .discriminatedUnion('from', [
    z.strictObject({ from: z.literal('modificationTime').describe("The file's modification time.") }),
    z.strictObject({
      from: z.literal('fileName').describe("A date, or a date and time, in the file's name."),
      pattern: NamePattern.describe(
        'A regular expression (of RE2: without lookaround and backreferences) with the named groups year (four digits), month and day, and also hour and minute if the name has them, ' +
          'such as (?<year>\\d{4})-(?<month>\\d{2})-(?<day>\\d{2}). The date is read in timeZone. Without an hour it is the start of ' +
          'that day.',
      ),
    }),
  ])
  .describe('The time as of which the rows state HR’s data. Newer facts win over older ones.')

export type AsOf = z.infer<typeof AsOf>

type FileTimeSettings = { readonly asOf: AsOf; readonly timeZone: string }

type AsOfInput = FileTimeSettings & { readonly now: Date }

/** The as-of time of `file` (ISO, UTC). Refuses one in the future. */
export function asOfFile(file: ExportFile, { asOf, timeZone, now }: AsOfInput): string {
  const epochMs = timeOfFile(file, { asOf, timeZone })
  if (epochMs === null) throw noDateFailure(file.name, asOf)
  return requirePast(epochMs, file.name, now)
}

/** An instant as ISO. Refuses one more than a day ahead of `now`, because no later export could ever replace it. */
export function requirePast(epochMs: number, name: string, now: Date): string {
  const instant = new Date(epochMs).toISOString()
  if (epochMs <= now.getTime() + dayMs) return instant
  const problem = `${name} is dated ${instant}, which lies ahead of this machine's time ${now.toISOString()}`
  throw unreadable(problem, 'check the clocks, and asOf and timeZone in the configuration')
}

/** The as-of time of `file` in milliseconds since 1970; null if its name should hold one and does not. */
export function timeOfFile(file: ExportFile, { asOf, timeZone }: FileTimeSettings): number | null {
  return asOf.from === 'fileName' ? timeInName(file.name, asOf.pattern, timeZone) : file.modifiedAtMs
}

function patternProblem(pattern: string): string | undefined {
  try {
    const groups = Object.keys(compilePattern(pattern).namedGroups())
    const missing = requiredGroups.filter((name) => !groups.includes(name))
    return missing.length > 0
      ? `the named groups ${missing.join(', ')} are missing: write for example (?<year>\\d{4})`
      : undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : ''
    return `not a regular expression of RE2, which knows neither lookaround nor backreferences: ${reason}`
  }
}

function timeInName(name: string, pattern: string, timeZone: string): number | null {
  const matcher = compilePattern(pattern).matcher(name)
  if (!matcher.find()) return null
  const { year, month, day, hour, minute } = matcher.getNamedGroups()
  if (year?.length !== 4) return null
  try {
    const fields = {
      year: Number(year),
      month: Number(month),
      day: Number(day),
      hour: Number(hour ?? '0'),
      minute: Number(minute ?? '0'),
    }
    return Temporal.PlainDateTime.from(fields, { overflow: 'reject' }).toZonedDateTime(timeZone).epochMilliseconds
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error
    return null
  }
}

function noDateFailure(name: string, asOf: AsOf): Failure {
  const pattern = asOf.from === 'fileName' ? ` where the pattern ${asOf.pattern} looks for it` : ''
  return unreadable(`the name of ${name} holds no date${pattern}`, 'check asOf in the configuration')
}
