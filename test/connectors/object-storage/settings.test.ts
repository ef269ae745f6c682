import { describe, expect, test } from 'vitest'
import { ObjectStorageSource } from '../../../src/connectors/object-storage/settings.ts'

const source = { type: 'object-storage', provider: 's3', bucket: 'hr', pattern: '*.csv', mode: 'snapshot' }
const azure = { ...source, provider: 'azure', account: 'acmehr' }
const gcs = { ...source, provider: 'gcs' }

describe('the settings of object storage', () => {
  test.each([
    ['a bucket of Amazon', source],
    ['a folder', { ...source, prefix: 'exports/nightly/' }],
    ['a server of this machine', { ...source, endpoint: 'http://127.0.0.1:9000' }],
    ['an access key', { ...source, accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: 'token' }],
    ['an HMAC key of Google', { ...gcs, accessKeyId: 'id', secretAccessKey: 'secret' }],
    ['credentials of Google', { ...gcs, googleCredentials: '{}' }],
    ['a container with a key', { ...azure, accountKey: 'key' }],
    ['a container with a signature', { ...azure, sasToken: 'sv=1' }],
  ])('take %s', (_case, settings) => {
    expect(ObjectStorageSource.safeParse(settings).error?.issues).toBeUndefined()
  })

  test.each<[string, Record<string, unknown>, string, RegExp]>([
    ['a prefix that is no folder', { ...source, prefix: 'exports' }, 'prefix', /ends with \//],
    ['a prefix that begins with a slash', { ...source, prefix: '/exports/' }, 'prefix', /begins without it/],
    ['a pattern with a folder', { ...source, pattern: 'a/*.csv' }, 'pattern', /folders belong in prefix/],
    ['half an access key', { ...source, accessKeyId: 'id' }, 'accessKeyId', /write both or none/],
    [
      'a setting of another provider',
      { ...source, accountKey: 'key' },
      'accountKey',
      /does not belong to provider: s3/,
    ],
    ['a region of Google', { ...gcs, region: 'eu' }, 'region', /does not belong to provider: gcs/],
    ['a token without a key', { ...source, sessionToken: 'token' }, 'sessionToken', /belongs to an accessKeyId/],
    ['a container without an account', { ...azure, account: undefined }, 'account', /name the storage account/],
    ['two secrets', { ...azure, accountKey: 'key', sasToken: 'sv=1' }, 'sasToken', /either accountKey or sasToken/],
    ['an open network', { ...source, endpoint: 'http://minio.example.com' }, 'endpoint', /http:\/\/ is not encrypted/],
    ['another scheme', { ...source, endpoint: 'ftp://minio.example.com' }, 'endpoint', /expected an address/],
    ['a folder above', { ...source, prefix: 'a/../b/' }, 'prefix', /knows no folders \. and \.\./],
    [
      'an archive above',
      { ...source, afterwards: { archiveDir: '../done' } },
      'afterwards',
      /archiveDir: .* begin with \//,
    ],
    [
      'an archive of fresh exports',
      { ...source, prefix: 'a/', afterwards: { rejectDir: '/a' } },
      'afterwards',
      /rejectDir is/,
    ],
    [
      'an archive at the start',
      { ...source, afterwards: { archiveDir: '/' } },
      'afterwards',
      /archiveDir is the folder/,
    ],
    ['a marker like an export', { ...source, complete: { marker: '.csv' } }, 'pattern', /ends like the marker/],
  ])('refuse %s', (_case, settings, path, expected) => {
    const issues = ObjectStorageSource.safeParse(settings).error?.issues ?? []

    expect(issues.map((issue) => String(issue.path[0]))).toContain(path)
    expect(issues.map(({ message }) => message).join()).toMatch(expected)
  })
})
