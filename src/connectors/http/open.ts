import type { Connector, ConnectorContext } from '../connector.ts'
import { type ResolveHost, resolveHost } from './addresses.ts'
import { openHttpClient } from './client.ts'
import { type HttpReadingInput, readExport, readList } from './readings.ts'
import type { HttpSource } from './settings.ts'

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
    async open({ now, signal }) {
      const startedAt = now()
      await using client = await openHttpClient(source, { context, resolve, signal })
      const url = new URL(source.url)
      const label = `${url.origin}${url.pathname}`.slice(0, maxLabelCharacters)
      const first = await client.get({ url, label })
      const input: HttpReadingInput = { context, client, first, startedAt, label, name: nameOf(url), signal }
      return source.format === 'csv' ? await readExport(source, input) : await readList(source, input)
    },
  }
}

/** The last part of an address, or its host. */
function nameOf(url: URL): string {
  const last = url.pathname.split('/').findLast((part) => part !== '') ?? url.hostname
  return last.slice(0, maxNameCharacters)
}
