import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openUploads } from '../../../src/daemon/proposal/uploads.ts'

test('an expired upload that cannot be removed is reported, and the daemon continues', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'uploads-'))
  const folder = join(parent, 'uploads')
  const reported = Promise.withResolvers<unknown>()
  const limits = { maxBytes: 1000, maxUploads: 1, maxIdleMs: 1 }
  const uploads = await openUploads(folder, { now: () => new Date(), failed: reported.resolve, limits })

  await uploads.take(Readable.from([Buffer.from('id\n1\n')]), {
    name: 'people.csv',
    principal: 'ada',
    // From now on removing anything below the folder fails, because a file has its name.
    check: async () => {
      await rename(folder, join(parent, 'away'))
      await writeFile(folder, '')
    },
  })

  expect(await reported.promise).toMatchObject({ code: 'ENOTDIR' })
  await rm(parent, { recursive: true })
})

test('of two simultaneous uploads of one person only the last is kept', async () => {
  const folder = join(await mkdtemp(join(tmpdir(), 'uploads-')), 'uploads')
  const limits = { maxBytes: 1000, maxUploads: 2, maxIdleMs: 60_000 }
  await using uploads = await openUploads(folder, { now: () => new Date(), failed: () => {}, limits })
  const [begun, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const give = (check: () => Promise<void>) =>
    uploads.take(Readable.from([Buffer.from('id\n1\n')]), { name: 'people.csv', principal: 'ada', check })

  const slow = give(() => {
    begun.resolve()
    return isOver.promise
  })
  await begun.promise
  const fast = await give(async () => {})
  isOver.resolve()
  const last = await slow

  expect(uploads.find(last.id, 'ada')).toMatchObject({ id: last.id })
  expect(() => uploads.find(fast.id, 'ada')).toThrow('no longer here')
  expect(await readdir(folder)).toEqual([last.id])
})
