import { httpConnector } from '../../src/connectors/http/open.ts'
import { HttpSource } from '../../src/connectors/http/settings/settings.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { report } from './report.ts'

// Reads a paged list as a run does, with all its rows.
const [url = '', pages = ''] = process.argv.slice(2)
const source = HttpSource.parse({
  type: 'http',
  format: 'json',
  mode: 'snapshot',
  allowPrivate: true,
  url,
  records: '/items',
  pages: JSON.parse(pages),
})
await using folder = await temporaryFolder()
const context = { baseDir: folder.path, spoolDir: folder.path, secret: () => null }

await report(async () => {
  const { signal } = new AbortController()
  const options = { now: () => new Date(), signal, findDecided: async () => new Set<string>() }
  const { rows, close } = await httpConnector(source, context).open(options)
  let count = 0
  for await (const slice of rows) count += slice.length
  await close?.()
  return { count }
})
