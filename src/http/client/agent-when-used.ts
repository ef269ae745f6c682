import type { Agent } from 'undici'

/** An agent that is created with the first request. Many commands send none, and loading undici takes a while. */
export type AgentWhenUsed = { readonly dispatcher: () => Promise<Agent>; destroy(): Promise<void> }

export function agentWhenUsed(options: Agent.Options): AgentWhenUsed {
  let agent: Promise<Agent> | null = null
  return {
    dispatcher: () => {
      agent ??= import('undici').then((undici) => new undici.Agent(options))
      return agent
    },
    destroy: async () => await (await agent)?.destroy(),
  }
}
