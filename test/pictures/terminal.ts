import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import stringWidth from 'fast-string-width'
import { command } from '../helpers/cli.ts'

const columns = 92
const fontSize = 13
const signWidth = 7.83
const lineHeight = 19
const padding = 18
const barHeight = 34

export const themes = ['light', 'dark'] as const
export type Theme = (typeof themes)[number]

const colours = {
  light: {
    ground: '#ffffff',
    frame: '#d8dfdc',
    text: '#17211f',
    dim: '#5c6a66',
    gray: '#5c6a66',
    red: '#a3271c',
    green: '#14633f',
    yellow: '#7a5500',
    magenta: '#8a2a7a',
    cyan: '#12617a',
  },
  dark: {
    ground: '#111716',
    frame: '#313d3a',
    text: '#e6edea',
    dim: '#98a8a3',
    gray: '#98a8a3',
    red: '#ff9d8f',
    green: '#86d9ae',
    yellow: '#f2d48a',
    magenta: '#e9a3dc',
    cyan: '#8fd6ea',
  },
} as const satisfies Record<Theme, Record<string, string>>

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are told by them.
const colourSequence = /\u001b\[([\d;]*)m/

/** The codes of a terminal for what our commands paint with. */
const codes: Readonly<Record<number, keyof (typeof colours)['light'] | 'bold'>> = {
  1: 'bold',
  2: 'dim',
  31: 'red',
  32: 'green',
  33: 'yellow',
  35: 'magenta',
  36: 'cyan',
  90: 'gray',
}

/** What a command prints on a terminal, colours included. `answer` is typed into it. */
export async function recordTerminal(args: readonly string[], answer: string): Promise<string> {
  const words = [command, ...args].map((word) => `'${word}'`).join(' ')
  const { NO_COLOR: _, FORCE_COLOR: __, ...env } = process.env
  const child = spawn(
    'script',
    ['--quiet', '--echo', 'never', '--command', `stty cols ${columns}; ${words}`, '/dev/null'],
    {
      env: { ...env, TERM: 'xterm-256color' },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  child.stdin.end(answer)
  return (await text(child.stdout)).replaceAll('\r\n', '\n')
}

/** A terminal with this text as a picture in which the text stays text. */
export function terminalPicture(printed: string, { title, theme }: { title: string; theme: Theme }): string {
  const { ground, frame, text: textColour } = colours[theme]
  const lines = printed.trimEnd().split('\n')
  const width = Math.ceil(columns * signWidth + 2 * padding)
  const height = barHeight + 2 * padding + lines.length * lineHeight
  const rows = lines.map((line, at) => {
    const y = barHeight + padding + (at + 0.75) * lineHeight
    return `<text y="${y.toFixed(1)}">${spans(line, theme)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>${escaped(title)}</title>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="9" fill="${ground}" stroke="${frame}"/>
<path d="M1 ${barHeight}H${width - 1}" stroke="${frame}"/>
<g fill="${frame}"><circle cx="20" cy="17" r="5"/><circle cx="38" cy="17" r="5"/><circle cx="56" cy="17" r="5"/></g>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="${fontSize}" fill="${textColour}">
${rows.join('\n')}
</g>
</svg>
`
}

/** A line in pieces of one colour, each set to the place that its column has, whatever font the reader's machine takes. */
function spans(line: string, theme: Theme): string {
  let style = new Set<string>()
  let column = 0
  const pieces: string[] = []
  // Every second piece is the parameters of a sequence.
  for (const [at, piece] of line.split(colourSequence).entries()) {
    if (at % 2 === 1) {
      style = styleAfter(style, piece)
      continue
    }
    // Blanks beside each other are one in a picture, so that what follows them is set anew.
    for (const part of stripVTControlCharacters(piece).split(/( {2,})/)) {
      if (part.trim() !== '') pieces.push(span(part, { column, style, theme }))
      column += stringWidth(part)
    }
  }
  return pieces.join('')
}

function span(
  shown: string,
  { column, style, theme }: { column: number; style: ReadonlySet<string>; theme: Theme },
): string {
  const inner = shown.trimStart()
  const x = padding + (column + shown.length - inner.length) * signWidth
  const content = inner.trimEnd()
  const known: Readonly<Record<string, string>> = colours[theme]
  const fill = [...style].map((name) => known[name]).findLast((colour) => colour !== undefined)
  const attributes = [
    `x="${x.toFixed(1)}"`,
    `textLength="${(stringWidth(content) * signWidth).toFixed(1)}"`,
    ...(fill ? [`fill="${fill}"`] : []),
    ...(style.has('bold') ? ['font-weight="700"'] : []),
  ]
  return `<tspan ${attributes.join(' ')}>${escaped(content)}</tspan>`
}

/** Each piece of ours begins with one code and ends with another, which takes back weights (22) or colours (39). */
function styleAfter(style: ReadonlySet<string>, parameters: string): Set<string> {
  const code = Number(parameters)
  const name = codes[code]
  if (name !== undefined) return new Set([...style, name])
  const isWeight = (one: string) => one === 'bold' || one === 'dim'
  return new Set([...style].filter((one) => isWeight(one) === (code === 39)))
}

function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
