import { withExpressions } from '../../src/connectors/expressions/expressions.ts'
import { planDigest } from '../../src/identity/digest.ts'
import { compileMapping, expressionsOf, Mapping } from '../../src/identity/mapping/mapping.ts'
import { isReject } from '../../src/identity/mapping/rows.ts'
import { plan } from './model/plan.ts'
import { nightly } from './records.ts'

// Run as a process of its own, since a host's time zone is fixed when a process starts: prints the zone's offset, the digest of a plan
// of leap days, clock changes and the last day of a year, its leaving dates, and what else was made of times.
const headers = ['id', 'start', 'end', 'zone', 'seen']
const rows = [
  ['29 Feb 2020', '2024-03-01', '', '2026-03-29T02:30:00'],
  ['1 Jan 2021', '2026-03-30', '', '2026-10-25T02:30:00'],
  ['31 Dec 2019', '2026-10-05', '', '2026-03-08T02:30:00'],
  ['5 Apr 2020', '2026-11-21', '', '2026-11-01T01:30:00'],
  ['5 Apr 2020', '2026-01-01T00:30+14:00', 'Pacific/Kiritimati', '2026-04-05T02:15:00'],
  ['5 Apr 2020', '2026-01-01T10:59Z', 'Pacific/Midway', '2026-10-04T02:15:00'],
  ['5 Apr 2020', '2026-03-28T23:30Z', 'Europe/Berlin', '2026-01-01T00:00:00Z'],
  ['5 Apr 2020', '2026-10-25T22:59Z', 'Europe/Berlin', '2026-01-01T00:00:00+05:45'],
  ['5 Apr 2020', '2026-10-03T15:30Z', 'Australia/Lord_Howe', '2026-01-01'],
  ['5 Apr 2020', '2026-02-28T18:15Z', 'Asia/Kathmandu', '2026-01-01T12:00:00.5'],
  ['5 Apr 2020', '2026-03-08T05:00Z', '', '2024-02-29T23:59:59'],
].map(([start, end, zone, modifiedAt], index) => [`${10 + index}`, start, end, zone, modifiedAt])

const mapping = Mapping.parse({
  fields: {
    identityId: 'id',
    startedAt: { column: 'start', format: 'd MMM yyyy' },
    separatedAt: { column: 'end', format: ['yyyy-MM-dd', "yyyy-MM-dd'T'HH:mmXXX"], means: 'firstDayGone' },
    jobTitle: { expression: '$fromMillis($toMillis(seen))' },
  },
  rowTimeZone: { column: 'zone' },
})
const reading = withExpressions(
  {
    mode: 'snapshot',
    asOf: '2026-11-20T01:00:00.000Z',
    source: { name: 'people.csv', bytes: 1, version: '1' },
    headers,
    rows: slices(),
  },
  expressionsOf(mapping),
)
const compiled = compileMapping(mapping, headers, { timeZone: 'America/New_York' })
if (!compiled.ok) throw new Error(compiled.missing.join('; '))

const results = (await Array.fromAsync(reading.rows)).flat().map((row) => compiled.map(row))
const observations = results.flatMap((row) => (isReject(row) ? [] : [row]))
const { changes } = plan(observations, new Map(), nightly({ future: 'send' }))
console.log(
  JSON.stringify({
    minutesBehindUtc: new Date('2026-01-01T00:00:00Z').getTimezoneOffset(),
    digest: planDigest(changes),
    dates: changes.map((change) => ('record' in change ? change.record.separatedAt : null)),
    seen: observations.map(({ fields }) => fields.jobTitle),
  }),
)

async function* slices() {
  yield rows.map((values, index) => ({ values, origin: { file: 'people.csv', line: index + 2 } }))
}
