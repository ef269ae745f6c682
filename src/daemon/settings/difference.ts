import { diff } from 'node:util'
import type { SettingsDifference } from '../../contract/control/settings-changes.ts'
import { readSections, type SectionName } from './sections.ts'

const kinds = { '-1': 'added', '0': 'kept', '1': 'removed' } as const
/** How many unchanged lines are shown around changed ones. */
const around = 2
/** Maximum number of lines of a difference in the audit trail. */
const maxRecorded = 400

type Texts = {
  readonly before: string
  readonly after: string
  readonly connection: string
  /** Parts in which a secret may stand. */
  readonly hidden: ReadonlySet<SectionName>
}

/** The parts of a connection that differ between two texts of a configuration, line by line. */
export function settingsDifference({ before, after, connection, hidden }: Texts): SettingsDifference {
  const [old, next] = [before, after].map(
    (text) => new Map((readSections(text, connection) ?? []).map((section) => [section.name, section.text])),
  )
  const names = new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])])
  return [...names].flatMap((section) => {
    const [from, to] = [old?.get(section) ?? '', next?.get(section) ?? '']
    if (from === to || hidden.has(section)) return []
    const lines = diff(linesIn(from), linesIn(to)).map(([is, text]) => ({ is: kinds[is], text }))
    return [
      {
        section,
        lines: lines.filter((_line, at) => lines.slice(Math.max(0, at - around), at + around + 1).some(isChange)),
      },
    ]
  })
}

/** The changed lines of a difference, for the audit trail. */
export function recordedDifference(difference: SettingsDifference): string[] {
  const lines = difference.flatMap(({ section, lines: all }) =>
    all.filter(isChange).map(({ is, text }) => `${section} ${is === 'added' ? '+' : '-'} ${text}`),
  )
  if (lines.length <= maxRecorded) return lines
  return [...lines.slice(0, maxRecorded), `… ${lines.length - maxRecorded} more`]
}

function isChange({ is }: { readonly is: string }): boolean {
  return is !== 'kept'
}

function linesIn(text: string): string[] {
  return text === '' ? [] : text.split('\n')
}
