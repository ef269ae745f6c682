/** Writes config/samples: one export of 300 invented people for each family of presets. The output is the same at every run. */
import { writeFile } from 'node:fs/promises'
import { families, sampleOf } from './families.ts'

const folder = new URL('../../config/samples/', import.meta.url)

for (const [name, family] of Object.entries(families)) await writeFile(new URL(`${name}.csv`, folder), sampleOf(family))
