// Plain JavaScript that imports nothing of ours, like start.mjs.
import { mkdirSync, statSync } from 'node:fs'

/**
 * A folder below ~/.cache/rollcall for code that Node has compiled; null if there is none to use. Code that another account could have
 * written is not run, so home and folder belong to this account, and no other one may write there.
 */
export function compiledFolder(name) {
  const { XDG_CACHE_HOME, HOME } = process.env
  const home = XDG_CACHE_HOME || HOME
  try {
    if (!home || !isOwn(home)) return null
    const cache = XDG_CACHE_HOME || `${HOME}/.cache`
    const folder = `${cache}/rollcall/${name}`
    // One by one: below /proc, where a folder is there and none can be made, mkdir with `recursive` never ends.
    for (const path of [cache, `${cache}/rollcall`, folder]) {
      makeFolder(path)
      if (!isOwn(path)) return null
    }
    return folder
  } catch {
    // Without the folder, the command starts as it always does, only later.
    return null
  }
}

function isOwn(path) {
  const { uid, mode } = statSync(path)
  return uid === process.getuid() && (mode & 0o022) === 0
}

function makeFolder(path) {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}
