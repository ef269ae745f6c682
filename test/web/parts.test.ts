import { describe, expect, test } from 'vitest'
import { address } from '../../src/web/address.ts'
import { actionLink, areaField, confirmation, selectField } from '../../src/web/forms.ts'
import { page } from '../../src/web/layout.ts'
import { definitions, difference, joined, live } from '../../src/web/parts.ts'
import { paging, table } from '../../src/web/tables.ts'
import { duration, formatRelativeTime } from '../../src/web/words.ts'

const nasty = `"><script>alert(1)</script>`

describe('a page', () => {
  test('loads what it needs by address and has no script or style in itself', () => {
    const assets = { style: '/s.css', icon: '/i.svg', scripts: ['/h.js'] }
    const nav = [{ name: 'Runs', href: '/runs', current: true, waiting: 2 }]

    const text = String(page({ title: nasty, content: nasty, home: '/', assets, nav }))

    expect(text).not.toMatch(/<script(?! src="\/h\.js" defer><\/script>)|<style|\sstyle=|\son\w+=/)
    expect(text).toContain('includeIndicatorCSS&quot;:false')
    expect(text).toContain('<a href="/runs" aria-current="page">Runs <span class="count">2</span></a>')
  })

  test('of visitors for whom there is nothing to go to has no navigation, and without a script no setting for one', () => {
    const text = String(page({ title: '', content: '', home: '/', assets: { style: '/s.css', icon: '/i.svg' } }))

    expect(text).not.toMatch(/<nav|<script|htmx/)
  })
})

test('an address leaves out empty values', () => {
  expect(address('/runs', { connection: 'a b&c', after: null, q: '', whole: false, kind: undefined, n: 0 })).toBe(
    '/runs?connection=a+b%26c&n=0',
  )
  expect(address('/runs', {})).toBe('/runs')
})

test('a table has a caption, a label for each cell, and a reason if it is empty', () => {
  const columns = [
    { name: 'Key', kind: 'row', cell: (key: string) => key },
    { name: 'Length', kind: 'figure', cell: (key: string) => key.length },
  ] as const

  const filled = String(table({ caption: 'Keys', columns, rows: ['<a>'], empty: 'No key.' }))
  const empty = String(table({ caption: 'Keys', columns, rows: [], empty: 'No key.' }))

  expect(filled).toContain('<caption class="unseen">Keys</caption>')
  expect(filled).toContain('<th role="rowheader" scope="row" class="row-name">&lt;a&gt;</th>')
  expect(filled).toContain('<td role="cell" class="figure" data-label="Length">3</td>')
  expect(empty).toBe('<p class="empty" role="status">No key.</p>')
})

test('a list of one page has no way to others', () => {
  expect(paging({ label: 'Pages', path: '/runs', query: {}, after: '', next: null })).toBeNull()
})

test('a list of several pages links to the first and the next, and keeps the rest of the address', () => {
  const first = String(paging({ label: 'Pages', path: '/runs', query: { connection: 'hr' }, after: '', next: 'b' }))
  const last = String(
    paging({
      label: 'Pages',
      path: '/r',
      query: { q: '' },
      name: 'rejects',
      after: 'b',
      next: null,
      anchor: 'rejects',
    }),
  )

  expect(first).toContain('href="/runs?connection=hr&amp;after=b">Next page')
  expect(first).not.toContain('First page')
  expect(last).toContain('href="/r#rejects">First page')
  expect(last).not.toContain('Next page')
})

test('a field is tied to its label and its hint', () => {
  const field = String(areaField({ name: 'reason', label: 'Why', hint: 'For the record.' }))

  expect(field).toContain('<label for="reason">Why</label>')
  expect(field).toContain('aria-describedby="reason-hint"')
})

test('the given option of a list is selected, and the empty one if none is given', () => {
  const options = [
    { value: '', name: 'Any' },
    { value: 'leave', name: 'Leavers' },
  ]

  const chosen = String(selectField({ name: 'kind', label: 'Kind', options, value: 'leave' }))
  const any = String(selectField({ name: 'kind', label: 'Kind', options, value: null }))

  expect(chosen).toContain('<option value="leave" selected>')
  expect(any).toContain('<option value="" selected>')
})

test('a confirmation has the token, its subject and a way back', () => {
  const question = {
    title: 'Reject it?',
    explanation: 'Nothing is sent.',
    button: 'Reject',
    action: '/r',
    cancel: '/back',
  }

  const text = String(confirmation({ ...question, formToken: 'secret', hidden: { digest: nasty }, danger: true }))

  expect(text).toContain('<input type="hidden" name="token" value="secret">')
  expect(text).toContain('name="digest" value="&quot;&gt;&lt;script&gt;')
  expect(text).toContain('<button class="main danger">Reject</button>')
  expect(text).toContain('<a class="button" href="/back">Go back</a>')
})

test('an action that a visitor may not do is not a link, and says who may', () => {
  const notAllowed = 'only an approver can do this'

  expect(String(actionLink({ href: '/a', name: 'Approve', notAllowed }))).toBe(
    '<span class="not-allowed"><b>Approve</b>: only an approver can do this</span>',
  )
})

test('unknown facts are left out, and zero is known', () => {
  const text = String(
    definitions([
      ['Rows', 0],
      ['Reason', null],
      ['Name', ''],
    ]),
  )

  expect(text).toContain('<dt>Rows</dt><dd>0</dd>')
  expect(text).not.toMatch(/Reason|Name/)
})

test('a difference is heard as one', () => {
  expect(String(difference('a', nasty))).toMatch(/<del>a<\/del>.*<span class="unseen">becomes<\/span> <ins>&quot;/)
})

test('parts that say nothing leave no comma behind', () => {
  expect(String(joined(['a', null, '', 'b', false]))).toBe('a, b')
})

test('a part of a page asks for itself only while there is something to wait for', () => {
  const live2 = String(live({ id: 'p', href: '/p', everySeconds: 2, content: '' }))
  expect(live2).toContain('hx-get="/p" hx-trigger="renew"')
  expect(live2).toContain('data-renew-seconds="2"')
  expect(String(live({ id: 'p', href: null, everySeconds: 2, content: '' }))).toBe('<div id="p" class="live"></div>')
})

test.each([
  ['2026-03-02T09:59:30.000Z', 'just now'],
  ['2026-03-02T10:00:30.000Z', 'now'],
  ['2026-03-02T09:48:00.000Z', '12 min ago'],
  ['2026-03-02T15:30:00.000Z', 'in 5 h'],
  ['2026-02-20T10:00:00.000Z', '10 days ago'],
])('%s is said as %s', (at, text) => {
  expect(String(formatRelativeTime(at, new Date('2026-03-02T10:00:00.000Z')))).toContain(`>${text}</time>`)
})

test.each([
  [340, '340 ms'],
  [4230, '4.2 s'],
  [725_000, '12 min 5 s'],
  [103_307_000, '28 h 41 min'],
  [300_000_000, '3 days'],
])('a duration of %d ms is shown in suitable units', (ms, expected) => {
  const text = duration(ms)

  expect(text).toBe(expected)
})
