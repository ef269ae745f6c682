// Plain JavaScript that imports nothing of ours: a Node that is too old for the rest can still say so.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { compiledFolder } from './compiled-folder.mjs'

const oldestMajor = 26
const root = fileURLToPath(new URL('..', import.meta.url))
const isPackage = root.includes('/node_modules/')

if (Number.parseInt(process.versions.node, 10) < oldestMajor) {
  const remedy = isPackage ? 'install the package again without --omit=optional' : `run "npm ci" in ${root}`
  process.stderr.write(`✖ Rollcall needs Node 26 or newer: ${remedy}, or put such a Node on the PATH\n`)
  process.exitCode = 78
} else if (!existsSync(new URL('../src/main.ts', import.meta.url))) {
  process.stderr.write('✖ the program is missing here: install the package again\n')
  process.exitCode = 78
} else {
  const folder = compiledFolder('compiled')
  if (folder !== null) module.enableCompileCache(folder)
  if (isPackage) await import('./strip-types.mjs')
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
