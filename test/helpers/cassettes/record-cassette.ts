import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HttpSource } from '../../../src/connectors/http/settings/settings.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { recordCassette } from './record.ts'

// Run by hand: node test/helpers/cassettes/record-cassette.ts CONFIG CONNECTION. Reads the list of the connection once, and prints the cassette.
const [file = 'config/rollcall.yaml', name = 'hr'] = process.argv.slice(2)
const config = await loadConfig(file, process.env)
const source = config.connections.get(name)?.source
if (source?.settings.type !== 'http') throw new Error(`${file} has no connection ${name} over HTTP`)
const spoolDir = await mkdtemp(join(tmpdir(), 'cassette-'))
try {
  const secrets = await Promise.all(
    [...source.secrets].map(async ([path, secret]) => [path, await secret.read()] as const),
  )
  const cassette = await recordCassette({
    source: source.settings as unknown as HttpSource,
    mapping: source.mapping,
    context: {
      baseDir: config.folder,
      spoolDir,
      tokensDir: join(config.dataDir, 'tokens'),
      secret: (path) => source.secrets.get(path) ?? null,
    },
    secrets: new Map(secrets),
    options: { now: () => new Date(), signal: new AbortController().signal, findDecided: async () => new Set() },
  })
  console.log(JSON.stringify(cassette, null, 2))
} finally {
  await rm(spoolDir, { recursive: true })
}
