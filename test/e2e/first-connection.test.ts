import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { call } from '../helpers/called.ts'
import { freePort } from '../helpers/servers/free-port.ts'
import { isFull } from '../helpers/tier.ts'
import { startHost } from '../helpers/world.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = join(root, 'docs/first-connection.md')
const readyMs = 120_000

type Block = { readonly kind: 'sh' | 'text'; readonly lines: readonly string[]; readonly above: string }

/** The blocks of the page, each with the text above it. */
function blocksOf(text: string): Block[] {
  const found = [...text.matchAll(/([\s\S]*?)^```(sh|text)\n([\s\S]*?)^```$/gm)]
  return found.map(([, above = '', kind, lines = '']) => ({
    kind: kind as Block['kind'],
    lines: lines.trimEnd().split('\n'),
    above,
  }))
}

/** A folder of Rollcall as the page begins in, which is gone afterwards. */
async function checkout() {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  for (const part of ['bin', 'config']) await symlink(join(root, part), join(folder, part))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

type Ended = { readonly exit: number; readonly output: string }

/** Runs a line as the shell does. */
async function inShell(line: string, cwd: string): Promise<Ended> {
  return await new Promise((resolve) => {
    execFile('bash', ['-c', line], { cwd, env: { ...process.env, NO_COLOR: '1' } }, (error, stdout, stderr) =>
      resolve({ exit: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
  })
}

/** Runs a command of Rollcall: as the shell does, or, which is cheaper, in a process that stays. */
async function command(line: string, cwd: string): Promise<Ended> {
  if (isFull) return await inShell(line, cwd)
  const words = await new Promise<string>((resolve) => {
    execFile('bash', ['-c', `printf '%s\\0' ${line}`], (_error, stdout) => resolve(stdout))
  })
  const [, ...args] = words.split('\0').slice(0, -1)
  const { exit, stdout, stderr } = await call(args, { cwd })
  return { exit: exit ?? -1, output: stdout + stderr }
}

/** The platform of the page: as it says, or a cheaper one with a key where the page has it. */
async function platform(line: string, { cwd, port }: { cwd: string; port: number }) {
  if (!isFull) {
    const host = await startHost()
    await writeFile(join(cwd, 'platform.key'), `${(await host.tenant()).key}\n`)
    return { baseUrl: host.platform.baseUrl, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() }
  }
  const child = spawn('bash', ['-c', `exec ${line} --port ${port}`], { cwd, stdio: 'ignore' })
  const health = `http://127.0.0.1:${port}/healthz`
  const until = performance.now() + readyMs
  for (let isReady = false; !isReady; await pause(100)) {
    if (performance.now() > until) throw new Error('the platform did not become ready')
    const answers = await fetch(health).then(
      ({ ok }) => ok,
      () => false,
    )
    isReady =
      answers &&
      (await access(join(cwd, 'platform.key')).then(
        () => true,
        () => false,
      ))
  }
  return {
    baseUrl: `http://127.0.0.1:${port}/public/v2`,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

/** Dates the exports back, in their order, so that no command waits until they have been quiet for a while. */
async function letSettle(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  const anHourAgo = Date.now() / 1000 - 3600
  for (const [index, name] of names.sort().entries())
    await utimes(join(folder, name), anHourAgo + index * 60, anHourAgo + index * 60)
}

/** A line of the page as a pattern: … stands for whatever the machine and the day put there. */
function patternOf(line: string): RegExp {
  return new RegExp(line.split('…').map(RegExp.escape).join('.*'))
}

test('the page on the first connection is true, word for word but for the port', async () => {
  await using at = await checkout()
  await using open = new AsyncDisposableStack()
  const blocks = blocksOf(await readFile(page, 'utf8'))
  let cwd = at.folder
  let baseUrl = ''
  let output = ''
  let commands = 0

  for (const { kind, lines, above } of blocks) {
    if (kind === 'text') {
      for (const line of lines)
        expect(output.replaceAll(baseUrl, 'http://127.0.0.1:4010/public/v2')).toMatch(patternOf(line))
      continue
    }
    output = ''
    const expected = Number(/exit code (\d+)/.exec(above)?.[1] ?? 0)
    for (const [index, line] of lines.entries()) {
      commands += 1
      if (line.includes('platform serve')) {
        const started = open.use(await platform(line, { cwd, port: await freePort() }))
        baseUrl = started.baseUrl
        continue
      }
      const told = line.replace('http://127.0.0.1:4010/public/v2', baseUrl)
      const ended = await (line.startsWith('../bin/rollcall') ? command : inShell)(told, cwd)
      expect({ line, exit: ended.exit, output: ended.output }).toMatchObject({
        exit: index === lines.length - 1 ? expected : 0,
      })
      await letSettle(join(cwd, 'exports'))
      const [, entered] = /&& cd (\S+)$/.exec(line) ?? []
      if (entered !== undefined) cwd = join(cwd, entered)
      output += ended.output
    }
  }

  expect(commands).toBe(13)
})
