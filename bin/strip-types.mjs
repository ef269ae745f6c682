// Lets Node run the TypeScript of a package that is installed: below node_modules Node refuses to strip types itself. Imported before any
// file of src/, in the main thread by start.mjs and in others by `--import`.
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { fileURLToPath } from 'node:url'
import { compiledFolder } from './compiled-folder.mjs'

const sources = new URL('../src/', import.meta.url).href
const folder = compiledFolder('stripped')
/** The length of a digest at the start of a stored file. */
const digestLength = 40

silenceExperimentalWarning()
module.registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(sources) || !url.endsWith('.ts')) return nextLoad(url, context)
    return { format: 'module', source: strippedOf(readFileSync(fileURLToPath(url), 'utf8')), shortCircuit: true }
  },
})

/** The JavaScript of a source, with blanks in place of its types: every line and column stays where it is. */
function strippedOf(source) {
  if (folder === null) return module.stripTypeScriptTypes(source)
  const file = `${folder}/${digest(`${process.version}\n${source}`)}`
  const stored = readStored(file)
  if (stored !== null) return stored
  const code = module.stripTypeScriptTypes(source)
  store(file, digest(code) + code)
  return code
}

/** Does nothing on a full disk, or without the right to write: the next start strips the types again. */
function store(file, text) {
  const unfinished = `${file}.${process.pid}`
  try {
    writeFileSync(unfinished, text, { mode: 0o600 })
    renameSync(unfinished, file)
  } catch {
    remove(unfinished)
  }
}

function remove(file) {
  try {
    unlinkSync(file)
  } catch {
    // It was not made.
  }
}

/** Null for a file that is missing, or damaged when the machine lost its power. */
function readStored(file) {
  try {
    const text = readFileSync(file, 'utf8')
    const code = text.slice(digestLength)
    return text.startsWith(digest(code)) ? code : null
  } catch {
    return null
  }
}

function digest(text) {
  return createHash('sha1').update(text).digest('hex')
}

/** Stripping types is experimental in Node's words; the tests run the result. */
function silenceExperimentalWarning() {
  const emit = process.emitWarning
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).startsWith('stripTypeScriptTypes')) emit.call(process, warning, ...rest)
  }
}
