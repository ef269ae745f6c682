import type { Run } from '../../contract/control/shapes.ts'
import type { Printer } from '../../text/print.ts'
import { countsText } from './tallies.ts'
import { escapeText, number, type Paint, pluralize } from './text.ts'

/** Shows the progress of a run. */
export type Progress = {
  show(run: Run): void
  /** Clears the line for what follows. */
  end(): void
}

const barWidth = 24
const lineShare = 0.1

/** A moving bar on a terminal; elsewhere a plain line for each new state, tenth of the work, or cause of a delay. */
export function createProgress(printer: Printer): Progress {
  return printer.canRedraw ? bar(printer) : lines(printer)
}

/** No progress: for a command whose reader wants the result alone. */
export const noProgress: Progress = { show: () => {}, end: () => {} }

/** What one moment of a run looks like: `acme: delivering [=====>    ] 119 of 5,000`. */
export function progressText(run: Run, paint: Paint): string {
  const head = `${run.connection}: ${run.state}`
  const delay = delayText(run)
  if (run.state !== 'delivering') return `${head}${delay}`
  const { done, total } = delivery(run)
  const filled = total === 0 ? barWidth : Math.floor((done / total) * barWidth)
  const body = '='.repeat(filled).padEnd(barWidth, '·')
  const problems = run.problems > 0 ? `, ${pluralize(run.problems, 'problem')}` : ''
  return `${head} ${paint('cyan', body)} ${number(done)} of ${number(total)}${problems}${paint('yellow', delay)}`
}

function bar(printer: Printer): Progress {
  let drawn = false
  return {
    show: (run) => {
      printer.replaceLine(progressText(run, printer.paint))
      drawn = true
    },
    end: () => {
      if (drawn) printer.replaceLine('')
      drawn = false
    },
  }
}

function lines(printer: Printer): Progress {
  let state = ''
  let share = 0
  let delay = ''
  return {
    show: (run) => {
      const { done, total } = delivery(run)
      const now = total === 0 ? 0 : done / total
      const reason = causeOf(run.delay)
      const isNews = run.state !== state || now >= share + lineShare || (reason !== '' && reason !== delay)
      if (!isNews) return
      delay = reason
      state = run.state
      share = now
      printer.print(`${lineText(run)}\n`)
    },
    end: () => {},
  }
}

function lineText(run: Run): string {
  const head = `${run.connection}: ${run.state}`
  const { done, total } = delivery(run)
  if (run.state === 'delivering') return `${head}, ${number(done)} of ${number(total)}${delayText(run)}`
  return run.state === 'planned' && run.counts ? `${head}, ${countsText(run.counts)}` : `${head}${delayText(run)}`
}

/** A delay without its times and numbers, which change all the time: one line is printed for each cause. */
export function causeOf(delay: string | null | undefined): string {
  return (delay ?? '').replace(/; next attempt .*/, '').replaceAll(/\d+/g, '')
}

function delayText({ delay }: Run): string {
  return delay ? `, ${escapeText(delay)}` : ''
}

function delivery({ confirmed, problems, remaining }: Run): { done: number; total: number } {
  const done = confirmed + problems
  return { done, total: done + remaining }
}
