import type { Measured, Watched } from './tasks.ts'

/** A line of a table that a bench prints: the value of each column. */
export type Row = Readonly<Record<string, string | number>>

/** The rate, the seconds and the memory of one measurement. */
export function figures(measured: Measured, unit: string): Row {
  return { [unit]: rate(measured), s: round(measured.seconds), 'peak MiB': Math.round(measured.peakMiB) }
}

/** How long the event loop of one measurement was blocked. */
export function delays({ loopP99Ms, loopMaxMs }: Watched): Row {
  return { 'loop p99 ms': round(loopP99Ms), 'loop max ms': round(loopMaxMs) }
}

/** The rate per second. */
export function rate({ count, seconds }: Measured): number {
  return Math.round(count / seconds)
}

export function ratio(ours: number, theirs: number): number {
  return round(ours / theirs)
}

export function round(value: number): number {
  return Number(value.toPrecision(3))
}

/** A table: rows of one kind below the names of their columns. */
export function table(rows: readonly Row[]): string {
  const names = Object.keys(rows[0] ?? {})
  const lines = [names, ...rows.map((row) => names.map((name) => String(row[name])))]
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines.map((line) => `${line.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  ')}\n`).join('')
}
