import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { terminalPicture } from './terminal.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = ['README.md', 'docs/console.md']
const folder = 'docs/pictures'
const mostBytes = 150_000
/** How many dots of a photograph make one of the page. */
const sharpness = 2

type Shown = { readonly file: string; readonly width: number; readonly height: number; readonly alt: string }

describe('the pictures of the documentation', () => {
  test('are there in both themes, as large as the page says, and light', async () => {
    const shown = (await Promise.all(pages.map(picturesOn))).flat()

    const measured = await Promise.all(
      shown.map(async ({ file }) => ({
        file,
        ...(await sizeOf(file)),
        isLight: (await bytesOf(file)).length < mostBytes,
      })),
    )

    expect(shown.length).toBeGreaterThan(0)
    expect(measured).toEqual(shown.map(({ file, width, height }) => ({ file, width, height, isLight: true })))
    expect(shown.filter(({ alt }) => alt.length < 40)).toEqual([])
  })

  test('are all shown somewhere', async () => {
    const shown = (await Promise.all(pages.map(picturesOn))).flat().map(({ file }) => file)

    const kept = (await readdir(join(root, folder))).map((file) => join(folder, file))

    expect(kept.filter((file) => !shown.includes(file))).toEqual([])
  })
})

describe('a picture of a terminal', () => {
  const printed = '\u001b[1mhr\u001b[22m · held\n  \u001b[31m✖\u001b[39m leavers  6 of <107>\u001b[0J\n'

  test('holds the text as text, each piece in its colour and its column', () => {
    const picture = terminalPicture(printed, { title: 'A held plan', theme: 'light' })

    const texts = [...picture.matchAll(/<tspan [^>]*>([^<]*)<\/tspan>/g)].map(([, text]) => text)
    expect(texts).toEqual(['hr', '· held', '✖', 'leavers', '6 of &lt;107&gt;'])
    expect(picture).toMatch(/<tspan x="18.0" [^>]*font-weight="700">hr<\/tspan>/)
    expect(picture).toMatch(/<tspan x="33.7" [^>]*fill="#a3271c">✖<\/tspan>/)
    expect(picture).not.toContain('\u001b')
  })
})

/** The pictures that a page shows, in both themes. */
async function picturesOn(page: string): Promise<Shown[]> {
  const text = await readFile(join(root, page), 'utf8')
  return [...text.matchAll(/<picture>([\s\S]*?)<\/picture>/g)].flatMap(([, inside = '']) => {
    const of = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(inside)?.[1] ?? ''
    const size = { width: Number(of('width')), height: Number(of('height')), alt: of('alt') }
    return [of('srcset'), of('src')].map((file) => ({ file: join(dirname(page), file), ...size }))
  })
}

async function sizeOf(file: string): Promise<{ width: number; height: number }> {
  const bytes = await bytesOf(file)
  if (file.endsWith('.svg')) {
    const [, width, height] = /<svg [^>]*\bwidth="(\d+)" height="(\d+)"/.exec(bytes.toString('utf8')) ?? []
    return { width: Number(width), height: Number(height) }
  }
  const dots =
    bytes.toString('latin1', 12, 16) === 'VP8X'
      ? { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
      : { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  return { width: dots.width / sharpness, height: dots.height / sharpness }
}

function bytesOf(file: string): Promise<Buffer> {
  return readFile(join(root, file))
}
