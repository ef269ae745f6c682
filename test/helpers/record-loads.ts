import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// Node loads this before a program, and leaves in the file what the program has loaded when it ends.

const file = process.env.RECORDED_LOADS
const asked = new Map<string, { readonly specifier: string; readonly from: string }>()
const loads: object[] = []

if (file !== undefined && isMainThread) {
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      if (!asked.has(found.url)) asked.set(found.url, { specifier, from: context.parentURL ?? '' })
      return found
    },
    // What is only resolved, as an asset of the pages, is not loaded.
    load(url, context, next) {
      loads.push({ url, ...asked.get(url) })
      return next(url, context)
    },
  })
  process.on('exit', () => writeFileSync(file, JSON.stringify(loads)))
}
