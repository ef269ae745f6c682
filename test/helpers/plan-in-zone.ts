import { planDigest } from '../../src/identity/digest.ts'
import { compileMapping, Mapping } from '../../src/identity/mapping.ts'
import { plan } from '../../src/identity/plan.ts'
import { isReject } from '../../src/identity/rows.ts'
import { nightly } from './records.ts'

// Run as a process of its own, since a host's time zone is fixed when a process starts: prints the zone's offset, the digest of a plan
// of leap days and clock changes, and its leaving dates.
const dates = ['2024-03-01', '2026-03-30', '2026-10-05', '2026-11-21']
const mapping = Mapping.parse({
  fields: { identityId: 'id', startedAt: 'start', separatedAt: { column: 'end', means: 'firstDayGone' } },
})
const compiled = compileMapping(mapping, ['id', 'start', 'end'])
if (!compiled.ok) throw new Error(compiled.missing.join('; '))

const told = dates.map((date, i) =>
  compiled.map({ values: [`${i}`, '2020-02-29', date], origin: { file: 'people.csv', line: i + 2 } }),
)
const rows = told.flatMap((row) => (isReject(row) ? [] : [row]))
const { changes } = plan(rows, new Map(), nightly())
console.log(
  JSON.stringify({
    minutesBehindUtc: new Date('2026-01-01T00:00:00Z').getTimezoneOffset(),
    digest: planDigest(changes),
    dates: changes.map((change) => ('record' in change ? change.record.separatedAt : null)),
  }),
)
