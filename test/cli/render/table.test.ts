import { Writable } from 'node:stream'
import tty from 'node:tty'
import { afterEach, expect, test, vi } from 'vitest'
import { alignColumns, displayWidth } from '../../../src/cli/render/table.ts'
import { levelMark, plain } from '../../../src/cli/render/text.ts'
import { paintFor } from '../../../src/text/print.ts'

const asItIs = (cell: string) => cell
const head = ['CONNECTION', 'KEY', 'STATE', 'MESSAGE']
const row = [
  'acme',
  '1222',
  'refused',
  'the platform has another person with the address of this one: ask them to be merged',
]

test('a table has its natural width if there is room, and in a file', () => {
  const lines = ['CONNECTION  KEY   STATE    MESSAGE', `acme        1222  refused  ${row[3]}`]

  expect(alignColumns([head, row], asItIs)).toEqual(lines)
  expect(alignColumns([head, row], asItIs, 200)).toEqual(lines)
})

test('the last cell is broken between words where the row leaves room for it', () => {
  expect(alignColumns([head, row], asItIs, 80)).toEqual([
    'CONNECTION  KEY   STATE    MESSAGE',
    'acme        1222  refused  the platform has another person with the address of',
    '                           this one: ask them to be merged',
  ])
})

test('where it does not, it stands below the row, and the widest columns are made narrower', () => {
  const wide = ['a-connection-with-a-long-name', '1222', 'refused', 'not today, thank you, says the platform']

  expect(alignColumns([wide], asItIs, 40)).toEqual([
    'a-connection-with-a-long-  1222  refused',
    'name',
    '  not today, thank you, says the',
    '  platform',
  ])
})

test.each([80, 60, 40, 20])('no line is wider than %i columns, and nothing is cut off', (room) => {
  const rows = [
    head,
    row,
    ['グローベックス', '山田太郎-0001', '👩‍👩‍👧 held', '日本語の長い説明文です。 もう一つの文。'],
  ]

  const lines = alignColumns(rows, asItIs, room)

  expect(lines.filter((line) => displayWidth(line) > Math.max(room, 28))).toEqual([])
  const letters = (texts: readonly string[]) => [...texts.join('').replaceAll(/\s/g, '')].sort().join('')
  expect(letters(lines)).toBe(letters(rows.flat()))
})

test('East Asian characters, pictures and accents take the columns that a terminal gives them', () => {
  const rows = [
    ['日本', '|'],
    ['👨‍👩‍👧', '|'],
    ['e\u0301', '|'],
    ['abcd', '|'],
  ]

  const columns = alignColumns(rows, asItIs).map((line) => displayWidth(line.slice(0, line.indexOf('|'))))

  expect(columns).toEqual([6, 6, 6, 6])
})

test('each level has its own sign, and a colour if colours are shown', () => {
  const levels = ['ok', 'warning', 'rejected', 'failed'] as const

  expect(levels.map((level) => levelMark(level, plain))).toEqual(['✔', '!', '⊘', '✖'])
})

afterEach(() => {
  vi.unstubAllEnvs()
})

test.each([
  ['a terminal', { isTTY: true }, { TERM: 'xterm' }, true],
  ['a file', { isTTY: false }, { TERM: 'xterm' }, false],
  ['a terminal with NO_COLOR', { isTTY: true }, { TERM: 'xterm', NO_COLOR: '1' }, false],
  ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
  ['a file with FORCE_COLOR', { isTTY: false }, { TERM: 'xterm', FORCE_COLOR: '1' }, true],
  ['a terminal with FORCE_COLOR=0', { isTTY: true }, { TERM: 'xterm', FORCE_COLOR: '0' }, false],
])('colours on %s', (_what, stream, env, isColoured) => {
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS', 'TERM', 'COLORTERM', 'CI'])
    vi.stubEnv(name, undefined)
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const getColorDepth = () => tty.WriteStream.prototype.getColorDepth(process.env)

  const painted = paintFor(Object.assign(new Writable(), stream, { getColorDepth }))('red', 'x')

  expect(painted.includes('\u001b')).toBe(isColoured)
})
