import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// Node loads this before a program, and leaves in the file what the program has loaded when it ends.

const file = process.env.RECORDED_LOADS
const imports = new Map<string, { readonly specifier: string; readonly from: string }>()
const loads: object[] = []

if (file !== undefined && isMainThread) {
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      if (!imports.has(resolved.url)) imports.set(resolved.url, { specifier, from: context.parentURL ?? '' })
      return resolved
    },
    // What is only resolved, as an asset of the pages, is not loaded.
    load(url, context, next) {
      loads.push({ url, ...imports.get(url) })
      return next(url, context)
    },
  })
  process.on('exit', () => writeFileSync(file, JSON.stringify(loads)))
}
