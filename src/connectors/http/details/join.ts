import { pluralize } from '../../../identity/pluralize.ts'
import { addressLabel } from '../client/address-label.ts'
import { fetchList } from '../lists/fetch-list.ts'
import type { ListSettings } from '../lists/list-settings.ts'
import { openSpool } from '../lists/spool.ts'
import type { Join } from '../settings/details.ts'
import type { HttpSource } from '../settings/settings.ts'
import { type DetailSource, type DetailTools, foundDetails } from './detail-source.ts'
import { openRecordGroups, type RecordGroups } from './record-groups.ts'

/** Fetches a further list to its end, and offers its records by their key. Disposing removes the fetched copy. */
export async function openJoin(
  source: HttpSource,
  { join, index }: { readonly join: Join; readonly index: number },
  tools: DetailTools,
): Promise<DetailSource> {
  const { context, signal } = tools
  const { as, on, take, with: column } = join
  await using opening = new AsyncDisposableStack()
  const spool = opening.use(await openSpool(context.spoolDir))
  const url = new URL(join.url)
  const label = addressLabel(context, { at: `join.${index}.url`, url })
  const list = await fetchList(settingsOf(source, join, index), { ...tools, spool, name: as, label })
  const { counts, bytes, digest } = list
  const records = counts.reduce((sum, count) => sum + count, 0)
  const groups =
    records === 0 ? noGroups : opening.use(await openRecordGroups({ file: await spool.finish(as), counts }, on, signal))
  const opened = opening.move()
  return {
    as,
    take,
    batchSize: 1,
    find: (requests) =>
      requests.map(async ({ cells }) => {
        const key = cells.get(column) ?? ''
        if (key.trim() === '') return { absence: `it has nothing in ${column}` }
        return foundDetails(await groups.find(key), `${label} has no record with its ${column}`)
      }),
    summarize: () => ({
      end: `${as} of ${label}: ${list.end}`,
      bytes,
      digest,
      warnings: unusedWarnings({ as, label, records, unused: groups.countUnused() }),
    }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const noGroups: RecordGroups = {
  find: async () => [],
  countUnused: () => 0,
  [Symbol.asyncDispose]: async () => {},
}

/** The settings of the further list. Limits and ignored statements are those of the source. */
function settingsOf(source: HttpSource, { url, method, body, records, pages }: Join, index: number): ListSettings {
  const { ignoredStatements, maxPages, maxPageBytes } = source
  const at = `join.${index}.body`
  return { url, method, body, records, pages, at, ignoredStatements, maxPages, maxPageBytes }
}

type UsedRecords = { readonly as: string; readonly label: string; readonly records: number; readonly unused: number }

function unusedWarnings({ as, label, records, unused }: UsedRecords): readonly string[] {
  if (unused === 0) return []
  const help = unused === records ? '; check on and with' : ''
  return [`${as}: ${pluralize(unused, 'record')} of ${label} belong to no record of the first list${help}`]
}
