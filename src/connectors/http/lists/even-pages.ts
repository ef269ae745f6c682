import { pluralize } from '../../../identity/pluralize.ts'
import { unreadable } from '../../file/failures.ts'
import type { PageRule } from '../settings/page-rule.ts'

/**
 * Refuses a list of which a page before the last one is shorter than another page: records may be missing there. `counts`: how many
 * records each page holds. Pages by offset may differ, because the next one is requested by the number of records that were read.
 */
export function checkEven(rule: PageRule, counts: readonly number[], label: string): void {
  if (rule.by === 'offset' || rule.by === 'startIndex' || ('allowUneven' in rule && rule.allowUneven)) return
  const read = counts.slice(0, counts.findLastIndex((count) => count > 0) + 1)
  const length = Math.max(...read.slice(0, 2))
  const uneven = read.findIndex((count, index) => count > length || (count < length && index < read.length - 1))
  if (uneven === -1) return
  const page = `page ${uneven + 1} of ${read.length} holds ${pluralize(read[uneven] ?? 0, 'record')}`
  throw unreadable(
    `${label}: ${page} and another one ${length}, so records may be missing`,
    rule.by === 'page' ? 'set total' : 'set total, or allowUneven if that is usual for this server',
  )
}
