import { describe, expect, test } from 'vitest'
import { SftpSource } from '../../../src/connectors/sftp/settings.ts'

const hostKey = `SHA256:${'a'.repeat(43)}`
const least = {
  type: 'sftp',
  host: 'sftp.example.com',
  username: 'hr-export',
  password: 'secret',
  hostKeys: [hostKey],
  path: 'exports/*.csv',
  mode: 'snapshot',
}

describe('the settings of an SFTP source', () => {
  test('have defaults that touch nothing on the server', () => {
    const source = SftpSource.parse(least)

    expect(source).toMatchObject({
      port: 22,
      take: 'newest',
      complete: { quietSeconds: 5 },
      afterwards: { accepted: 'keep', refused: 'keep' },
      asOf: { from: 'modificationTime' },
      timeZone: 'UTC',
      delimiter: ',',
    })
  })

  test.each([
    ['a key', { password: undefined, privateKey: 'key' }],
    ['a key with a passphrase', { password: undefined, privateKey: 'key', passphrase: 'words' }],
    ['a named file with brackets', { path: 'exports/people[1].csv' }],
    ['a file in the root', { path: '/people.csv' }],
    ['an address', { host: '2001:db8::1' }],
    ['a delta of each file', { mode: 'delta', take: 'each' }],
  ])('take %s', (_case, settings) => {
    expect(SftpSource.safeParse({ ...least, ...settings }).error?.issues).toBeUndefined()
  })

  test.each<[string, object, RegExp]>([
    ['no secret', { password: undefined }, /password: set either password or privateKey/],
    ['two secrets', { privateKey: 'key' }, /password: set either/],
    ['an empty secret', { password: '' }, /password: is empty: check the variable/],
    ['a passphrase without its key', { passphrase: 'words' }, /passphrase: belongs to a privateKey/],
    ['no host key', { hostKeys: [] }, /hostKeys/],
    ['an MD5 fingerprint', { hostKeys: ['MD5:00:11'] }, /hostKeys\.0: expected a fingerprint/],
    ['a cut fingerprint', { hostKeys: [hostKey.slice(0, -1)] }, /hostKeys\.0: expected a fingerprint/],
    ['an address with its scheme', { host: 'sftp://example.com' }, /host: expected a host name/],
    ['a folder', { path: 'exports/' }, /path: names a folder/],
    ['the folder above', { path: 'exports/..' }, /path: names a folder/],
    ['a pattern of folders', { path: '*/people.csv' }, /path: \* and \? may stand in the name of the file only/],
    ['other wildcards', { path: '*.{csv,txt}' }, /path: only \* and \? are understood here/],
    ['the home folder of a shell', { path: '~/people.csv' }, /path: leave out ~\//],
    ['a line break', { path: 'people\n.csv' }, /path: holds characters/],
    ['a marker as the export', { path: '*.done', complete: { marker: '.done' } }, /path: ends like the marker/],
    [
      'one ending for two',
      { complete: { marker: '.x', sideFile: { suffix: '.x', holds: 'rows' } } },
      /complete\.marker/,
    ],
    ['a quote that is the delimiter', { delimiter: ';', quote: ';' }, /quote/],
    ['keepDays, which a server has to see to', { afterwards: { keepDays: 3 } }, /keepDays/],
    ['no mode', { mode: undefined }, /mode/],
  ])('refuse %s', (_case, settings, expected) => {
    const { error } = SftpSource.safeParse({ ...least, ...settings })

    expect(error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n')).toMatch(expected)
  })

  test('say what each of them means', () => {
    const { shape } = SftpSource

    const silent = Object.entries(shape).filter(([name, schema]) => name !== 'type' && !described(schema))

    expect(silent.map(([name]) => name)).toEqual([])
  })
})

function described(schema: { readonly description?: string; readonly def: object }): boolean {
  if (schema.description) return true
  return 'innerType' in schema.def && described(schema.def.innerType as typeof schema)
}
