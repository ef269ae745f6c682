import { createHash } from 'node:crypto'
import type { Person } from './roster.ts'

/** A UUID that is always the same for a person of a system. */
export function uuidKeys(system: string): (person: Person) => string {
  return ({ index }) => {
    const hex = createHash('sha256').update(`${system}/${index}`).digest('hex')
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ].join('-')
  }
}

/** Numbers that begin at `from`. */
export function numberKeys(from: number): (person: Person) => string {
  return ({ index }) => String(from + index)
}
