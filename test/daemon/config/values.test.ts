import { expect, test } from 'vitest'
import { pathsOf } from '../../../src/daemon/config/values.ts'

const values = {
  source: {
    body: { filter: { key: 'a' }, list: ['b', { c: 'd' }], empty: {} },
    each: [{ body: { id: 'e' } }, { url: 'f' }, { body: { ids: ['g'] } }],
    headers: { 'X-Key': 'h' },
    bearer: 'i',
  },
}

test.each([
  ['a text', ['source', 'bearer'], ['source.bearer']],
  ['what is not there', ['source', 'none'], ['source.none']],
  ['an object', ['source', 'headers'], ['source.headers.X-Key']],
  [
    'objects and lists in each other',
    ['source', 'body'],
    ['source.body.filter.key', 'source.body.list.0', 'source.body.list.1.c'],
  ],
  [
    'each member of a list',
    ['source', 'each', '*', 'body'],
    ['source.each.0.body.id', 'source.each.1.body', 'source.each.2.body.ids.0'],
  ],
  [
    'each member of an object',
    ['source', '*', 'filter'],
    ['source.body.filter.key', 'source.each.filter', 'source.headers.filter', 'source.bearer.filter'],
  ],
  ['each member of nothing', ['source', 'none', '*', 'body'], []],
  ['each member of a text', ['source', 'bearer', '*'], []],
  [
    'each member below each member',
    ['source', 'each', '*', '*', 'id'],
    ['source.each.0.body.id', 'source.each.1.url.id', 'source.each.2.body.id'],
  ],
])('the paths below %s', (_case, path, expected) => {
  expect(pathsOf(values, path).map((one) => one.join('.'))).toEqual(expected)
})
