import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, launch, TimeoutError } from 'puppeteer-core'
import { chromiumProgram } from './provided.ts'

const quiet = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync', '--disable-component-update']

/**
 * The Chromium of this machine, without a window and with a profile of its own. Disposing ends it. One that hangs while it starts, as
 * it rarely does on a busy machine, is given up for a second one: it is the tool here and not what is tested. Outside of a test run
 * `program` says which.
 */
export async function startChromium(program?: string): Promise<AsyncDisposable & { readonly browser: Browser }> {
  const executablePath = program ?? (await chromiumProgram())
  try {
    return await startOnce(executablePath)
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error
    return await startOnce(executablePath)
  }
}

async function startOnce(executablePath: string): Promise<AsyncDisposable & { readonly browser: Browser }> {
  await using opening = new AsyncDisposableStack()
  const userDataDir = await mkdtemp(join(tmpdir(), 'rollcall-chromium-'))
  opening.defer(() => rm(userDataDir, { recursive: true, force: true, maxRetries: 5 }))
  // Its sandbox refuses to run as root.
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await launch({
    executablePath,
    userDataDir,
    args: [...quiet, ...sandbox, '--disable-background-networking', '--disable-dev-shm-usage'],
  })
  opening.defer(() => browser.close())
  const opened = opening.move()
  return { browser, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
