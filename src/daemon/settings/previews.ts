import type { SettingsPreview } from '../../contract/control/settings-changes.ts'
import type { Config } from '../config/config.ts'
import type { VisitParts } from '../proposal/first-parts.ts'
import { settingsDifference } from './difference.ts'
import { type Effects, effectsOf } from './effects.ts'
import type { OpenedFile } from './opened-file.ts'
import { readSections, type SectionProblem } from './sections.ts'

/** What a change of the settings looks like, and what it does. */
export type Previewed = Omit<SettingsPreview, keyof Effects> & Effects

type ToPreview = {
  readonly connection: string
  readonly opened: OpenedFile
  readonly twoPeople: boolean
  readonly problems: readonly SectionProblem[]
  /** The text of the file with the change; null if it cannot be made. */
  readonly text: string | null
  /** The configuration in it; null if it has mistakes. */
  readonly next: Config | null
  /** Whether the newest export is read. */
  readonly effect: boolean
  readonly signal: AbortSignal
}

const noEffects: Effects = {
  ...{ isSame: false, effect: null, effectTrouble: null },
  ...{ linked: [], moreLinked: [], removedLinked: [] },
}

/** Shows a change of the settings beside the file as it is. */
export async function previewOf(
  parts: Pick<VisitParts, 'sync' | 'toSync' | 'signal'>,
  { connection, opened, twoPeople, problems, text, next, effect, signal }: ToPreview,
): Promise<Previewed> {
  const { digest, trouble, current, hidden } = opened
  const difference = text === null ? [] : settingsDifference({ before: opened.text, after: text, connection, hidden })
  const compared = effect && next && current && difference.length > 0
  const either = AbortSignal.any([signal, parts.signal])
  return {
    ...{ digest, trouble, problems: [...problems], difference, twoPeople },
    text: text === null ? '' : changedText(text, connection, difference),
    ...(compared
      ? await effectsOf({ connection, before: current, after: next }, { ...parts, signal: either })
      : noEffects),
  }
}

/** The parts that differ, whole, for a person who puts them into the file by hand. */
function changedText(text: string, connection: string, difference: SettingsPreview['difference']): string {
  const changed = new Set(difference.map(({ section }) => section))
  const sections = (readSections(text, connection) ?? []).filter(({ name }) => changed.has(name))
  return sections.map((section) => section.text).join('\n')
}
