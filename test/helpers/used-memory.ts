import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How many bytes this process still uses after everything else was collected: its own objects, and what lies outside of them. */
export function usedMemory(): { readonly heapBytes: number; readonly externalBytes: number } {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return { heapBytes: heapUsed, externalBytes: external }
}
