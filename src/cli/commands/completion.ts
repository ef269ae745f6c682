import type { Command } from 'commander'
import type { Run } from '../../contract/control/shapes.ts'
import type { Config } from '../../daemon/config/config.ts'
import { escapeText } from '../../text/escape.ts'
import { printable, standardOutput } from '../../text/print.ts'
import { type Candidate, type CandidateSources, candidatesFor } from '../completion/candidates.ts'
import { type Shell, scripts } from '../completion/scripts.ts'
import { formatInstant, shortId } from '../render/text.ts'
import { findDaemon } from '../session/find-daemon.ts'
import { configOf } from '../session/session.ts'

const maxRuns = 20

/** Prints the completion script of a shell. */
export async function completion(shell: Shell): Promise<number> {
  standardOutput.print(printable(scripts[shell]))
  return 0
}

/** Prints the candidates for the last word, for a completion script. Candidates that cannot be read are left out: a shell shows no errors. */
export async function complete(program: Command, words: readonly string[]): Promise<number> {
  const { files, candidates } = await candidatesFor(program, words, candidateSources)
  const lines = files ? [':files'] : candidates.map(lineOf)
  standardOutput.print(lines.map((line) => `${line}\n`).join(''))
  return 0
}

function lineOf({ word, about }: Candidate): string {
  return about === '' ? word : `${word}\t${escapeText(about)}`
}

const candidateSources: CandidateSources = {
  async connections(config) {
    try {
      return [...(await configToComplete(config)).connections.keys()]
    } catch {
      return []
    }
  },

  async recipes() {
    const { readRecipes } = await import('../../daemon/config/presets.ts')
    return [...(await readRecipes())].map(([word, { title }]) => ({ word, about: title }))
  },

  /** Only from a running daemon: opening the store would take longer than a person waits after a key press. */
  async runs(config) {
    try {
      const daemon = await findDaemon(await configToComplete(config))
      if (daemon === null) return []
      const { controlOverSocket } = await import('../session/control-client.ts')
      const { data } = await controlOverSocket(daemon).listRuns({ query: { limit: maxRuns } })
      return data.map(runCandidate)
    } catch {
      return []
    }
  },
}

function configToComplete(config: string | undefined): Promise<Config> {
  return configOf({ ...(config !== undefined && { config }) }, { secrets: 'when needed' })
}

function runCandidate({ id, connection, state, createdAt }: Run): Candidate {
  return { word: shortId(id), about: `${connection}, ${state}, ${formatInstant(createdAt)}` }
}
