// Plain JavaScript that imports nothing of ours: a Node that is too old for the rest can still say so.
import { fileURLToPath } from 'node:url'

const oldestMajor = 26

if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  process.stderr.write(`✖ Rollcall needs Node 26 or newer: run "npm ci" in ${root}, or put such a Node on the PATH\n`)
  process.exitCode = 78
} else {
  // Imported, some modules of Node load all that they can do. Here and in what a short command loads, they are asked for like this.
  const folder = compiledFolder(process.getBuiltinModule('node:fs'))
  if (folder !== null) process.getBuiltinModule('node:module').enableCompileCache(folder)
  try {
    if (!othersSeeLoading()) await import('./find-files.mjs')
    await import('../src/main.ts')
  } catch (error) {
    const { missingPackage } = await import('../src/cli/missing-package.ts')
    const missing = missingPackage(error)
    if (missing === null) throw error
    process.stderr.write(`✖ ${missing.message}\n`)
    process.exitCode = missing.exit
  }
}

// Code that another account could have written is not run, so the folder lies in a home that belongs to this account.
function compiledFolder({ mkdirSync, statSync }) {
  const { XDG_CACHE_HOME, HOME } = process.env
  const home = XDG_CACHE_HOME || HOME
  try {
    if (!home || statSync(home).uid !== process.getuid()) return null
    const cache = XDG_CACHE_HOME || `${HOME}/.cache`
    const folder = `${cache}/rollcall/compiled`
    // One by one: below /proc, where a folder is there and none can be made, mkdir with `recursive` never ends.
    for (const path of [cache, `${cache}/rollcall`, folder]) makeFolder(path, mkdirSync)
    return folder
  } catch {
    // Without the folder, the command starts as it always does, only later.
    return null
  }
}

function makeFolder(path, mkdirSync) {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}

/** Whether something that was loaded before, as an agent that traces, may want to see or change what is loaded. */
function othersSeeLoading() {
  return [process.env.NODE_OPTIONS ?? '', ...process.execArgv].some((options) =>
    /(^|\s)(-r|--require|--import|--(experimental-)?loader)\b/.test(options),
  )
}
