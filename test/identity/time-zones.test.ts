import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const minutesBehindUtc = {
  UTC: 0,
  'Pacific/Niue': 660,
  'Pacific/Kiritimati': -840,
  'Australia/Lord_Howe': -660,
  'Asia/Kathmandu': -345,
  'America/Sao_Paulo': 180,
  'Europe/Dublin': 0,
}

test('a plan is the same in every time zone of the host', async () => {
  const program = fileURLToPath(new URL('../helpers/plan-in-zone.ts', import.meta.url))
  const run = promisify(execFile)

  const printed = await Promise.all(
    Object.keys(minutesBehindUtc).map(
      async (TZ) => (await run(process.execPath, [program], { env: { ...process.env, TZ } })).stdout,
    ),
  )

  const outcomes = printed.map((text): { minutesBehindUtc: number; digest: string; dates: string[] } =>
    JSON.parse(text),
  )
  expect(outcomes.map((outcome) => outcome.minutesBehindUtc)).toEqual(Object.values(minutesBehindUtc))
  expect(new Set(outcomes.map(({ digest }) => digest)).size).toBe(1)
  expect(outcomes[0]?.dates).toEqual([
    '2024-02-29T00:00:00.000Z',
    '2026-03-29T00:00:00.000Z',
    '2026-10-04T00:00:00.000Z',
    '2026-11-20T00:00:00.000Z',
  ])
})
