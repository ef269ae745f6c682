import { randomUUID } from 'node:crypto'
import type { Browser } from 'puppeteer-core'
import { expect, vi } from 'vitest'
import type { Role } from '../../src/contract/control/access.ts'
import { control, controlPrefix } from '../../src/contract/control/control.ts'
import type { Run } from '../../src/contract/control/shapes.ts'
import { NewToken } from '../../src/contract/control/tokens.ts'
import { customConnections } from '../../src/contract/platform/custom-connections.ts'
import { hrisUserIdentities, type Identity } from '../../src/contract/platform/hris-user-identities.ts'
import { platformPrefix } from '../../src/contract/platform/platform.ts'
import { Failure } from '../../src/errors.ts'
import type { Calls } from '../../src/http/client/calls.ts'
import { createClient } from '../../src/http/client/client.ts'
import { remoteCalls } from '../../src/http/client/remote-calls.ts'
import type { Project } from './compose.ts'
import { peopleOn } from './world.ts'

export const waiting = { timeout: 300_000, interval: 100 }

/** Runs a command in the daemon's container, as README does. */
export function rollcallIn(project: Project, ...words: string[]): Promise<string> {
  return project.inside('daemon', '/app/bin/rollcall', ...words)
}

/** Everybody whom the platform holds, as its own list says, by key. */
export async function peopleIn(project: Project): Promise<ReadonlyMap<string, Identity>> {
  const key = await project.inside('daemon', 'cat', '/run/rollcall/platform-key')
  const client = createClient(
    { ...customConnections, ...hrisUserIdentities },
    { baseUrl: `http://127.0.0.1:${project.platformPort}${platformPrefix}`, bearer: key.trim() },
  )
  return await peopleOn(client)
}

/** A token of its own, made inside of the container. */
export async function tokenIn(project: Project, role: Role, name: string = randomUUID()): Promise<string> {
  const printed = await rollcallIn(project, 'token', 'create', '--name', name, '--role', role, '--json')
  return NewToken.parse(JSON.parse(printed)).token
}

export type ComposedControl = Calls<typeof control>

/** The control API, as a program reaches it through the published port. What goes wrong is thrown. */
export async function controlOf(project: Project): Promise<ComposedControl> {
  const baseUrl = `${consoleOf(project)}${controlPrefix}`
  const options = { baseUrl, bearer: await tokenIn(project, 'operator') }
  return remoteCalls(
    control,
    options,
    (answer) => new Failure('conflict', `the daemon answers ${JSON.stringify(answer)}`),
  )
}

export function consoleOf({ daemonPort }: Project): string {
  return `http://127.0.0.1:${daemonPort}`
}

export async function untilReady(project: Project): Promise<void> {
  await vi.waitFor(async () => {
    const { status } = await fetch(`${consoleOf(project)}/readyz`)
    expect(status).toBe(200)
  }, waiting)
}

export async function untilState(client: ComposedControl, runId: string, state: Run['state']): Promise<void> {
  await vi.waitFor(async () => {
    expect(await client.getRun({ params: { runId } })).toMatchObject({ state })
  }, waiting)
}

/** The console in a window of its own, in which the owner of a token has signed in. */
export async function consoleWindow(browser: Browser, project: Project, token: string) {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.setDefaultTimeout(waiting.timeout)
  const leave = async (act: () => Promise<unknown>): Promise<void> => {
    await Promise.all([page.waitForNavigation(), act()])
  }
  const press = (name: string): Promise<void> => leave(() => page.locator(`::-p-aria(${name})`).click())
  await page.goto(consoleOf(project))
  await page.locator('::-p-aria(Token)').fill(token)
  await press('Sign in')
  return {
    page,
    leave,
    go: (path: string) => page.goto(consoleOf(project) + path),
    press,
    textOf: (selector: string): Promise<string> =>
      page
        .locator(selector)
        .map((element) => element.textContent.replaceAll(/\s+/g, ' ').trim())
        .wait(),
    [Symbol.asyncDispose]: () => context.close(),
  }
}
