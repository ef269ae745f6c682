import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { readSections, withSections } from '../../../src/daemon/settings/sections.ts'

const text = `# Kept.
platform:
  baseUrl: https://example.com # ours
connections:
  # The whole company.
  hr:
    target: { name: HR }   # on the platform
    source:
      type: csv
      path: exports/*.csv
      # The columns.
      fields:
        email: { column: Mail }
        # the hire date
        hireDate:
          column: Start
      status:
        column: Status
        left: [Gone]

      timeZone: UTC # of the dates

    # Every night.
    schedule:
      cron: '0 2 * * *'
    guards:
      leavers: { count: 5, share: 0.05 }

  other:
    target: { name: Other }
server: { port: 0 }
`

const edited = (typed: Parameters<typeof withSections>[2], from = text) => {
  const result = withSections(from, 'hr', typed)
  return 'text' in result ? result.text : result.problems
}

test('the parts of a connection hold its settings with their comments', () => {
  const parts = Object.fromEntries((readSections(text, 'hr') ?? []).map((part) => [part.name, part.text]))

  expect(parts).toEqual({
    target: 'target: { name: HR }   # on the platform',
    source: 'type: csv\npath: exports/*.csv\ntimeZone: UTC # of the dates',
    mapping: '# The columns.\nfields:\n  email: { column: Mail }\n  # the hire date\n  hireDate:\n    column: Start',
    leaving: 'status:\n  column: Status\n  left: [Gone]',
    guards: 'guards:\n  leavers: { count: 5, share: 0.05 }',
    schedule: "# Every night.\nschedule:\n  cron: '0 2 * * *'",
    other: '',
  })
})

test('parts that are saved as they were read leave the file as it is, also with Windows line ends', () => {
  for (const file of [text, text.replaceAll('\n', '\r\n'), text.trimEnd()]) {
    const parts = Object.fromEntries((readSections(file, 'hr') ?? []).map((part) => [part.name, part.text]))
    expect(edited(parts, file)).toBe(file)
  }
})

test.each<[string, Parameters<typeof withSections>[2], string, string]>([
  ['a changed setting', { schedule: "# Every night.\nschedule:\n  cron: '0 3 * * *'" }, "'0 2 * * *'", "'0 3 * * *'"],
  ['a removed setting', { leaving: '' }, '      status:\n        column: Status\n        left: [Gone]\n', ''],
  [
    'a setting behind those of its part',
    { guards: 'guards:\n  leavers: { count: 5, share: 0.05 }\npinned: [E1]' },
    'share: 0.05 }\n',
    'share: 0.05 }\n    pinned: [E1]\n',
  ],
  [
    'the first setting of a part',
    { other: 'leavers:\n  boundHours: 12' },
    'share: 0.05 }\n',
    'share: 0.05 }\n    leavers:\n      boundHours: 12\n',
  ],
])('%s changes its lines only', (_name, typed, before, after) => {
  const result = edited(typed)

  expect(result).toBe(text.replace(before, after))
  expect(parse(String(result)).connections.other).toEqual({ target: { name: 'Other' } })
})

test.each(['  # Nights.\n\n# Only.\n', '# Nights.\n    # Only.\n'])(
  'comments above the first setting of a part stay, however they are indented: %j',
  (above) => {
    const result = edited({ schedule: `${above}schedule:\n  cron: '0 2 * * *'` })

    expect(result).toBe(text.replace('    # Every night.\n', '    # Nights.\n    # Only.\n'))
  },
)

test('a line that is commented out at the margin does not cut a part short', () => {
  const margin = text.replace(
    '{ count: 5, share: 0.05 }\n',
    '{ count: 5, share: 0.05 }\n#      joiners: { count: 9 }\n      movers: { count: 7 }\n',
  )
  const guards = readSections(margin, 'hr')?.find(({ name }) => name === 'guards')?.text

  expect(guards).toContain('  movers: { count: 7 }')
  expect(edited({ guards: '' }, margin)).toBe(
    text.replace('    guards:\n      leavers: { count: 5, share: 0.05 }\n', ''),
  )
})

test('several parts change at once, and lines are added behind a last line without an end', () => {
  const short = 'connections:\n  hr:\n    target: { name: HR }'
  expect(edited({ target: 'target: { id: 7 }', guards: 'pinned: [E1]' }, short)).toBe(
    'connections:\n  hr:\n    target: { id: 7 }\n    pinned: [E1]\n',
  )
})

test.each([
  ['status: [', 'line 1: '],
  ['just words', 'write each setting on a line of its own'],
  ['{ status: null }', 'write each setting on a line of its own'],
  ['# status: null\n', 'comments alone cannot be a part'],
  ['status: null\ntype: csv', '"type" stands in another part of this form'],
])('refuses %j beside its part', (typed, message) => {
  expect(edited({ leaving: typed })).toEqual([{ section: 'leaving', message: expect.stringContaining(message) }])
})

test('a source between braces is edited as one setting, and a connection between braces is not edited', () => {
  const braces =
    'connections:\n  hr:\n    target: { name: HR }\n    source: { type: csv }\n  no: { target: { id: 1 } }\n'

  expect(readSections(braces, 'hr')?.map(({ name }) => name)).toEqual([
    'target',
    'source',
    'guards',
    'schedule',
    'other',
  ])
  expect(edited({ source: 'source: { type: folder }' }, braces)).toBe(braces.replace('csv', 'folder'))
  expect([readSections(braces, 'no'), readSections(braces, 'missing')]).toEqual([null, null])
})
