import { readFileSync } from 'node:fs'

/** The processors of this machine in two halves, as lists of numbers: one for the measured process, one for the platform. */
export type Cores = { readonly ours: string; readonly theirs: string }

/** Halves the processors that this process may use. Throws if there is only one, or if processes cannot be bound to processors. */
export function halvesOfCores(): Cores {
  if (process.platform !== 'linux') throw new Error('only Linux keeps a process on processors; measure with --together')
  const [, list = ''] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  const numbers = list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })
  if (numbers.length < 2) throw new Error('one processor cannot be halved; measure with --together')
  const middle = Math.floor(numbers.length / 2)
  return { theirs: numbers.slice(0, middle).join(','), ours: numbers.slice(middle).join(',') }
}

/** A program and its arguments, to be run on these processors only; null: on any. */
export function boundTo(cores: string | null, program: string, args: readonly string[]): [string, string[]] {
  return cores === null ? [program, [...args]] : ['taskset', ['-c', cores, program, ...args]]
}
