import type { TestProject } from 'vitest/node'
import { startProvider } from './helpers/provider.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where tests ask for what a whole run shares; see `helpers/provided.ts`. */
    provider: string
  }
}

/** Whatever a run's tests ask for is started once, and ended here. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const provider = await startProvider()
  project.provide('provider', provider.address)
  return async () => {
    await provider[Symbol.asyncDispose]()
  }
}
