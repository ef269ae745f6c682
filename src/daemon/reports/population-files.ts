import type { AccountedPerson, Movement, Statement } from '../../contract/control/statements.ts'
import type { ExportedKey } from '../../store/statement/movements.ts'
import type { RemovedStatement } from '../../store/statement/removed.ts'
import { jsonText } from '../../text/escape.ts'
import { csv } from '../../web/csv.ts'
import { statementCsv } from './statement-csv.ts'

/** The population of a connection at both ends of a period, and what moved it. */
export type Population = {
  readonly connection: string
  /** The last statement before the period, or the first one that is kept; null: there was none, and nobody was there. */
  readonly start: Statement | null
  readonly end: Statement | null
  readonly startKeys: readonly string[]
  readonly endKeys: readonly string[]
  readonly movements: readonly Movement[]
  /** The statements of the period that are no longer kept. */
  readonly removed: readonly RemovedStatement[]
  /** The keys of the export that the last statement rests on, by digest. */
  readonly exported: readonly ExportedKey[]
  /** The part of everybody in the last statement. */
  readonly accounted: readonly AccountedPerson[]
}

const columns = [
  ...['identityId', 'kind', 'entered', 'at', 'statementRunId', 'runId', 'evidence', 'status', 'answeredAt'],
] as const satisfies readonly (keyof Movement)[]

/** The files of a pack about populations, by name. */
export function populationFiles(populations: readonly Population[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    populations.flatMap((population) => {
      const { movements, start, end } = population
      const keysOf = (entered: boolean) =>
        movements.flatMap((move) => (move.entered === entered ? [move.identityId] : []))
      const files = {
        'statement-start.json': jsonText(start),
        'statement-end.json': jsonText(end),
        'start.txt': lines(population.startKeys),
        'end.txt': lines(population.endKeys),
        'entered.txt': lines(keysOf(true)),
        'left.txt': lines(keysOf(false)),
        'movements.csv': csv(
          [...columns],
          movements.map((move) => columns.map((column) => move[column])),
        ),
        'removed.txt': lines(population.removed.map(({ at, runId }) => `${at} ${runId}`)),
        'export-end.txt': lines(
          population.exported.map(({ digest, key }) => (key === null ? digest : `${digest} ${key}`)),
        ),
        'accounted-end.csv': statementCsv(population.accounted),
      }
      const folder = `population/${encodeURIComponent(population.connection)}`
      return Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content] as const)
    }),
  )
}

function lines(keys: readonly string[]): string {
  return keys.map((key) => `${key}\n`).join('')
}
