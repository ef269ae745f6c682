import { expect, test } from 'vitest'
import { bars, lineChart, stackedBars } from '../../src/web/charts.ts'

const on = (day: string) => new Date(`${day}T00:00:00.000Z`)
const about = { id: 'people', title: 'People', description: 'How many people there are.' }

test('a line over time has a title, a description and its figures as a table, the newest first', () => {
  const points = [
    { at: on('2026-03-01'), value: 1000 },
    { at: on('2026-03-02'), value: 1003 },
  ]

  const chart = String(lineChart({ ...about, unit: 'People', points }))

  expect(chart).toContain('<svg viewBox="0 0 340 100" role="img" aria-labelledby="people-title people-description">')
  expect(chart).toContain('<desc id="people-description">How many people there are.</desc>')
  expect(chart).toMatch(/<path class="line" d="M46,[\d.]+L334,[\d.]+"\/>/)
  expect(cells(chart)).toEqual(['Day', 'People', '2 Mar 2026', '1,003', '1 Mar 2026', '1,000'])
})

test('bars are stacked, and an empty part is not drawn', () => {
  const series = [
    { name: 'Joiners', tone: 'one' },
    { name: 'Leavers', tone: 'two' },
  ] as const
  const points = [
    { at: on('2026-03-01'), values: [2, 0] },
    { at: on('2026-03-02'), values: [1, 3] },
  ]

  const chart = String(stackedBars({ ...about, series, points }))

  const parts = [...chart.matchAll(/class="part (\w+)" x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)"/g)]
  expect(parts.map(([, tone]) => tone)).toEqual(['one', 'one', 'two'])
  const [, joined, leaving] = parts.map(([, , , y, height]) => ({ top: Number(y), bottom: Number(y) + Number(height) }))
  expect(leaving?.bottom).toBeCloseTo(joined?.top ?? 0, 1)
})

test('no figures, one figure and equal figures are drawn without a number that is none', () => {
  const one = [{ at: on('2026-03-01'), value: 0 }]

  const charts = [[], one, [...one, { at: on('2026-03-02'), value: 0 }]].map((points) =>
    String(lineChart({ ...about, unit: 'People', points })),
  )

  expect(charts[0]).toContain('No data yet.')
  for (const chart of charts) expect(chart).not.toMatch(/NaN|Infinity|undefined/)
})

test('a single day is named once below its chart', () => {
  const chart = String(lineChart({ ...about, unit: 'People', points: [{ at: on('2026-03-01'), value: 12 }] }))

  expect([...chart.matchAll(/<text class="tick[^>]*>(\d+ \w+)<\/text>/g)].map(([, day]) => day)).toEqual(['1 Mar'])
})

test('the numbers beside bars are written as everywhere else', () => {
  const chart = String(bars('Leavers', [{ label: 'up to 1 h', value: 12_345, kind: 'good' }]))

  expect(chart).toContain('>12,345</text>')
})

function cells(chart: string): string[] {
  return [...chart.matchAll(/<t[hd][^>]*>([^<]*)<\/t[hd]>/g)].map(([, text = '']) => text)
}
