import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { call } from '../helpers/called.ts'
import { type CommandOutput, followPage } from '../helpers/first-connection.ts'
import { freePort } from '../helpers/servers/free-port.ts'
import { isFull } from '../helpers/tier.ts'
import { startHost } from '../helpers/world.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readyMs = 120_000

/** A folder of Rollcall as the page begins in, which is gone afterwards. */
async function checkout() {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  for (const part of ['bin', 'config']) await symlink(join(root, part), join(folder, part))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

/** Runs a line as the shell does. */
async function inShell(line: string, cwd: string): Promise<CommandOutput> {
  return await new Promise((resolve) => {
    execFile('bash', ['-c', line], { cwd, env: { ...process.env, NO_COLOR: '1' } }, (error, stdout, stderr) =>
      resolve({ exit: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
  })
}

/** Runs a command of Rollcall: as the shell does, or, which is cheaper, in a process that stays. */
async function command(line: string, cwd: string): Promise<CommandOutput> {
  if (isFull) return await inShell(line, cwd)
  const words = await new Promise<string>((resolve) => {
    execFile('bash', ['-c', `printf '%s\\0' ${line}`], (_error, printed) => resolve(printed))
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

test('the page on the first connection is correct, word for word except for the port', async () => {
  await using at = await checkout()
  await using open = new AsyncDisposableStack()

  const commands = await followPage({
    folder: at.folder,
    run: (line, folder) => (line.startsWith('../bin/rollcall') ? command : inShell)(line, folder),
    async platform(line, cwd) {
      return open.use(await platform(line, { cwd, port: await freePort() })).baseUrl
    },
  })

  expect(commands).toBe(13)
})
