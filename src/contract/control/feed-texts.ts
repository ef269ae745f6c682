import type { Run } from './run-shapes.ts'

const feedTexts: Readonly<Record<Run['feed'], string>> = {
  source: 'the source',
  webhook: 'events',
  roster: 'nothing new: the last accepted data from HR',
  person: 'the source, for one person',
  revert: 'what an earlier run did',
  separation: 'the people who are only on the platform',
}

/** What a run reads, in words for people. It stands apart from the schemas, which a status that is printed at once does not load. */
export function feedText({ feed, options }: Pick<Run, 'feed' | 'options'>): string {
  return options.retract ? 'nothing: a person requested the retraction' : feedTexts[feed]
}
