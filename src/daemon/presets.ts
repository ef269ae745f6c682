import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { MappingPatch } from '../identity/mapping.ts'

const folder = new URL('../../config/presets/', import.meta.url)

/** The column lists that come with Rollcall: config/presets/<name>.yaml. */
export async function presetNames(): Promise<readonly string[]> {
  const files = await readdir(folder)
  return files
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .sort()
}

/** Reads one of `presetNames`. A preset that is not valid is a bug of ours and says so. */
export async function readPreset(name: string): Promise<MappingPatch> {
  const file = fileURLToPath(new URL(`${name}.yaml`, folder))
  return MappingPatch.parse(parse(await readFile(file, 'utf8')))
}
