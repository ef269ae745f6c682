import type { TestProject } from 'vitest/node'
import { nextLine, startDetachedChild } from './helpers/servers/children.ts'
import { foreseeChromium } from './helpers/servers/chromium-program.ts'
import { foreseePgBouncer } from './helpers/servers/pgbouncer.ts'
import { foreseeServers } from './helpers/servers/servers.ts'
import { foreseeTool } from './helpers/servers/tools.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where tests ask for what a whole run shares; see `helpers/provided.ts`. */
    provider: string
  }
}

/**
 * Whatever a run's tests ask for is started once, and ended with the run. A process of its own sees to that, as an
 * interrupted or killed run does not come to its teardown.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [servers, ...others] = await Promise.all([
    foreseeServers(),
    foreseeChromium(),
    foreseePgBouncer(),
    foreseeTool('kubectl'),
    foreseeTool('promtool'),
    foreseeTool('systemd-analyze'),
  ])
  process.stderr.write(`what the tests ask for: ${[...servers, ...others].join('; ')}\n`)
  const provider = startDetachedChild(new URL('./helpers/servers/provider-process.ts', import.meta.url))
  project.provide('provider', await nextLine(provider))
  return async () => {
    await provider.finish()
  }
}
