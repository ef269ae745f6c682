import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { AxeResults } from 'axe-core'
import type { Page } from 'puppeteer-core'
import { isFull } from './tier.ts'

const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** The colours and widths that pages are looked at in: some of them, or all in the full form of the tests. */
export const screens = [
  ['dark', 360],
  ['light', 1440],
  ...(isFull ? ([360, 768] as const).map((width) => ['light', width] as const) : []),
  ...(isFull ? ([768, 1440] as const).map((width) => ['dark', width] as const) : []),
] as const

/** What a reader of screens would stumble over on the page as it is shown now, as axe finds it. */
export async function violationsOn(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`))
}

/** By how many pixels the page is wider than the window, so that one has to move it to read it. */
export async function excessOf(page: Page): Promise<number> {
  return (await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')) as number
}
