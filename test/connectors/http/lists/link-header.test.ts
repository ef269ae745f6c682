import { expect, test } from 'vitest'
import { nextLinks } from '../../../../src/connectors/http/lists/link-header.ts'

test.each<[string, string | string[] | undefined, readonly string[] | null]>([
  ['no header', undefined, []],
  ['a quoted relation', '<https://hr.example/p?page=2>; rel="next"', ['https://hr.example/p?page=2']],
  ['a bare relation', '<?page=2>;rel=next', ['?page=2']],
  ['one of several relations', '<?page=2>; rel="last NEXT"', ['?page=2']],
  [
    'other parameters',
    '<?page=2>; title="a, b; rel=\\"prev\\""; type=text/html ; REL = next; crossorigin',
    ['?page=2'],
  ],
  ['several links', '<?page=1>; rel="first", <?page=2>; rel="next", <?page=9>; rel="last"', ['?page=2']],
  ['several headers', ['<?page=1>; rel="prev"', '<?page=3>; rel="next"'], ['?page=3']],
  ['commas and semicolons in addresses', '<?ids=1,2;3>; rel="next", , <?a>; rel=prev,', ['?ids=1,2;3']],
  ['a second relation, which has no effect', '<?page=2>; rel="prev"; rel="next"', []],
  ['a link without a relation', '<?page=2>', []],
  ['an address without brackets', '?page=2; rel="next"', null],
  ['a quotation mark that is not closed', '<?page=2>; rel="next', null],
  ['text between the links', '<?page=1>; rel="first" and <?page=2>; rel="next"', null],
])('a header Link with %s', (_case, header, expected) => {
  expect(nextLinks(header)).toEqual(expected)
})
