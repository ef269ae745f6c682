import type { Connector, ConnectorContext } from '../connector.ts'
import { openAuthorizer } from './authorization/authorizer.ts'
import { openHttpClient } from './client/client.ts'
import { type ResolveHost, resolveHost } from './network/addresses.ts'
import { type HttpReadingInput, readExport, readList } from './readings.ts'
import type { HttpSource } from './settings/settings.ts'

const maxNameCharacters = 100
const maxLabelCharacters = 200

/**
 * Reads a list of people over HTTP. Opening the source fetches one CSV export, or every page of a JSON list; the rows are then streamed
 * from the disk. If one page fails, the whole list is refused. The list is fetched whole each time, without If-None-Match: an unchanged
 * list still states who is absent, and its plan also depends on settings and answers that the server does not know.
 */
export function httpConnector(
  source: HttpSource,
  context: ConnectorContext,
  { resolve = resolveHost }: { readonly resolve?: ResolveHost } = {},
): Connector {
  return {
    async open({ now, signal, onWait }) {
      const startedAt = now()
      const authorizer = openAuthorizer(source, context)
      await using client = await openHttpClient(source, { context, resolve, signal, authorizer })
      const url = new URL(source.url)
      const label = `${url.origin}${url.pathname}`.slice(0, maxLabelCharacters)
      const input: HttpReadingInput = { context, client, startedAt, label, name: nameOf(url), signal, onWait }
      return source.format === 'csv' ? await readExport(source, input) : await readList(source, input)
    },
  }
}

/** The last part of an address, or its host. */
function nameOf(url: URL): string {
  const last = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname
  return last.slice(0, maxNameCharacters)
}
