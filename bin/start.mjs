// Plain JavaScript that imports nothing of ours: a Node that is too old for the rest can still say so.
import { existsSync, mkdirSync, statSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'

const oldestMajor = 26

if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const isPackage = root.includes('/node_modules/')
  const remedy = isPackage ? 'install the package again without --omit=optional' : `run "npm ci" in ${root}`
  process.stderr.write(`✖ Rollcall needs Node 26 or newer: ${remedy}, or put such a Node on the PATH\n`)
  process.exitCode = 78
} else if (!existsSync(new URL('../src/main.ts', import.meta.url))) {
  process.stderr.write('✖ the program is missing here: make the package with "npm run pack" in a checkout\n')
  process.exitCode = 78
} else {
  const folder = compiledFolder()
  if (folder !== null) module.enableCompileCache(folder)
  try {
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
function compiledFolder() {
  const { XDG_CACHE_HOME, HOME } = process.env
  const home = XDG_CACHE_HOME || HOME
  try {
    if (!home || statSync(home).uid !== process.getuid()) return null
    const cache = XDG_CACHE_HOME || `${HOME}/.cache`
    const folder = `${cache}/rollcall/compiled`
    // One by one: below /proc, where a folder is there and none can be made, mkdir with `recursive` never ends.
    for (const path of [cache, `${cache}/rollcall`, folder]) makeFolder(path)
    return folder
  } catch {
    // Without the folder, the command starts as it always does, only later.
    return null
  }
}

function makeFolder(path) {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}
