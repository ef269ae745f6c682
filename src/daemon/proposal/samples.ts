import type { Config, ConnectionConfig } from '../config/config.ts'
import type { PlannedList } from './plan-list.ts'
import type { SecretsToWrite } from './secret-files.ts'
import type { FormChoice, FormHelp, Table } from './table.ts'
import type { Visitor } from './visit-store.ts'

/** The texts that tell a person where on the page they choose the form of an export. */
export const helpOfPage: FormHelp = {
  encoding: 'choose another encoding',
  whichEncoding: 'choose its encoding by hand',
  delimiter: 'choose the delimiter by hand',
  whichDelimiter: 'choose which one it is by hand',
  whichSheet: 'name the one that lists the people, below "The file has another format"',
}

/** A person's settings for the first connection. */
export type FirstConnection = {
  readonly name: string
  /** Where later exports will be; only for an uploaded export. */
  readonly folder?: string | undefined
  readonly timeZone: string
}

/** The source of a new connection. */
export type SampleSource = {
  /** Its settings, as the configuration has them. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Where exports or the list are read from, as the page shows it. */
  readonly shown: string
  /** The folder that will be created; null: none. */
  readonly makesFolder: string | null
  readonly secrets: SecretsToWrite
}

/** The draft of a connection for a sample. `digest`: of the current and of the new configuration together. */
export type SampleDraft = SampleSource & {
  readonly next: Config
  readonly connection: ConnectionConfig
  readonly digest: string
}

/** What a person gave for the first connection: an export that they uploaded, or the address of a list. */
export type Sample = {
  readonly id: string
  /** The name of the file or of the list. */
  readonly name: string
  /** The size of an export; null: a list at an address. */
  readonly bytes: number | null
  /** The header and the first rows, read in the chosen form. */
  tableOf(form: FormChoice): Promise<Table>
  sourceFor(settings: FirstConnection, table: Table): Promise<SampleSource>
  /** Reads all of it, and plans a first run. */
  plan(draft: SampleDraft, visitor: Visitor): Promise<PlannedList>
}
