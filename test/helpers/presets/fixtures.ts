import { fileURLToPath } from 'node:url'
import { openExport } from '../../../src/connectors/export/open-export.ts'
import { exportFileAt } from '../../../src/connectors/file/export-file.ts'
import { ExportFormat } from '../../../src/connectors/file/format.ts'
import { type Preset, readPresets } from '../../../src/daemon/config/presets.ts'
import { createLint } from '../../../src/identity/lint/lint.ts'
import { compileMapping, Mapping, type MappingPatch, mergePreset } from '../../../src/identity/mapping/mapping.ts'

export const fixtures = new URL('../../fixtures/presets/', import.meta.url)

/** What a connection says on top of its preset. */
export type Own = { readonly format?: Partial<Preset['format']>; readonly mapping?: MappingPatch }

export async function presetNamed(name: string): Promise<Preset> {
  const preset = (await readPresets()).get(name)
  if (preset === undefined) throw new Error(`no preset ${name}`)
  return preset
}

/** Reads an export of test/fixtures/presets by a preset, as a run of 20 November 2026 does. */
export async function readFixture(file: string, name: string, own: Own = {}) {
  const { mapping, format, traps } = await presetNamed(name)
  const exportFile = await exportFileAt(fileURLToPath(new URL(file, fixtures)))
  const { headers, rows } = await openExport(exportFile, ExportFormat.parse({ ...format, ...own.format }), {
    signal: new AbortController().signal,
    secret: () => null,
  })
  const parsed = Mapping.parse(mergePreset(mapping, own.mapping ?? {}))
  const compiled = compileMapping(parsed, headers)
  if (!compiled.ok) throw new Error(compiled.missing.join('; '))
  const { columns, map } = compiled
  const lint = createLint({
    mode: 'snapshot',
    headers,
    columns,
    dateRules: parsed.fields,
    exportDate: '2026-11-20',
    traps,
  })
  const slices = await Array.fromAsync(rows)
  const results = slices.flat().map((row) => {
    const one = map(row)
    lint.addRow(row, one)
    return one
  })
  return { results, findings: lint.findings() }
}
