import { appendFile, mkdir, rename, rm, symlink, truncate, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { waitUntilQuiet } from '../../../src/connectors/file/completeness.ts'
import { exportFileAt } from '../../../src/connectors/file/export-file.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { identityOf, openIn, refusalOf, rowsOf } from '../../helpers/sources/folder-source.ts'

const header = 'id,name\n'
const signal = new AbortController().signal
const old = new Date('2026-11-16T01:00:00Z')
const newer = new Date('2026-11-17T01:00:00Z')

describe('the quiet period', () => {
  test('is awaited for a fresh export', async () => {
    await using folder = await exportFolder()
    const startedAtMs = performance.now()
    await folder.write('people.csv', header)

    await openIn(folder, { complete: { quietSeconds: 0.4 } })

    expect(performance.now() - startedAtMs).toBeGreaterThan(350)
  })

  test('costs nothing if the export is old enough', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header, { modifiedAt: old })

    const reading = await openIn(folder, { complete: { quietSeconds: 3600 } })

    expect(identityOf(reading).name).toBe('people.csv')
  })

  test('is measured by repeated checks if the clock of the export is ahead', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header, { modifiedAt: new Date(Date.now() + 3_600_000) })
    const startedAtMs = performance.now()

    await openIn(folder, { complete: { quietSeconds: 0.4 } })

    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(400)
  })

  test('restarts with every change, so that a slow writer can finish', async () => {
    await using folder = await exportFolder()
    const path = await folder.write('people.csv', header)
    let looks = 0
    const messages: string[] = []
    const find = async () => {
      looks += 1
      if (looks <= 3) await appendFile(path, `${looks},x\n`)
      return { file: await exportFileAt(path) }
    }

    const file = await waitUntilQuiet(find, { quietSeconds: 0.2, signal, onWait: (reason) => messages.push(reason) })

    expect(file.file.bytes).toBe(header.length + 12)
    expect(looks).toBeGreaterThanOrEqual(4)
    expect(messages[0]).toBe('waiting 1 s: the export was written just now')
  })

  test('takes in what a writer adds while the opening waits', async () => {
    await using folder = await exportFolder()
    const path = await folder.write('people.csv', header)
    const opening = openIn(folder, { complete: { quietSeconds: 1.5 } })

    await appendFile(path, '1,a\n')
    await appendFile(path, '2,b\n')

    expect((await rowsOf(await opening)).map(({ values }) => values[0])).toEqual(['1', '2'])
  })

  test('moves on to a newer export that arrives meanwhile', async () => {
    await using folder = await exportFolder()
    await folder.write('a.csv', header)
    const opening = openIn(folder, { complete: { quietSeconds: 0.5 } })

    await folder.write('b.csv', header)

    expect(identityOf(await opening).name).toBe('b.csv')
  })

  test('is limited: an export that keeps changing is refused', async () => {
    await using folder = await exportFolder()
    const path = await folder.write('people.csv', header)
    const later = new Date(Date.now() + 3_600_000)
    const find = async () => {
      await appendFile(path, '1,x\n')
      // However long it takes from here until somebody looks.
      await utimes(path, later, later)
      return { file: await exportFileAt(path) }
    }

    const message = await refusalOf(() => waitUntilQuiet(find, { quietSeconds: 0.05, signal }))

    expect(message).toContain('people.csv is still being written: for 0.5 seconds it never stood still for 0.05')
  })

  test('ends with an abort, for its reason', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)
    const controller = new AbortController()
    const opening = openIn(folder, { complete: { quietSeconds: 3600 } }, { signal: controller.signal })

    controller.abort(new Error('enough'))

    await expect(opening).rejects.toThrow('enough')
  })

  test('refuses an export that was taken away or emptied meanwhile', async () => {
    await using folder = await exportFolder()
    const gone = await folder.write('gone.csv', header)
    const emptied = await folder.write('emptied.csv', header)
    const goneOpening = openIn(folder, { path: 'gone.csv', complete: { quietSeconds: 0.5 } })
    const emptiedOpening = openIn(folder, { path: 'emptied.csv', complete: { quietSeconds: 0.5 } })

    const refusals = Promise.all([refusalOf(() => goneOpening), refusalOf(() => emptiedOpening)])
    await Promise.all([rm(gone), truncate(emptied)])

    expect(await refusals).toEqual([
      expect.stringContaining('no file matches gone.csv'),
      expect.stringContaining('emptied.csv is empty (0 bytes)'),
    ])
  })
})

describe('a marker', () => {
  const complete = { quietSeconds: 3600, marker: '.done' }

  test.for(['people.csv.done', 'people.done'])('named %s makes its export readable at once', async (marker) => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)
    await folder.write(marker, '')

    expect(identityOf(await openIn(folder, { path: 'people*', complete })).name).toBe('people.csv')
  })

  test.for(['newest', 'each'] as const)('that is missing excludes its export (%s)', async (take) => {
    await using folder = await exportFolder()
    await folder.write('a.csv', header, { modifiedAt: newer })
    await folder.write('a.csv.done', '', { modifiedAt: newer })
    await folder.write('b.csv', header)
    await folder.write('0.csv', header, { modifiedAt: old })

    const { source } = await openIn(folder, { take, complete })

    expect(source).toMatchObject({ name: 'a.csv' })
    expect(source).not.toHaveProperty('more')
  })

  test.for(['newest', 'each'] as const)('that no export has is named in the refusal (%s)', async (take) => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)

    expect(await refusalOf(() => openIn(folder, { take, complete }))).toContain(
      `nothing that matches *.csv in ${folder.path} has its marker (.done): the marker has to be written after its export`,
    )
  })

  test('of an earlier export of the same name does not count', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv.done', '', { modifiedAt: old })
    await folder.write('people.csv', header, { modifiedAt: newer })

    expect(await refusalOf(() => openIn(folder, { complete }))).toContain('has its marker (.done)')
  })

  test('is a file: a folder or a link of that name does not count', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)
    await mkdir(join(folder.path, 'people.csv.done'))
    await symlink('people.csv', join(folder.path, 'people.done'))

    expect(await refusalOf(() => openIn(folder, { complete }))).toContain('has its marker (.done)')
  })

  test('comes late: the export is read once it is there', async () => {
    await using folder = await exportFolder()
    const path = await folder.write('people.csv.part', header)
    await refusalOf(() => openIn(folder, { complete }))

    await rename(path, join(folder.path, 'people.csv'))
    await refusalOf(() => openIn(folder, { complete }))
    await utimes(await folder.write('people.done', ''), new Date(), new Date())

    expect(identityOf(await openIn(folder, { complete })).name).toBe('people.csv')
  })
})
