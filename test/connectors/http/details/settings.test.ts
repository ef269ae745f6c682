import { describe, expect, test } from 'vitest'
import { HttpSource } from '../../../../src/connectors/http/settings/settings.ts'

const plain = { type: 'http', url: 'https://hr.example/people', format: 'json', mode: 'snapshot' }
const join = { url: 'https://hr.example/jobs', on: '/of', with: 'id', as: 'job' }
const each = { url: 'https://hr.example/people/{id}', as: 'home' }
const together = {
  ...{ url: 'https://hr.example/people', method: 'POST', as: 'home', body: { requests: [{ of: '{id}' }] } },
  batch: { size: 100, list: '/requests', on: '/of', with: 'id' },
}

describe('the settings of details', () => {
  test('need little, and refuse records without their detail', () => {
    expect(HttpSource.parse({ ...plain, each: [together] }).each[0]?.batch).toMatchObject({ answers: '' })
    expect(HttpSource.parse({ ...plain, join: [join], each: [each] })).toMatchObject({
      join: [{ method: 'GET', records: '', take: 'only' }],
      each: [{ method: 'GET', records: '', take: 'only' }],
      missingDetails: 'fail',
    })
  })

  test.each([
    ['another host of a join', { join: [{ ...join, url: 'https://evil.example/jobs' }] }, 'join.0.url', 'another host'],
    [
      'another host of each',
      { each: [{ ...each, url: 'https://hr.example@evil.example/{id}' }] },
      'each.0.url',
      'another host',
    ],
    ['a column in the host', { each: [{ ...each, url: 'https://{id}.hr.example/' }] }, 'each.0.url', 'another host'],
    ['each without a column', { each: [{ ...each, url: 'https://hr.example/x' }] }, 'each.0.url', 'names no column'],
    ['the same name twice', { join: [join], each: [{ ...each, as: 'job' }] }, 'each.0.as', 'has this name already'],
    ['a dot in the name', { join: [{ ...join, as: 'a.b' }] }, 'join.0.as', 'a name without a dot'],
    ['a body with GET', { each: [{ ...each, body: { id: '{id}' } }] }, 'each.0.body', 'needs method: POST'],
    ['latest without a column', { join: [{ ...join, take: 'latest' }] }, 'join.0.take', 'need by and a column'],
    ['first by a column', { join: [{ ...join, take: 'first by x' }] }, 'join.0.take', 'first needs no column'],
    ['another choice', { join: [{ ...join, take: 'last' }] }, 'join.0.take', 'expected only, all'],
    ['a batch without its list', { each: [{ ...together, body: {} }] }, 'each.0.batch', 'no list of one entry'],
    [
      'a batch of two entries',
      { each: [{ ...together, body: { requests: [{ of: '{id}' }, { of: '{id}' }] } }] },
      'each.0.batch',
      'no list of one entry',
    ],
    [
      'a batch whose entry names no column',
      { each: [{ ...together, body: { requests: [{ of: 1 }] } }] },
      'each.0.batch',
      'names no column',
    ],
    [
      'a batch with a column in the address',
      { each: [{ ...together, url: 'https://hr.example/{id}' }] },
      'each.0.batch',
      'only the entry of body at /requests may name columns',
    ],
    ['CSV', { format: 'csv', join: [join] }, 'join', 'is for format: json'],
    [
      'pages of a join in a body that is not sent',
      { join: [{ ...join, pages: { by: 'page', parameter: 'page', in: 'body' } }] },
      'join.0.pages',
      'in: body needs method: POST',
    ],
    [
      'pages of a join whose address has their parameter',
      { join: [{ ...join, url: `${join.url}?page=1`, pages: { by: 'page', parameter: 'page' } }] },
      'join.0.pages',
      'url has one of its parameters already',
    ],
    [
      'a size of pages of a join that is not sent',
      { join: [{ ...join, pages: { by: 'page', parameter: 'page', size: 50 } }] },
      'join.0.pages',
      'sizeParameter and size belong together',
    ],
  ])('refuse %s', (_case, changed, path, message) => {
    const { error } = HttpSource.safeParse({ ...plain, ...changed })

    expect(error?.issues.map((issue) => [issue.path.join('.'), issue.message])).toEqual([
      [path, expect.stringContaining(message)],
    ])
  })
})
