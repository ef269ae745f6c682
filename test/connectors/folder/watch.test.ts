import { once } from 'node:events'
import { appendFile, chmod, mkdir, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resolveFolder } from '../../../src/connectors/folder/choice.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'
import { watchFolder } from '../../../src/connectors/folder/watch.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { asNobody, connectorFor, type FolderSettings, refusalOf } from '../../helpers/sources/folder-source.ts'

const methods = ['events', 'polling'] as const
const header = 'id,name\n'

describe.for(methods)('a folder that is watched by %s', (watch) => {
  test('reports an export that arrives, changes or replaces another one', async () => {
    await using folder = await exportFolder()
    await using watched = await watchIn(folder, { watch })

    const path = await folder.write('people.csv', header)
    await watched.arrival()
    await appendFile(path, '1,a\n')
    await watched.arrival()
    await rename(await folder.write('people.part', header), path)
    await watched.arrival()

    expect(watched.failures).toEqual([])
  })

  test('reports at the start what arrived while nobody watched', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)

    await using watched = await watchIn(folder, { watch })

    await watched.arrival()
  })

  test('may come later than the watch, and go and come again', async () => {
    await using folder = await exportFolder()
    await using watched = await watchIn(folder, { watch, path: 'hr/exports/*.csv' })

    await mkdir(join(folder.path, 'hr/exports'), { recursive: true })
    await folder.write('hr/exports/people.csv', header)
    await watched.arrival()
    await rm(join(folder.path, 'hr'), { recursive: true })
    await mkdir(join(folder.path, 'hr/exports'), { recursive: true })
    await folder.write('hr/exports/people.csv', header)
    await watched.arrival()
  })

  test('does not report other files, companions without effect, archives and deeper folders', async () => {
    await using folder = await exportFolder()
    for (const name of ['archive', 'rejected', 'b/deep']) await mkdir(join(folder.path, name), { recursive: true })
    await using watched = await watchIn(folder, { watch, path: '*/*.csv' })

    await using witness = await witnessIn(folder, { watch, path: '{**/*,**/.*}' })

    for (const name of [
      'people.csv',
      'b/.people.csv',
      'b/notes.txt',
      'archive/a.csv',
      'rejected/a.csv',
      'b/deep/a.csv',
    ]) {
      await folder.write(name, header)
      await witness.arrival()
    }

    expect(watched.count()).toBe(0)
  })

  test('with markers reports the marker, not its export', async () => {
    await using folder = await exportFolder()
    await using watched = await watchIn(folder, { watch, complete: { marker: '.done' } })

    await using witness = await witnessIn(folder, { watch, path: '*' })

    await folder.write('people.csv', header)
    await witness.arrival()
    const before = watched.count()
    await folder.write('people.csv.done', '')
    await watched.arrival()

    expect(before).toBe(0)
  })
})

describe('a watched folder', () => {
  test('reports many simultaneous arrivals once', async () => {
    await using folder = await exportFolder()
    await using watched = await watchIn(folder)

    for (let number = 0; number < 50; number += 1) await folder.write(`people-${number}.csv`, header)
    await watched.arrival()

    expect(watched.count()).toBe(1)
  })

  test('reports a side file, which may arrive after its export', async () => {
    await using folder = await exportFolder()
    await using watched = await watchIn(folder, { complete: { sideFile: { suffix: '.count', holds: 'rows' } } })

    await folder.write('people.count', '0')

    await watched.arrival()
  })

  test('may be a symbolic link that the operator wrote out', async () => {
    await using folder = await exportFolder()
    await using real = await exportFolder()
    await symlink(real.path, join(folder.path, 'exports'))
    await using watched = await watchIn(folder, { path: 'exports/*.csv' })

    await real.write('people.csv', header)

    await watched.arrival()
  })

  test('is silent after the end of the watch', async () => {
    await using folder = await exportFolder()
    const watched = await watchIn(folder)
    await folder.write('people.csv', header)

    await watched[Symbol.asyncDispose]()
    await folder.write('others.csv', header)
    await using later = await watchIn(folder)
    await later.arrival()

    expect(watched.count()).toBe(0)
  })

  test('that is a file is refused', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)

    expect(await refusalOf(() => watchIn(folder, { path: 'people.csv/below/*.csv' }))).toContain(
      `cannot watch ${folder.path}/people.csv/below (ENOTDIR)`,
    )
  })
})

test('a folder that is closed to us is a failure with a way out', async () => {
  await using folder = await exportFolder()
  await mkdir(join(folder.path, 'exports'))
  await chmod(folder.path, 0o755)
  await chmod(join(folder.path, 'exports'), 0o700)

  await using watched = await asNobody(() => watchIn(folder, { path: 'exports/*.csv' }))

  expect(watched.failures).toEqual([
    expect.objectContaining({
      code: 'source_unreadable',
      message: `cannot watch ${folder.path}/exports (EACCES): check the folder, or write watch: polling`,
    }),
  ])
})

test('endless changes are reported nevertheless', async () => {
  await using folder = await exportFolder()
  await using watched = await watchIn(folder, {}, 300)
  const ended = new AbortController()
  const writing = (async () => {
    while (!ended.signal.aborted) await folder.write('people.csv', header)
  })()

  await watched.arrival()
  ended.abort()

  await writing
})

test('a connector watches its folder only if configured', async () => {
  await using folder = await exportFolder()
  await folder.write('people.csv', header)
  const { promise, resolve, reject } = Promise.withResolvers<void>()

  await using _watch = await connectorFor(folder, { watch: 'events' }).watch?.({ onArrival: resolve, onError: reject })

  await promise
  expect(connectorFor(folder)).not.toHaveProperty('watch')
})

async function watchIn(folder: ExportFolder, settings: FolderSettings = {}, quietMs = 100) {
  const source = FolderSource.parse({ type: 'csv', path: '*.csv', mode: 'snapshot', watch: 'events', ...settings })
  const by = source.watch === 'polling' ? 'polling' : 'events'
  const arrivals = new EventTarget()
  const failures: unknown[] = []
  let count = 0
  let awaited = 0
  const watch = await watchFolder(
    resolveFolder(source, folder.path),
    { by, pollSeconds: 0.1, quietMs },
    {
      onArrival: () => {
        count += 1
        arrivals.dispatchEvent(new Event('arrived'))
      },
      onError: (error) => failures.push(error),
    },
  )
  return {
    failures,
    count: () => count,
    /** Waits for the next arrival that was not waited for before. */
    async arrival() {
      if (count === awaited) await once(arrivals, 'arrived', { signal: AbortSignal.timeout(20_000) })
      awaited = count
    },
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  }
}

/** A slower watch on everything in the folder: what it has noticed, the other one would have told of before. */
function witnessIn(
  folder: ExportFolder,
  { watch, path }: { readonly watch: 'events' | 'polling'; readonly path: string },
) {
  const afterwards = { archiveDir: '/nowhere', rejectDir: '/nowhere' }
  return watchIn(folder, { watch, path, afterwards }, 500)
}
