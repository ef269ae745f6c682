import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }
import { describe, expect, test } from 'vitest'
import { escapeText } from '../../src/text/escape.ts'
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
