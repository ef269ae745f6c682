/**
 * Makes the pictures of docs/pictures from the real thing: a company of three months, its platform, its console in Chromium, and a
 * command on a terminal. `--all <folder>` takes every page of both sites in every size and theme into that folder instead.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Browser } from 'puppeteer-core'
import { startChromium } from '../helpers/servers/chromium.ts'
import { provideChromium } from '../helpers/servers/chromium-program.ts'
import { takeAll } from './screens.ts'
import { openStage, type Stage } from './stage.ts'
import { recordTerminal, terminalPicture, themes } from './terminal.ts'
import { openWindow, signInAtConsole } from './window.ts'

const home = fileURLToPath(new URL('../../docs/pictures/', import.meta.url))
const approving = 'rollcall approve @held --show-values'

const { all } = parseArgs({ options: { all: { type: 'string' } } }).values
await using stage = await openStage()
await using chromium = await startChromium(await provideChromium())
if (all !== undefined) await takeAll(chromium.browser, stage, all)
else await takeForDocs(chromium.browser, stage)

async function takeForDocs(browser: Browser, { configFile, console, held }: Stage): Promise<void> {
  await mkdir(home, { recursive: true })
  await using window = await openWindow(browser)
  await signInAtConsole(window.page, { console })
  const pages = [
    { name: 'overview', path: '/', height: 1030 },
    { name: 'held-plan', path: `/runs/${held.id}/decision`, height: 940 },
  ]
  for (const { name, path, height } of pages) {
    await window.page.goto(console.url + path)
    for (const theme of themes) {
      await window.show({ theme, width: 1000, height, sharpness: 2 })
      await window.page.screenshot({ path: `${home}${name}-${theme}.webp`, type: 'webp', quality: 70 })
    }
  }
  const [, ...words] = approving.split(' ')
  const printed = await recordTerminal([...words, '--by', 'Ana Okoro', '--config', configFile], 'n\n')
  const [question = ''] = printed.split(/(?<=\[y\/N\])/)
  for (const theme of themes) {
    const picture = terminalPicture(`$ ${approving}\n${question}`, { title: `${approving}: a held plan`, theme })
    await writeFile(`${home}approve-${theme}.svg`, picture)
  }
}
