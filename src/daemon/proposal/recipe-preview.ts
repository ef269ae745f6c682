import { Failure } from '../../errors.ts'
import type { Observation } from '../../identity/record.ts'
import type { SyncConnection } from '../../sync/context/context.ts'
import { type ReadingSummary, summarizeReading } from '../../sync/plan/summarize-reading.ts'

/** A person of a list, as the platform would get them. */
export type ListedPerson = {
  readonly identityId: string
  readonly email: string | null
  readonly name: string | null
  readonly jobTitle: string | null
  /** The last day of employment; null: the list states none. */
  readonly leavingDate: string | null
  /** Whether a status says that the person has left. */
  readonly hasLeft: boolean
}

/** What the list of an HR system holds, read whole as a run would read it. */
export type ListPreview = ReadingSummary & {
  /** The first people. */
  readonly people: readonly ListedPerson[]
  /** How the end of the list was recognised; null if the source does not say. */
  readonly end: string | null
}

type PreviewOptions = {
  readonly now: () => Date
  readonly signal: AbortSignal
  /** Called with a text when the source makes the reader wait. */
  readonly onWait?: (reason: string) => void
}

const maxPeopleShown = 10

/** Reads the list of a connection that is in no configuration yet. Stores and sends nothing. Throws if the list gives nobody. */
export async function previewList(
  connection: SyncConnection,
  { now, signal, onWait }: PreviewOptions,
): Promise<ListPreview> {
  const feed = connection.feeds.source
  if (!feed) throw new Error('the connection has no source')
  const opened = await feed.connector.open({ now, signal, findDecided: async () => new Set(), onWait })
  const people: ListedPerson[] = []
  const summary = await summarizeReading(opened, feed, {
    now: now(),
    signal,
    guards: connection.guards,
    onRow: (mapped) => {
      if (people.length < maxPeopleShown && mapped !== null && 'fields' in mapped) people.push(listedPerson(mapped))
    },
  }).finally(() => opened.close?.())
  const name = opened.source?.name ?? connection.name
  if (summary.missing.length > 0) throw new Failure('source_unreadable', `${name}: ${summary.missing.join('; ')}`)
  if (summary.records === 0) {
    const [reject] = summary.rejects
    const why = reject === undefined ? 'it is empty' : `such as: ${reject.reason}`
    throw new Failure('source_unreadable', `${name}: no record of the list is a person (${why})`)
  }
  return { ...summary, people, end: opened.source?.end ?? null }
}

function listedPerson({ identityId, fields, leavingDate, statesDeparture }: Observation): ListedPerson {
  const { email = null, firstName, lastName, jobTitle = null } = fields
  const name = [firstName, lastName].filter((part) => typeof part === 'string' && part !== '').join(' ')
  return {
    identityId,
    email,
    name: name === '' ? null : name,
    jobTitle,
    leavingDate: leavingDate ?? null,
    hasLeft: statesDeparture,
  }
}
