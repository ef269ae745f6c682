import { describe, expect, test } from 'vitest'
import { HttpSource } from '../../../src/connectors/http/settings/settings.ts'

const plain = { type: 'http', url: 'https://hr.example/people', format: 'json', mode: 'snapshot' }

const clientCredentials = {
  ...{ grant: 'clientCredentials', tokenUrl: 'https://login.example/token' },
  ...{ clientId: 'client-1', clientSecret: 'set' },
}
const login = { url: 'https://login.example/', body: { secret: 'set' }, token: '/token' }

describe('the settings of an HTTP source', () => {
  test('need an address, a format and a mode only', () => {
    const source = HttpSource.parse(plain)

    expect(source).toMatchObject({
      records: '',
      maxPages: 10_000,
      maxBytes: 1024 ** 3,
      asOf: { from: 'request' },
      timeZone: 'UTC',
      insecure: false,
      allowPrivate: false,
    })
  })

  test.each([
    ['plain http', { url: 'http://hr.example/' }, 'url', 'http:// is not encrypted'],
    [
      'this machine where private addresses are not allowed',
      { url: 'http://127.0.0.1/' },
      'url',
      'http:// is not encrypted',
    ],
    ['another scheme', { url: 'ftp://hr.example/' }, 'url', 'expected an address'],
    ['no address', { url: 'people' }, 'url', 'expected an address'],
    ['credentials in the address', { url: 'https://ana:x@hr.example/' }, 'url', 'an address holds no credentials'],
    ['no mode', { mode: undefined }, 'mode', ''],
    ['two ways to log in', { bearer: 'a', apiKey: { header: 'x-key', value: 'b' } }, 'bearer', 'name one of'],
    ['an empty secret', { bearer: '' }, 'bearer', 'is empty'],
    ['a header of credentials', { headers: { Authorization: 'x' } }, 'headers', 'for credentials use bearer'],
    ['a conditional request', { headers: { 'If-None-Match': '"1"' } }, 'headers', 'header cannot be configured'],
    ['a header that is none', { headers: { 'a b': 'x' } }, 'headers', 'expected the name of a header'],
    ['a header with a line end', { headers: { a: 'x\r\nb: y' } }, 'headers', 'expected printable ASCII'],
    ['a key in a reserved header', { apiKey: { header: 'Host', value: 'x' } }, 'apiKey', 'cannot carry a key'],
    ['a colon in the user name', { basic: { username: 'a:b', password: 'x' } }, 'basic', 'holds no colon'],
    ['a token without a place', { nextParameter: 'cursor' }, 'next', 'say where the token stands'],
    [
      'a parameter that is there',
      { url: 'https://a.example/?c=1', next: '/n', nextParameter: 'c' },
      'nextParameter',
      'has this',
    ],
    ['no pointer', { records: 'data' }, 'records', 'expected a JSON pointer'],
    ['a key in a delta', { mode: 'delta', pages: { by: 'single', key: '/id' } }, 'pages', 'leave key out: in a delta'],
    ['pages of CSV', { format: 'csv', next: '/next' }, 'next', 'is for format: json'],
    ['records of CSV', { format: 'csv', records: '/a' }, 'records', 'is for format: json'],
    ['a pointer in CSV', { format: 'csv', asOf: { from: 'pointer', pointer: '/a' } }, 'asOf', 'is for format: json'],
    ['an unknown setting', { token: 'x' }, undefined, 'Unrecognized key'],
    [
      'a certificate without TLS',
      { url: 'http://hr.example/', insecure: true, clientCertificate: { certificate: 'a', key: 'b' } },
      'clientCertificate',
      'needs https://',
    ],
    [
      'two tokens',
      { oauth2: clientCredentials, login },
      'bearer',
      'name one of bearer, basic, apiKey, oauth2 and login',
    ],
    [
      'a token over plain http',
      { oauth2: { ...clientCredentials, tokenUrl: 'http://login.example/token' } },
      'oauth2',
      'http:// is not encrypted',
    ],
    [
      'a login over plain http',
      { login: { ...login, url: 'http://login.example/' } },
      'login',
      'http:// is not encrypted',
    ],
    ['a grant without its secret', { oauth2: { ...clientCredentials, clientSecret: undefined } }, 'oauth2', ''],
    [
      'a parameter that another setting sends',
      { oauth2: { ...clientCredentials, parameters: { grant_type: 'password' } } },
      'oauth2',
      'follows from the other settings of oauth2',
    ],
    ['a login by GET with a body', { login: { ...login, method: 'GET' } }, 'login', 'has no body'],
    [
      'a form with an object in it',
      { login: { ...login, body: { a: { b: 'c' } }, encoding: 'form' } },
      'login',
      'encoding: form sends no objects and lists',
    ],
    ['a token in a header of ours', { login: { ...login, header: 'Host' } }, 'login', 'cannot carry a key'],
    ['a login without a place of the token', { login: { ...login, token: '' } }, 'login', ''],
  ])('refuse %s', (_case, changed, path, message) => {
    const { error } = HttpSource.safeParse({ ...plain, ...changed })

    expect(error?.issues.map((issue) => issue.path[0])).toEqual([path])
    expect(JSON.stringify(error?.issues)).toContain(message)
  })

  test.each([
    ['plain http where it is meant', { url: 'http://hr.example/', insecure: true }],
    ['plain http on this machine', { url: 'http://[::1]:8080/', allowPrivate: true }],
    ['plain http on this machine by name', { url: 'http://localhost/', allowPrivate: true }],
    ['a certificate beside a token', { bearer: 'x', clientCertificate: { certificate: 'a', key: 'b' } }],
    ['a token of another host', { oauth2: clientCredentials }],
    ['a login on another host', { login }],
    [
      'a token over plain http on this machine',
      { allowPrivate: true, oauth2: { ...clientCredentials, tokenUrl: 'http://127.0.0.1/token' } },
    ],
  ])('allow %s', (_case, changed) => {
    expect(HttpSource.safeParse({ ...plain, ...changed }).error).toBeUndefined()
  })
})
