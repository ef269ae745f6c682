/**
 * Makes a start shorter: a file that is imported by a relative path is taken to be where the path says, and of the kind that Node found for
 * another file of the same folder and extension. Node itself would ask the file system several times for each. Where Node followed a link,
 * it is asked for the next file as well.
 */
const { registerHooks } = process.getBuiltinModule('node:module')
const { readFileSync } = process.getBuiltinModule('node:fs')

const formats = new Map()
const found = new Map()

registerHooks({
  resolve(specifier, context, next) {
    const isRelative = specifier.startsWith('.') && context.parentURL?.startsWith('file:')
    // What `require` names may lack the end of its name.
    if (!isRelative || !context.conditions.includes('import')) return next(specifier, context)
    const url = new URL(specifier, context.parentURL).href
    const before = found.get(url)
    if (before !== undefined) return before
    const kind = url.slice(0, url.lastIndexOf('/') + 1) + url.slice(url.lastIndexOf('.'))
    const format = formats.get(kind)
    if (format !== undefined) return { url, format, shortCircuit: true }
    const answer = { ...next(specifier, context), shortCircuit: true }
    found.set(url, answer)
    if (answer.url === url) formats.set(kind, answer.format)
    return answer
  },
  load(url, context, next) {
    const { format } = context
    const isSource = url.startsWith('file:') && (format === 'module' || format === 'module-typescript')
    return isSource ? { format, source: read(url), shortCircuit: true } : next(url, context)
  },
})

function read(url) {
  try {
    return readFileSync(new URL(url), 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
    throw Object.assign(new Error(`Cannot find module ${url}`), { code: 'ERR_MODULE_NOT_FOUND' })
  }
}
