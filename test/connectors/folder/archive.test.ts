import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, stat, symlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { archiveExport } from '../../../src/connectors/folder/archive.ts'
import { resolveFolder } from '../../../src/connectors/folder/choice.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'
import { startChild } from '../../helpers/servers/children.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import {
  asNobody,
  connectorFor,
  type FolderSettings,
  folderElsewhere,
  identityOf,
  openIn,
  refusalOf,
  rowsOf,
} from '../../helpers/sources/folder-source.ts'

const header = 'id,name\n'
const now = new Date('2026-11-20T01:02:03.456Z')
const stamp = '2026-11-20T010203Z'
const archiving: FolderSettings = { afterwards: { accepted: 'archive', refused: 'move' } }

describe('an export that was read', () => {
  test('stays in place by default', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)

    await readAndArchive(folder, {}, 'accepted')
    await readAndArchive(folder, {}, 'refused')

    expect(await readdir(folder.path)).toEqual(['people.csv'])
  })

  test('goes to the archive when it was accepted, for this account alone', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header, { modifiedAt: new Date('2026-11-19T01:00:00Z') })

    await readAndArchive(folder, archiving, 'accepted')

    const moved = join(folder.path, 'archive', `${stamp}-people.csv`)
    expect(await readdir(folder.path)).toEqual(['archive'])
    expect(await readFile(moved, 'utf8')).toBe(header)
    expect((await stat(moved)).mode & 0o777).toBe(0o600)
    expect((await stat(moved)).mtime).toEqual(new Date('2026-11-19T01:00:00Z'))
    expect((await stat(join(folder.path, 'archive'))).mode & 0o777).toBe(0o700)
  })

  test('moves away when it was refused', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)

    await readAndArchive(folder, archiving, 'refused')

    expect(await tree(folder.path)).toEqual(['rejected', `rejected/${stamp}-people.csv`])
  })

  test('is deleted only where that is configured', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)
    await folder.write('other.csv', header, { modifiedAt: new Date('2026-11-19T01:00:00Z') })

    await readAndArchive(folder, { afterwards: { accepted: 'delete' } }, 'accepted')

    expect(await tree(folder.path)).toEqual(['other.csv'])
  })

  test.for(['archive', 'delete'] as const)('takes its marker and its side file along (%s)', async (accepted) => {
    await using folder = await exportFolder()
    const complete = { marker: '.done', sideFile: { suffix: '.count', holds: 'rows' as const } }
    await folder.write('people.csv', header)
    for (const name of ['people.csv.done', 'people.done', 'people.count', 'others.done']) await folder.write(name, '0')

    await readAndArchive(folder, { complete, afterwards: { accepted } }, 'accepted')

    const moved = ['people.count', 'people.csv', 'people.csv.done', 'people.done'].map(
      (name) => `archive/${stamp}-${name}`,
    )
    expect(await tree(folder.path)).toEqual(
      accepted === 'archive' ? ['archive', ...moved, 'others.done'] : ['others.done'],
    )
  })

  test('never replaces what is in the archive: it gets a number', async () => {
    await using folder = await exportFolder()
    for (const text of ['id\n1\n', 'id\n22\n', 'id\n333\n']) {
      await folder.write('people.csv', text)
      await readAndArchive(folder, archiving, 'accepted')
    }

    const names = await readdir(join(folder.path, 'archive'))

    expect(names.sort()).toEqual([`${stamp}-2-people.csv`, `${stamp}-3-people.csv`, `${stamp}-people.csv`])
    expect(await readFile(join(folder.path, 'archive', `${stamp}-3-people.csv`), 'utf8')).toBe('id\n333\n')
  })

  test('is in the archive once, though the process that moved it there was killed', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)

    const killed = startChild(new URL('children/archive-and-die.ts', import.meta.url), folder.path)
    await killed.finish()
    const before = await readdir(join(folder.path, 'archive'))
    await readAndArchive(folder, archiving, 'accepted')

    expect(before).toHaveLength(1)
    expect(await tree(folder.path)).toEqual(['archive', `archive/${stamp}-people.csv`])
    expect(await readFile(join(folder.path, 'archive', `${stamp}-people.csv`), 'utf8')).toBe(header)
  })

  test('takes its marker along, though the process that had moved one of them was killed', async () => {
    await using folder = await exportFolder()
    const complete = { quietSeconds: 0, marker: '.done' }
    await folder.write('people.csv', header)
    await folder.write('people.done', 'done')
    const identity = identityOf(await openIn(folder, { complete }))
    await startChild(new URL('children/archive-and-die.ts', import.meta.url), folder.path, '1', '.done').finish()
    const before = (await readdir(folder.path)).filter((name) => name.startsWith('people'))

    await archiveIn(folder, { ...archiving, complete }, identity, 'accepted')

    expect(before).toHaveLength(1)
    expect(await readdir(folder.path)).toEqual(['archive'])
    expect(await readdir(join(folder.path, 'archive'))).toHaveLength(2)
  })

  test('is archived once: a second call, or a missing export, changes nothing', async () => {
    await using folder = await exportFolder()
    const path = await folder.write('people.csv', header)
    const identity = identityOf(await openIn(folder))
    await rm(path)

    await archiveIn(folder, archiving, identity, 'accepted')
    await folder.write('people.csv', header)
    await readAndArchive(folder, archiving, 'accepted')
    await archiveIn(folder, archiving, identity, 'accepted')

    expect(await tree(folder.path)).toEqual(['archive', `archive/${stamp}-people.csv`])
  })

  test('is found again in another folder that the pattern reaches', async () => {
    await using folder = await exportFolder()
    await mkdir(join(folder.path, 'elsewhere'))
    const path = await folder.write('people.csv', header)
    const identity = identityOf(await openIn(folder))

    await rename(path, join(folder.path, 'elsewhere/people.csv'))
    await archiveIn(folder, { ...archiving, path: '**/*.csv' }, identity, 'accepted')

    expect(await tree(folder.path)).toEqual(['archive', `archive/${stamp}-people.csv`, 'elsewhere'])
  })

  test.for<[string, (path: string, folder: ExportFolder) => Promise<unknown>]>([
    ['appended to', (path) => appendFile(path, '1,a\n')],
    ['written anew', (_, folder) => folder.write('people.csv', 'id,nome\n')],
    ['replaced', async (path, folder) => rename(await folder.write('new', 'id,nome\n'), path)],
    [
      'replaced by a link',
      async (path, folder) => {
        await rename(path, join(folder.path, 'real'))
        await symlink('real', path)
      },
    ],
  ])('is left alone when it was %s meanwhile', async ([, change]) => {
    await using folder = await exportFolder()
    const path = await folder.write('people.csv', header, { modifiedAt: new Date('2026-11-19T01:00:00Z') })
    const identity = identityOf(await openIn(folder))

    await change(path, folder)
    const before = await tree(folder.path)
    await archiveIn(folder, archiving, identity, 'accepted')
    await archiveIn(folder, { afterwards: { accepted: 'delete' } }, identity, 'accepted')

    expect(await tree(folder.path)).toEqual(before)
  })

  test('reaches an archive on another file system whole, and only then goes', async () => {
    await using folder = await exportFolder()
    await using shared = await folderElsewhere()
    const text = header + '1,a\n'.repeat(100_000)
    await folder.write('people.csv', text, { modifiedAt: new Date('2026-11-19T01:00:00Z') })
    expect((await stat(folder.path)).dev).not.toBe((await stat(shared.path)).dev)

    await readAndArchive(
      folder,
      { afterwards: { accepted: 'archive', archiveDir: join(shared.path, 'archive') } },
      'accepted',
    )

    const moved = join(shared.path, 'archive', `${stamp}-people.csv`)
    expect(await tree(folder.path)).toEqual([])
    expect(await tree(shared.path)).toEqual(['archive', `archive/${stamp}-people.csv`])
    expect(await readFile(moved, 'utf8')).toBe(text)
    expect((await stat(moved)).mode & 0o777).toBe(0o600)
    expect((await stat(moved)).mtime).toEqual(new Date('2026-11-19T01:00:00Z'))
  })
})

describe('an archive', () => {
  test('inside the folder is not searched for exports', async () => {
    await using folder = await exportFolder()
    const everywhere = { ...archiving, path: '**/*.csv' }
    await folder.write('people.csv', header)
    await readAndArchive(folder, everywhere, 'accepted')

    expect(await refusalOf(() => openIn(folder, everywhere))).toContain('no file matches **/*.csv')
    expect((await openIn(folder, { ...everywhere, take: 'each' })).source).toBeNull()
  })

  test('that is a symbolic link is refused, and the export stays', async () => {
    await using folder = await exportFolder()
    await using outside = await exportFolder()
    await folder.write('people.csv', header)
    await symlink(outside.path, join(folder.path, 'archive'))

    expect(await refusalOf(() => readAndArchive(folder, archiving, 'accepted'))).toContain('archive is a symbolic link')
    expect(await readdir(outside.path)).toEqual([])
    expect((await readdir(folder.path)).sort()).toEqual(['archive', 'people.csv'])
  })

  test('that cannot be written is named, and the export stays', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)
    const identity = identityOf(await openIn(folder))
    await chmod(folder.path, 0o755)

    const message = await asNobody(() => refusalOf(() => archiveIn(folder, archiving, identity, 'accepted')))

    expect(message).toBe(
      `cannot move people.csv to ${folder.path}/archive: permission denied; let the account that runs Rollcall write to both folders`,
    )
    expect(await readdir(folder.path)).toEqual(['people.csv'])
  })

  test('where a file stands in its place is named', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)
    await folder.write('archive', '')

    expect(await refusalOf(() => readAndArchive(folder, archiving, 'accepted'))).toContain(
      'a file stands where the folder should be',
    )
  })

  test('loses what was moved there longer ago than keepDays, and nothing else', async () => {
    await using folder = await exportFolder()
    const ours = ['2026-10-20T010203Z-people.csv', '2026-10-20T010203Z-2-people.csv', '2026-10-20T010203Z-people.done']
    const kept = [
      '2026-10-22T010203Z-people.csv',
      '2026-10-20T010203Z-notes.txt',
      '2026-99-99T999999Z-people.csv',
      'people.csv',
      'old.csv',
    ]
    await mkdir(join(folder.path, 'archive/2026-10-20T010203Z-folder.csv'), { recursive: true })
    for (const name of [...ours, ...kept]) {
      const path = await folder.write(join('archive', name), header)
      await utimes(path, new Date('2020-01-01T00:00:00Z'), new Date('2020-01-01T00:00:00Z'))
    }
    await folder.write('people.csv', header)
    await folder.write('people.done', '')

    const afterwards = { accepted: 'archive' as const, keepDays: 30 }
    await readAndArchive(folder, { complete: { marker: '.done' }, afterwards }, 'accepted')

    const names = await readdir(join(folder.path, 'archive'))
    const moved = [`${stamp}-people.csv`, `${stamp}-people.done`]
    expect(names.sort()).toEqual([...kept, ...moved, '2026-10-20T010203Z-folder.csv'].sort())
  })

  test('keeps everything without keepDays', async () => {
    await using folder = await exportFolder()
    await mkdir(join(folder.path, 'archive'))
    await folder.write('archive/2000-10-20T010203Z-people.csv', header)
    await folder.write('people.csv', header)

    await readAndArchive(folder, archiving, 'accepted')

    expect(await readdir(join(folder.path, 'archive'))).toHaveLength(2)
  })
})

test('the connector archives by the real clock', async () => {
  await using folder = await exportFolder()
  await folder.write('people.csv', header)
  const connector = connectorFor(folder, archiving)
  const reading = await openIn(folder, archiving)
  await rowsOf(reading)

  await connector.archive?.(identityOf(reading), 'accepted')

  const day = new Date().toISOString().slice(0, 10)
  expect(await readdir(join(folder.path, 'archive'))).toEqual([
    expect.stringMatching(`^${day.slice(0, 8)}.*Z-people.csv$`),
  ])
})

/** Reads the export and archives it at a fixed time. */
async function readAndArchive(
  folder: ExportFolder,
  settings: FolderSettings,
  decision: 'accepted' | 'refused',
): Promise<void> {
  const identity = identityOf(await openIn(folder, settings))
  await archiveIn(folder, settings, identity, decision)
}

async function archiveIn(
  folder: ExportFolder,
  settings: FolderSettings,
  identity: ReturnType<typeof identityOf>,
  decision: 'accepted' | 'refused',
): Promise<void> {
  const source = FolderSource.parse({ type: 'csv', path: '*.csv', mode: 'snapshot', ...settings })
  await archiveExport(resolveFolder(source, folder.path), { source: identity, decision }, now)
}

async function tree(path: string): Promise<readonly string[]> {
  return (await readdir(path, { recursive: true })).sort()
}
