import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How many bytes this process still uses after everything else was collected. */
export function usedMemory(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
