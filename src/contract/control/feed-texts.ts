import type { Run } from './run-shapes.ts'

/** What a run reads, in words for people. It stands apart from the schemas, which a status that is printed at once does not load. */
export const feedTexts: Readonly<Record<Run['feed'], string>> = {
  source: 'the source',
  webhook: 'events',
  roster: 'nothing new: what HR said last',
  person: 'the source, for one person',
  revert: 'what a former run did',
  separation: 'nobody but people whom only the platform knows',
}
