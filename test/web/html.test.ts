import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import { describe, expect, test } from 'vitest'
import { escapeText } from '../../src/text/escape.ts'
import { areaField, confirmation, hiddenInput, hiddenTextarea, optionList, textField } from '../../src/web/forms.ts'
import { html } from '../../src/web/html.ts'

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

function unescaped(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_whole, name: string) => entities[name] ?? '')
}

describe('a template of markup', () => {
  test.each(naughtyStrings.map((text) => [text]))('keeps %j text that can be seen, and in an attribute', (text) => {
    const inside = html`<p title="${text}">${text}</p>`.toString()

    const [, attribute = '', content = ''] = /^<p title="([^"<>']*)">([^"<>']*)<\/p>$/.exec(inside) ?? ['', 'broken']
    expect([unescaped(attribute), unescaped(content)]).toEqual([escapeText(text), escapeText(text)])
  })

  test('keeps markup made by a template, and lists of it', () => {
    const items = ['<a>', 'b'].map((name) => html`<li>${name}</li>`)

    const list = html`<ul>${items}</ul>`

    expect(list.toString()).toBe('<ul><li>&lt;a&gt;</li><li>b</li></ul>')
  })

  test('renders missing values as nothing, and zero as zero', () => {
    expect(html`${null}${undefined}${false}${0}${''}`.toString()).toBe('0')
  })

  test('refuses an attribute value without quotes', () => {
    expect(() => html`<input value=${'a onfocus=alert(1)'}>`).toThrow('needs quotes')
  })
})

const odd = 'Gone\u200e \u00adto\tsea\u202e</textarea>"&\'<b>\u009b'
const question = {
  ...{ title: 'Really?', explanation: '', button: 'Yes', action: '/yes', cancel: '/' },
  ...{ formToken: 't', hidden: { a: odd } },
}

test.each([
  ['a hidden field', hiddenInput('a', odd)],
  ['a hidden field of lines', hiddenTextarea('a', odd)],
  ['a field', textField({ name: 'a', label: '', value: odd })],
  ['an offered value', textField({ name: 'a', label: '', suggestions: [odd] })],
  ['a field of lines', areaField({ name: 'a', label: '', value: odd })],
  ['an option', html`${optionList([{ value: odd, name: '' }], '')}`],
  ['a question', confirmation(question)],
])('%s sends a text back as it is, and no markup of it', (_what, form) => {
  const text = form.toString()
  const read = text.replaceAll(/&#x([0-9a-f]+);/g, (_whole, code) => String.fromCodePoint(Number.parseInt(code, 16)))

  expect(unescaped(read)).toContain(odd)
  expect(text).not.toMatch(/<\/textarea>"|<b>|[\t\u200e\u00ad\u202e]/)
})

test('a field of lines keeps its lines, also a blank one above them', () => {
  expect(areaField({ name: 'a', label: '', value: '\na\r\n b' }).toString()).toContain('>\n\na\n b</textarea>')
})
