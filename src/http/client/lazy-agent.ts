import type { Agent } from 'undici'

/** An agent that is created with the first request. */
export type LazyAgent = { readonly dispatcher: () => Promise<Agent>; destroy(): Promise<void> }

/** Creates the agent with the first request. Many commands send none, and loading undici takes a while. */
export function lazyAgent(options: Agent.Options): LazyAgent {
  let agent: Promise<Agent> | null = null
  return {
    dispatcher: () => {
      agent ??= import('undici').then((undici) => new undici.Agent(options))
      return agent
    },
    destroy: async () => await (await agent)?.destroy(),
  }
}
