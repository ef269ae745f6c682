import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import type { JsonValue } from '../../src/connectors/json/cells.ts'
import { csvOf } from '../helpers/hr-systems/csv.ts'
import { inventRoster } from '../helpers/hr-systems/roster.ts'
import { requireSystem } from '../helpers/hr-systems/systems.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { type Certificates, makeCertificates } from '../helpers/sources/hr-server.ts'
import { isFull } from '../helpers/tier.ts'
import { noon, type OpenedSystem, openSystem } from './opened-system.ts'
import { readPlainly, requestPlainly } from './plain-client.ts'
import { mapCsv, mappingOf, mapRecords } from './roster-of.ts'
import { readRecipeFile, type SystemConnection, systemConnections } from './systems.ts'

const opened = new AsyncDisposableStack()
let folder: string
let certificates: Certificates

beforeAll(async () => {
  folder = opened.use(await temporaryFolder()).path
  certificates = await makeCertificates(folder)
})

afterAll(() => opened.disposeAsync())

describe.each(systemConnections.map((one) => [one.name, one] as const))('the server of %s', (_name, connection) => {
  const open = (people: number) => openSystem(connection.name, { people, certificates })

  test.each([7, isFull ? 2500 : 130])(
    'gives all of %i people to whoever follows its pages, as its CSV has them',
    async (size) => {
      await using system = await open(size)

      const records = await read(system)

      const mapped = await mapAnswer(records, connection)
      expect(mapped).toEqual(await mapRoster(connection, size))
      expect(mapped).toHaveLength(size)
    },
  )

  test('refuses whoever has no credentials', async () => {
    await using system = await open(7)
    const { settings } = system
    const { basic: _b, bearer: _t, apiKey: _k, oauth2: _o, login: _l, headers: _h, body: _c, ...rest } = settings

    const { status, text } = await requestPlainly({ ...rest, body: settings.method === 'POST' ? {} : undefined }, noon)

    expect(text).not.toContain('@example.com')
    // Odoo answers errors with status 200.
    expect(connection.recipe === 'odoo-api' ? 'error' in JSON.parse(text) : status >= 400).toBe(true)
  })
})

/** Reads every record of a system; the text of a CSV export is one record. */
async function read({ settings }: OpenedSystem): Promise<readonly JsonValue[]> {
  if (settings.format === 'csv') return [(await requestPlainly(settings, noon)).text]
  return await readPlainly(settings, noon)
}

async function mapAnswer(records: readonly JsonValue[], { recipe }: SystemConnection) {
  const file = await readRecipeFile(recipe)
  if (file.source.format === 'csv') return await mapCsv(String(records[0]), mappingOf(file), folder)
  return await mapRecords(records, file)
}

async function mapRoster({ recipe }: SystemConnection, size: number) {
  const generic = parse(await readFile(new URL('../../config/presets/generic.yaml', import.meta.url), 'utf8'))
  const { statusMeans = generic.statusMeans } = await readRecipeFile(recipe)
  const csv = csvOf(requireSystem(recipe), inventRoster(size))
  return await mapCsv(csv, { ...mappingOf(generic), statusMeans } as ReturnType<typeof mappingOf>, folder)
}
