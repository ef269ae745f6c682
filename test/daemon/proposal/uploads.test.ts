import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openUploads } from '../../../src/daemon/proposal/uploads.ts'

test('an upload that cannot be removed when its time is over is reported, and ends nothing', async () => {
  const place = await mkdtemp(join(tmpdir(), 'uploads-'))
  const folder = join(place, 'uploads')
  const reported = Promise.withResolvers<unknown>()
  const limits = { mostBytes: 1000, mostUploads: 1, keptMs: 1 }
  const uploads = await openUploads(folder, { now: () => new Date(), failed: reported.resolve, limits })

  await uploads.take(Readable.from([Buffer.from('id\n1\n')]), {
    name: 'people.csv',
    principal: 'ada',
    // Whatever is removed below the folder from then on fails: a file is no folder.
    check: async () => {
      await rename(folder, join(place, 'away'))
      await writeFile(folder, '')
    },
  })

  expect(await reported.promise).toMatchObject({ code: 'ENOTDIR' })
  await rm(place, { recursive: true })
})
