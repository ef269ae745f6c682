import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { temporaryFolder } from './sources/folders.ts'

/** What a command has loaded: our own files below `src/`, and the packages that these ask for, as they name them. */
export type Loads = { readonly files: readonly string[]; readonly libraries: readonly string[] }

const root = new URL('../../', import.meta.url).href
const start = fileURLToPath(new URL('../../bin/start.mjs', import.meta.url))
const recorder = new URL('record-loads.ts', import.meta.url).href
const Recorded = z.array(z.object({ url: z.string(), specifier: z.string(), from: z.string() }))

/** Runs a command, or another script, to its end, whatever its exit code is. */
export async function loadsOf(args: readonly string[], script = start): Promise<Loads> {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'loads.json')
  const started = [process.execPath, '--import', recorder, script, ...args] as const
  await promisify(execFile)(started[0], started.slice(1), { env: { ...process.env, RECORDED_LOADS: file } }).catch(
    () => null,
  )
  return await read(file)
}

/** Starts a service and stops it once it has said that it is there. */
export async function loadsOfService(args: readonly string[], there: string): Promise<Loads> {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'loads.json')
  const env = { ...process.env, RECORDED_LOADS: file }
  const child = spawn(process.execPath, ['--import', recorder, start, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  child.stdout.resume()
  for await (const chunk of child.stderr) if (String(chunk).includes(there)) child.kill('SIGTERM')
  await ended
  return await read(file)
}

async function read(file: string): Promise<Loads> {
  const loads = Recorded.parse(JSON.parse(await readFile(file, 'utf8')))
  const ours = loads.filter(({ url }) => url.startsWith(`${root}src/`))
  const imports = loads.filter(({ from, url }) => from.startsWith(`${root}src/`) && url.includes('/node_modules/'))
  return {
    files: ours.map(({ url }) => url.slice(root.length)),
    libraries: [...new Set(imports.map(({ specifier }) => specifier))].sort(),
  }
}
