import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const minutesBehindUtc = {
  UTC: 0,
  'Pacific/Midway': 660,
  'Pacific/Kiritimati': -840,
  'Australia/Lord_Howe': -660,
  'Asia/Kathmandu': -345,
  'America/New_York': 300,
  'America/Sao_Paulo': 180,
  'Europe/Berlin': -60,
}

type Outcome = {
  readonly minutesBehindUtc: number
  readonly digest: string
  readonly dates: readonly string[]
  readonly seen: readonly string[]
}

test('a plan is the same in every time zone of the host', async () => {
  const program = fileURLToPath(new URL('../../helpers/plan-in-zone.ts', import.meta.url))
  const run = promisify(execFile)

  const printed = await Promise.all(
    Object.keys(minutesBehindUtc).map(
      async (TZ) => (await run(process.execPath, [program], { env: { ...process.env, TZ } })).stdout,
    ),
  )

  const outcomes = printed.map((text): Outcome => JSON.parse(text))
  expect(outcomes.map((outcome) => outcome.minutesBehindUtc)).toEqual(Object.values(minutesBehindUtc))
  expect(new Set(outcomes.map(({ digest }) => digest)).size).toBe(1)
  expect(outcomes[0]?.dates.map((date) => date.replace('T00:00:00.000Z', ''))).toEqual([
    '2024-02-29',
    '2026-03-29',
    '2026-10-04',
    '2026-11-20',
    '2025-12-31',
    '2025-12-30',
    '2026-03-28',
    '2026-10-24',
    '2026-10-03',
    '2026-02-28',
    '2026-03-07',
  ])
  expect(outcomes[0]?.seen).toEqual([
    '2026-03-29T02:30:00.000Z',
    '2026-10-25T02:30:00.000Z',
    '2026-03-08T02:30:00.000Z',
    '2026-11-01T01:30:00.000Z',
    '2026-04-05T02:15:00.000Z',
    '2026-10-04T02:15:00.000Z',
    '2026-01-01T00:00:00.000Z',
    '2025-12-31T18:15:00.000Z',
    '2026-01-01T00:00:00.000Z',
    '2026-01-01T12:00:00.500Z',
    '2024-02-29T23:59:59.000Z',
  ])
})
