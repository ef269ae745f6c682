import { expect, test } from 'vitest'
import { renderMarkdown } from '../../src/web/markdown.ts'

const addresses = {
  hrefOf: (link: string) => (link.endsWith('.md') ? `/docs/${link.slice(0, -3)}` : null),
  pictureOf: (file: string) => (file.startsWith('pictures/') ? `/docs/${file}` : null),
}

async function rendered(markdown: string): Promise<string> {
  return String((await renderMarkdown(markdown, addresses)).content).trim()
}

test.each([
  ['emphasis and code', 'a **b** *c* `d < e`', '<p>a <strong>b</strong> <em>c</em> <code>d &lt; e</code></p>'],
  ['signs', 'Q&A, 1 < 2, "x" &amp; \\*y\\*', '<p>Q&amp;A, 1 &lt; 2, &quot;x&quot; &amp;amp; *y*</p>'],
  ['a link to a page', '[alerts](alerts.md)', '<p><a href="/docs/alerts">alerts</a></p>'],
  ['a link to what is not served', '[source](../src/main.ts)', '<p>source</p>'],
  ['a heading', '## What is `held`?', '<h2 id="what-is-held">What is <code>held</code>?</h2>'],
  [
    'lines of code',
    '```yaml\na: 1\n  b: <2>\n```',
    '<div class="listing" tabindex="0"><pre><code>a: 1\n  b: &lt;2&gt;</code></pre></div>',
  ],
])('%s', async (_what, markdown, expected) => {
  expect(await rendered(markdown)).toBe(expected)
})

test('a table and a list keep what is in them', async () => {
  expect(await rendered('| A | B |\n|---|---|\n| `x` | **y** |')).toContain(
    '<tr><td><code>x</code></td><td><strong>y</strong></td></tr>',
  )
  expect(await rendered('1. one\n   - deep\n2. two')).toMatch(/<ol><li>one<ul><li>deep<\/li>\n<\/ul>\n<\/li>\n<li>two/)
})

test('a picture is shown by its address, with its dark form', async () => {
  const markdown =
    '<picture>\n  <source media="x" srcset="pictures/d.webp">\n  <img src="pictures/l.webp" alt="A plan">\n</picture>'

  expect(await rendered(markdown)).toBe(
    '<picture><source media="(prefers-color-scheme: dark)" srcset="/docs/pictures/d.webp"><img src="/docs/pictures/l.webp" alt="A plan"></picture>',
  )
})

test.each([
  '<script>alert(1)</script>',
  'x <img src=x onerror=alert(1)> y',
  '[x](javascript:alert(1))',
  '![x](https://evil.example/x.png)',
  '<picture><img src="https://evil.example/x" alt="&quot; onerror=1"></picture>',
  '<a href="https://evil.example">x</a>',
])('%s adds no markup of its own', async (markdown) => {
  expect(await rendered(markdown)).not.toMatch(/<(?:script|img|a|picture)|javascript:alert\(1\)"/)
})
