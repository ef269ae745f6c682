import { describe, expect, test } from 'vitest'
import { ExportPath } from '../../../src/connectors/folder/matches.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'

const settings = { type: 'csv', path: 'people.csv', mode: 'snapshot' }

describe('the settings of a csv source', () => {
  test('have defaults for everything but type, path and mode, and keep every export where it is', () => {
    const source = FolderSource.parse(settings)

    expect(source).toMatchObject({
      ...settings,
      take: 'newest',
      delimiter: ',',
      encoding: 'utf-8',
      quote: '"',
      complete: { quietSeconds: 5 },
      afterwards: { accepted: 'keep', refused: 'keep', archiveDir: 'archive', rejectDir: 'rejected' },
      watch: 'off',
      pollSeconds: 30,
      asOf: { from: 'modificationTime' },
      timeZone: 'UTC',
    })
  })

  test.for<[object]>([
    [{ mode: 'delta', take: 'each' }],
    [{ path: '../exports/**/*.csv' }],
    [{ complete: { marker: '.done', sideFile: { suffix: '.sha256', holds: 'sha256' } } }],
    [{ complete: { quietSeconds: 0.5 } }],
    [{ afterwards: { accepted: 'archive', refused: 'move', archiveDir: '/srv/archive', keepDays: 30 } }],
    [{ watch: 'polling', pollSeconds: 60 }],
  ])('accept %o', ([change]) => {
    const source = FolderSource.parse({ ...settings, ...change })

    expect(source).toMatchObject(change)
  })

  test.for<[object, string]>([
    [{ mode: undefined }, 'mode'],
    [{ mode: 'guess' }, 'mode'],
    [{ path: '' }, 'path'],
    [{ path: 'exports/*/../../secret.csv' }, 'path'],
    [{ path: 'exports/*.done', complete: { marker: '.done' } }, 'path'],
    [{ path: 'exports/*.sha256', complete: { sideFile: { suffix: '.sha256', holds: 'sha256' } } }, 'path'],
    [{ take: 'oldest' }, 'take'],
    [{ complete: { quietSeconds: -1 } }, 'complete.quietSeconds'],
    [{ complete: { marker: 'done' } }, 'complete.marker'],
    [{ complete: { marker: '.do/ne' } }, 'complete.marker'],
    [{ complete: { marker: '.ok', sideFile: { suffix: '.ok', holds: 'rows' } } }, 'complete.marker'],
    [{ complete: { sideFile: { suffix: '.md5', holds: 'md5' } } }, 'complete.sideFile.holds'],
    [{ complete: { quiet: 5 } }, 'complete'],
    [{ afterwards: { accepted: 'burn' } }, 'afterwards.accepted'],
    [{ afterwards: { refused: 'delete' } }, 'afterwards.refused'],
    [{ afterwards: { keepDays: 0 } }, 'afterwards.keepDays'],
    [{ watch: 'sometimes' }, 'watch'],
    [{ pollSeconds: 0 }, 'pollSeconds'],
    [{ delimiter: '||' }, 'delimiter'],
    [{ delimiter: '"' }, 'quote'],
    [{ encoding: 'klingon' }, 'encoding'],
    [{ timeZone: 'Mars/Phobos' }, 'timeZone'],
    [{ timeZone: '+01:00' }, 'timeZone'],
    [{ asOf: { from: 'fileName', pattern: '(' } }, 'asOf.pattern'],
    [{ asOf: { from: 'fileName', pattern: '(?<year>\\d{4})' } }, 'asOf.pattern'],
    [{ asOf: { from: 'thinAir' } }, 'asOf.from'],
    [{ colour: 'blue' }, ''],
  ])('refuse %o', ([change, setting]) => {
    const { error } = FolderSource.safeParse({ ...settings, ...change })

    expect(error?.issues.map(({ path }) => path.join('.'))).toEqual([setting])
  })
})

test.each([
  ['exports/*.csv', true],
  ['exports/**/people-*-*.csv', true],
  ['*/*/*/*/*.csv', true],
  ['exports/*a*a*a*.csv', false],
  ['exports/+(+(a)).csv', false],
  ['exports/!(*).csv', false],
])('the pattern %s is quick to try on every name: %s', (path, expected) => {
  expect(ExportPath.safeParse(path).success).toBe(expected)
})
