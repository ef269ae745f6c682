import { parse } from 'csv-parse/sync'
import { describe, expect, test } from 'vitest'
import { leaversCsv } from '../../../src/daemon/reports/leavers-csv.ts'
import { leaversPage } from '../../../src/daemon/reports/leavers-page.ts'
import { violationsOn } from '../../helpers/axe.ts'
import { leaverDocument, reportDocument } from '../../helpers/leaver-documents.ts'
import { startChromium } from '../../helpers/servers/chromium.ts'

/** Values that an HR system holds, or that an attacker could put into one. */
const hostile = [
  '=HYPERLINK("http://evil.example","click")',
  '+1+1',
  '-2+3',
  '@SUM(A1)',
  '\t=1+1',
  '\r=1+1',
  '\n=1+1',
  ' =1+1',
  '＝1+1',
  '"><script>document.title = "taken over"</script>',
  "' onmouseover='alert(1)",
  '</style><img src=x onerror=alert(1)>',
  '<!--',
  'a\u0000b\u001b[31mc',
  'abc\u202Efdp.exe',
  'Ana, "the\r\nsecond"',
  '\ud800 half',
  'O’Brien-Müller 李',
]
const report = reportDocument(
  hostile.map((text, at) =>
    leaverDocument({ identityId: text, name: text, email: `${text}@acme.example`, findingText: at % 2 ? text : null }),
  ),
)

describe('the table', () => {
  test('holds no cell that a spreadsheet runs, and otherwise what HR states', () => {
    const rows: Record<string, string>[] = parse(leaversCsv(report), { columns: true })

    expect(rows).toHaveLength(hostile.length)
    const cells = rows.flatMap((row) => Object.values(row))
    expect(cells.filter((cell) => /^\s*[=+\-@＝＋－＠]/.test(cell))).toEqual([])
    expect(rows.map(({ identityId }) => identityId).slice(0, 4)).toEqual(hostile.slice(0, 4).map((text) => `'${text}`))
    expect(rows.at(-1)).toMatchObject({ identityId: 'O’Brien-Müller 李', ourSeconds: '300', late: 'false' })
    expect(rows[4]?.identityId).toBe('\\u0009=1+1')
  })

  test('names no one unless values were requested', () => {
    expect(leaversCsv(reportDocument([leaverDocument()])).split('\r\n')[0]).not.toMatch(/name|email/)
  })
})

describe('the page', () => {
  test('is plain text in a browser: it runs nothing, loads nothing and is accessible', async () => {
    await using chromium = await startChromium()
    const page = await chromium.browser.newPage()
    const requests: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))

    await page.setContent(leaversPage(report))
    const content = await page.evaluate(`({
      title: document.title,
      scripts: document.scripts.length,
      images: document.images.length,
      rows: document.querySelectorAll('.leavers tbody tr').length,
      styled: getComputedStyle(document.querySelector('.bar.good')).fill,
      handlers: [...document.querySelectorAll('*')].filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))).length,
    })`)
    const faults: string[] = []
    for (const value of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
      for (const fault of await violationsOn(page)) faults.push(`${value} ${fault}`)
    }

    expect(content).toEqual({
      title: 'Leavers 2026-10-01 to 2026-12-31',
      scripts: 0,
      images: 0,
      rows: hostile.length,
      styled: 'rgb(45, 125, 104)',
      handlers: 0,
    })
    expect(faults).toEqual([])
    expect(requests).toEqual([])
    expect(complaints).toEqual([])
  })

  test('shows invisible characters as their codes', () => {
    const text = leaversPage(report)

    expect(text).toContain('abc\\u202efdp.exe')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202a-\u202e]/)
  })

  test('says first how many departures wait for an approval, and is not green meanwhile', () => {
    const verdictOf = (held: number) => {
      const { connections, ...rest } = reportDocument([leaverDocument()])
      const page = leaversPage({ ...rest, connections: connections.map((each) => ({ ...each, held })) })
      return /<p class="(verdict \w+)">(.*?)<\/p>/.exec(page)?.slice(1)
    }

    expect(verdictOf(0)).toEqual(['verdict good', '<strong>1 leaver</strong>: none was late.'])
    expect(verdictOf(2)).toEqual([
      'verdict bad',
      '<strong>1 leaver</strong>: none was late; 2 more wait for an approval.',
    ])
  })

  test('counts in its chart every departure that stands, by how long it took', () => {
    const took = (ourSeconds: number | null, late = false) =>
      leaverDocument({ ourSeconds, late, acknowledgedAt: ourSeconds === null ? null : '2026-11-20T03:05:00.000Z' })
    const page = leaversPage(
      reportDocument([
        took(0),
        took(900),
        took(901),
        took(90_000, true),
        took(null, true),
        took(null),
        { ...took(5), endedAt: '2026-11-21T00:00:00.000Z' },
      ]),
    )

    const values = [...page.matchAll(/class="value"[^>]*>(\d+)</g)].map(([, value]) => Number(value))
    expect(values).toEqual([2, 1, 0, 0, 1, 0, 1, 1])
  })
})
