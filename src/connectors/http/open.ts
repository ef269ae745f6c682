import type { Connector, ConnectorContext } from '../connector.ts'
import { openAuthorizer } from './authorization/authorizer.ts'
import { addressLabel, listNames } from './client/address-label.ts'
import { openHttpClient } from './client/client.ts'
import { type ResolveHost, resolveHost } from './network/addresses.ts'
import { type Clock, systemClock } from './network/clock.ts'
import { type HttpReadingInput, readExport, readList } from './readings.ts'
import type { HttpSource } from './settings/settings.ts'

/** What tests replace. */
export type HttpDependencies = { readonly resolve?: ResolveHost; readonly clock?: Omit<Clock, 'now'> }

/**
 * Reads a list of people over HTTP. Opening the source fetches one CSV export, or every page of a JSON list; the rows are then streamed
 * from the disk. If one page fails, the whole list is refused. The list is fetched whole each time, without If-None-Match: an unchanged
 * list still states who is absent, and its plan also depends on settings and answers that the server does not know.
 */
export function httpConnector(
  source: HttpSource,
  context: ConnectorContext,
  { resolve = resolveHost, clock: time = systemClock }: HttpDependencies = {},
): Connector {
  return {
    async open({ now, signal, onWait }) {
      const startedAt = now()
      const options = { context, resolve, clock: { ...time, now }, onWait }
      const authorizer = openAuthorizer(source, options)
      await using client = await openHttpClient(source, { ...options, signal, authorizer })
      const url = new URL(source.url)
      const label = addressLabel(context, { at: 'url', url })
      const input: HttpReadingInput = { context, client, startedAt, label, ...listNames(label), signal, onWait }
      const { format } = source
      return format === 'json' ? await readList(source, input) : await readExport({ ...source, format }, input)
    },
  }
}
