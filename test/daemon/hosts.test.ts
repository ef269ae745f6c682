import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { unknownOptions } from '../helpers/options.ts'
import { tool } from '../helpers/servers/tools.ts'
import { type ExportFolder, exportFolder } from '../helpers/sources/exports.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const units = join(root, 'config/examples/systemd')
/** Maximum exposure that systemd may report, in tenths of its scale of 0 to 10. Its own services have between 20 and 96. */
const mostExposed = 20

describe('the examples for systemd', () => {
  test('are units that systemd accepts and rates as little exposed', async () => {
    await using folder = await exportFolder()
    const copies = await copiedUnits(folder)

    const verified = await tool('systemd-analyze', 'verify', '--man=no', ...copies)
    const services = copies.filter((path) => path.endsWith('.service'))
    const threshold = `--threshold=${mostExposed}`
    const judged = await Promise.all(
      services.map((path) => tool('systemd-analyze', 'security', '--offline=true', '--no-pager', threshold, path)),
    )

    expect(copies.map((path) => basename(path))).toEqual([
      'rollcall-sync.service',
      'rollcall-sync.timer',
      'rollcall.service',
    ])
    expect(verified).not.toContain('rollcall')
    expect(judged.join('\n').match(/Overall exposure level/g)).toHaveLength(2)
  })

  test('call commands and options that exist, and stop later than the daemon does', async () => {
    const [serve, sync] = await Promise.all(['rollcall.service', 'rollcall-sync.service'].map(settingsOf))

    for (const [settings, command] of [
      [serve, 'serve'],
      [sync, 'sync'],
    ] as const) {
      const words = settings?.get('ExecStart')?.split(' ').slice(1) ?? []
      expect(words).toEqual([command, '--config', '/etc/rollcall/rollcall.yaml'])
      expect(unknownOptions(words)).toEqual([])
      expect(Number(settings?.get('TimeoutStopSec'))).toBeGreaterThan(20)
      expect(settings?.get('LoadCredential')).toBe('platform_api_key:/etc/rollcall/platform_api_key')
    }
    expect(serve?.get('ExecReload')).toBe('/bin/kill -HUP $MAINPID')
    expect((await settingsOf('rollcall-sync.timer')).get('Persistent')).toBe('true')
  })
})

/** The units in one folder, with the path of the program on this machine. */
async function copiedUnits(folder: ExportFolder): Promise<string[]> {
  const unitFolder = join(folder.path, 'units')
  await mkdir(unitFolder)
  return await Promise.all(
    (await readdir(units)).sort().map(async (name) => {
      const text = await readFile(join(units, name), 'utf8')
      await writeFile(join(unitFolder, name), text.replace('/usr/local/bin/rollcall', join(root, 'bin/rollcall')))
      return join(unitFolder, name)
    }),
  )
}

async function settingsOf(unit: string): Promise<Map<string, string>> {
  const lines = (await readFile(join(units, unit), 'utf8')).split('\n').filter((line) => /^\w+=/.test(line))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}
