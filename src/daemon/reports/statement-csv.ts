import type { AccountedPerson } from '../../contract/control/statements.ts'
import { type Cell, csv } from '../../web/csv.ts'

const columns: Readonly<Record<string, (person: AccountedPerson) => Cell>> = {
  identityId: ({ identityId }) => identityId,
  statedByHr: ({ stated }) => stated,
  part: ({ part }) => part,
  onPlatform: ({ onPlatform }) => onPlatform,
  detail: ({ detail }) => detail,
  sinceRunId: ({ sinceRunId }) => sinceRunId,
}

/** The people behind a statement as a table, with names if they have them. */
export function statementCsv(people: readonly AccountedPerson[]): string {
  const hasNames = people.some(({ name }) => name !== undefined)
  const shown = hasNames ? { ...columns, name: ({ name }: AccountedPerson) => name ?? null } : columns
  const cells = Object.values(shown)
  return csv(
    Object.keys(shown),
    people.map((person) => cells.map((of) => of(person))),
  )
}
