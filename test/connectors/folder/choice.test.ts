import { appendFile, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Reading } from '../../../src/connectors/connector.ts'
import {
  createVersionFinder,
  findNextExport,
  findVersion,
  resolveFolder,
} from '../../../src/connectors/folder/choice.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'
import { type ExportFolder, exportFolder } from '../../helpers/sources/exports.ts'
import { identityOf, openIn, refusalOf, rowsOf } from '../../helpers/sources/folder-source.ts'

const header = 'id,name\n'
/** More than the beginning and the end that are compared. */
const people = header.repeat(52_500)
const hourMs = 60 * 60 * 1000
const monday = new Date('2026-11-16T01:00:00Z')
const tuesday = new Date('2026-11-17T01:00:00Z')
const wednesday = new Date('2026-11-18T01:00:00Z')

describe('the newest export', () => {
  test('is the match that changed last, and goes by its own name, size and rows', async () => {
    await using folder = await exportFolder()
    await folder.write('z.csv', 'id\n1\n', { modifiedAt: monday })
    await folder.write('a.csv', 'id\n2\n', { modifiedAt: wednesday })
    await folder.write('m.csv', 'id\n3\n', { modifiedAt: tuesday })

    const reading = await openIn(folder)

    expect(reading.source).toEqual({ name: 'a.csv', bytes: 5, version: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(reading.asOf).toBe(wednesday.toISOString())
    expect((await rowsOf(reading)).map(({ origin }) => origin)).toEqual([{ file: 'a.csv', line: 2 }])
  })

  test('of several from the same moment is the last one by name', async () => {
    await using folder = await exportFolder()
    for (const name of ['day-09.csv', 'day-10.csv', 'day-08.csv'])
      await folder.write(name, header, { modifiedAt: monday })

    expect(identityOf(await openIn(folder)).name).toBe('day-10.csv')
  })

  test('is never the file that Excel puts beside an open workbook, unless the pattern names it', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', 'id\n1\n', { modifiedAt: monday })
    await folder.write('~$people.csv', header, { modifiedAt: tuesday })

    expect(identityOf(await openIn(folder)).name).toBe('people.csv')
    expect(identityOf(await openIn(folder, { path: '~$*.csv' })).name).toBe('~$people.csv')
  })

  test('is never a folder or a hidden file', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header, { modifiedAt: monday })
    await folder.write('.people.csv', header)
    await mkdir(join(folder.path, 'archive.csv'))

    expect(identityOf(await openIn(folder)).name).toBe('people.csv')
  })

  test('may have a name with brackets', async () => {
    await using folder = await exportFolder()
    await folder.write('people [final].csv', header)

    expect(identityOf(await openIn(folder, { path: 'people [final].csv' })).name).toBe('people [final].csv')
  })

  test('is found by an absolute path, a pattern over folders, and one that begins above', async () => {
    await using folder = await exportFolder()
    await mkdir(join(folder.path, 'berlin/november'), { recursive: true })
    await folder.write('berlin/november/people.csv', header)

    const names = []
    for (const path of [
      join(folder.path, 'b*/**/*.csv'),
      '*/*/people.csv',
      '{berlin/november,paris}/*.csv',
      'x/../berlin/*/*.csv',
    ])
      names.push(identityOf(await openIn(folder, { path })).name)

    expect(names).toEqual(Array.from({ length: 4 }, () => 'people.csv'))
  })

  test('may be a delta', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', header)

    expect((await openIn(folder, { mode: 'delta' })).mode).toBe('delta')
  })
})

describe('every export in turn', () => {
  test('is read oldest first, states whether more wait, and ends with nothing new', async () => {
    await using folder = await exportFolder()
    await folder.write('a.csv', 'id\n2\n', { modifiedAt: tuesday })
    await folder.write('c.csv', 'id\n1\n', { modifiedAt: monday })
    await folder.write('b.csv', 'id\n3\n', { modifiedAt: tuesday })
    const inTurn = reader(folder)

    const read = [await inTurn(), await inTurn(), await inTurn()]
    const after = await inTurn()

    expect(read.map(({ source }) => [source?.name, source?.more])).toEqual([
      ['c.csv', true],
      ['a.csv', true],
      ['b.csv', undefined],
    ])
    expect(after).toMatchObject({ source: null, mode: 'delta', headers: [] })
    expect(await rowsOf(after)).toEqual([])
  })

  test('of one time comes by its name, in which numbers count as numbers', async () => {
    await using folder = await exportFolder()
    for (const name of ['delta-10.csv', 'delta-9.csv', 'delta-2.csv'])
      await folder.write(name, header, { modifiedAt: monday })
    const inTurn = reader(folder)

    const read = [await inTurn(), await inTurn(), await inTurn()]

    expect(read.map(({ source }) => source?.name)).toEqual(['delta-2.csv', 'delta-9.csv', 'delta-10.csv'])
    expect(identityOf(await openIn(folder)).name).toBe('delta-10.csv')
  })

  test('is ordered by the dates in the names if configured', async () => {
    await using folder = await exportFolder()
    await folder.write('people-2026-11-16.csv', header, { modifiedAt: wednesday })
    await folder.write('people-2026-11-17.csv', header, { modifiedAt: monday })
    const pattern = '(?<year>\\d{4})-(?<month>\\d{2})-(?<day>\\d{2})'
    const byName = { from: 'fileName', pattern } as const
    const inTurn = reader(folder, { asOf: byName })

    const newest = await openIn(folder, { take: 'each', asOf: byName }, { isNewest: true })
    const read = [await inTurn(), await inTurn()]

    expect(identityOf(newest).name).toBe('people-2026-11-17.csv')
    expect(read.map(({ asOf }) => asOf)).toEqual(['2026-11-16T00:00:00.000Z', '2026-11-17T00:00:00.000Z'])
  })

  test('a rewritten export is new; a moved export is not', async () => {
    await using folder = await exportFolder()
    await mkdir(join(folder.path, 'elsewhere'))
    const file = await folder.write('people.csv', header, { modifiedAt: monday })
    const inTurn = reader(folder, { path: '**/*.csv' })
    await inTurn()

    await rename(file, join(folder.path, 'elsewhere/people.csv'))
    const moved = await inTurn()
    await folder.write('people.csv', header, { modifiedAt: tuesday })
    const again = await inTurn()

    expect(moved.source).toBeNull()
    expect(again.source?.name).toBe('people.csv')
  })

  test.for<[string, (file: string) => Promise<unknown>, bytes: number]>([
    ['the first byte', (file) => writeFile(file, `I${people.slice(1)}`), people.length],
    ['the last byte', (file) => writeFile(file, `${people.slice(0, -1)}\r`), people.length],
    ['the size', (file) => appendFile(file, 'x\n'), people.length + 2],
  ])('distinguishes exports by %s, even if the time is the same', async ([, change, bytes]) => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', people, { modifiedAt: monday })
    const before = identityOf(await openIn(folder)).version

    await change(file)
    await utimes(file, monday, monday)
    const after = identityOf(await openIn(folder))

    expect(after.bytes).toBe(bytes)
    expect(after.version).not.toBe(before)
  })

  test('is computed once, as long as the export does not change', async () => {
    await using folder = await exportFolder()
    const look = watchedLooks(folder, () => Date.now() + hourMs)
    const old = await folder.write('old.csv', 'id\n1\n', { modifiedAt: monday })
    await folder.write('other.csv', 'id\n2\n', { modifiedAt: monday })

    const first = await look()
    const second = await look()
    await writeFile(old, 'id\n3\n')
    await utimes(old, monday, monday)
    await folder.write('fresh.csv', 'id\n4\n', { modifiedAt: tuesday })
    const third = await look()

    expect(first.read.toSorted()).toEqual(['old.csv', 'other.csv'])
    expect(second).toEqual({ read: [], versions: first.versions })
    expect(third.read.toSorted()).toEqual(['fresh.csv', 'old.csv'])
    expect(third.versions).toHaveLength(3)
    expect(third.versions.filter((version) => first.versions.includes(version))).toHaveLength(1)
  })

  test('is computed again for a new export, because it may change unnoticed', async () => {
    await using folder = await exportFolder()
    const look = watchedLooks(folder, () => Date.now())
    await folder.write('people.csv', header, { modifiedAt: monday })

    const looks = [await look(), await look()]

    expect(looks.map(({ read }) => read)).toEqual([['people.csv'], ['people.csv']])
  })

  test('an empty folder holds nothing new; a folder that is missing is refused', async () => {
    await using folder = await exportFolder()

    expect((await openIn(folder, { take: 'each' })).source).toBeNull()
    expect(await refusalOf(() => openIn(folder, { take: 'each', path: 'missing/*.csv' }))).toBe(
      `cannot read ${folder.path}/missing: there is no such file or folder; check the path`,
    )
  })

  test('an unreadable oldest export blocks newer ones, so that the order is kept', async () => {
    await using folder = await exportFolder()
    await folder.write('a.csv', '', { modifiedAt: monday })
    await folder.write('b.csv', header, { modifiedAt: tuesday })

    expect(await refusalOf(() => openIn(folder, { take: 'each' }))).toContain('a.csv is empty (0 bytes)')
  })
})

describe('a symbolic link is refused', () => {
  test('as the export itself, by name and among the matches, wherever it leads', async () => {
    await using folder = await exportFolder()
    await using outside = await exportFolder()
    await folder.write('people.csv', header)
    await symlink(await outside.write('secret.csv', header), join(folder.path, 'link.csv'))
    const text = `${folder.path}/link.csv is a symbolic link: links are not followed`

    expect(await refusalOf(() => openIn(folder))).toContain(text)
    expect(await refusalOf(() => openIn(folder, { path: 'link.csv' }))).toContain(text)
    expect(await refusalOf(() => openIn(folder, { take: 'each' }))).toContain(text)
  })

  test('that leads nowhere or to itself', async () => {
    await using folder = await exportFolder()
    await symlink('nowhere', join(folder.path, 'dangling.csv'))
    await symlink('circle', join(folder.path, 'circle'))

    expect(await refusalOf(() => openIn(folder))).toContain('dangling.csv is a symbolic link')
    expect(await refusalOf(() => openIn(folder, { path: 'circle' }))).toContain('circle is a symbolic link')
  })

  test('as a folder on the way to a match', async () => {
    await using folder = await exportFolder()
    await using outside = await exportFolder()
    await outside.write('people.csv', header)
    await symlink(outside.path, join(folder.path, 'branch'))

    const message = await refusalOf(() => openIn(folder, { path: '{main,branch}/people.csv' }))

    expect(message).toContain(`${folder.path}/branch is a symbolic link`)
  })

  test('folders behind links are not searched, and the refusal says so', async () => {
    await using folder = await exportFolder()
    await using outside = await exportFolder()
    await outside.write('people.csv', header)
    await symlink(outside.path, join(folder.path, 'branch'))

    for (const path of ['*/people.csv', '**/people.csv'])
      expect(await refusalOf(() => openIn(folder, { path }))).toContain(
        'folders behind symbolic links are not searched',
      )
  })

  test('but not in the literal part of the path', async () => {
    await using folder = await exportFolder()
    await using outside = await exportFolder()
    await outside.write('people.csv', header)
    await symlink(outside.path, join(folder.path, 'exports'))

    expect(identityOf(await openIn(folder, { path: 'exports/*.csv' })).name).toBe('people.csv')
    expect(identityOf(await openIn(folder, { path: 'exports/people.csv' })).name).toBe('people.csv')
  })

  test('put in the place of an export between its header and its rows', async () => {
    await using folder = await exportFolder()
    await using outside = await exportFolder()
    const file = await folder.write('people.csv', `${header}1,a\n`)
    const reading = await openIn(folder)

    await rm(file)
    await symlink(await outside.write('people.csv', `${header}1,a\n`), file)

    expect(await refusalOf(() => rowsOf(reading))).toContain('people.csv is a symbolic link')
  })
})

/** Opens the next export as the daemon does, remembering what was read. */
function reader(folder: ExportFolder, settings = {}): () => Promise<Reading> {
  const taken = new Set<string>()
  return async () => {
    const options = { findDecided: async (versions: readonly string[]) => new Set(versions).intersection(taken) }
    const reading = await openIn(folder, { take: 'each', ...settings }, options)
    if (reading.source) taken.add(reading.source.version)
    return reading
  }
}

/** Looks for the next export again and again, and says which files were read for it, and the versions that were found. */
function watchedLooks({ path }: ExportFolder, nowMs: () => number) {
  const folder = resolveFolder(FolderSource.parse({ type: 'csv', path: '*.csv', mode: 'delta' }), path)
  let read: string[] = []
  const findVersions = createVersionFinder({
    nowMs,
    read: async (file) => {
      read.push(file.name)
      return await findVersion(file)
    },
  })
  return async () => {
    read = []
    let names: readonly string[] = []
    const taken = async (versions: readonly string[]): Promise<ReadonlySet<string>> => {
      names = versions.toSorted()
      return new Set()
    }
    await findNextExport(folder, taken, findVersions)
    return { read, versions: names }
  }
}
