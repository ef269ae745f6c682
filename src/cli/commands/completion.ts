import type { Command } from 'commander'
import { findConfig } from '../../daemon/config/config-path.ts'
import { printable, standardOutput } from '../../text/print.ts'
import { visible } from '../../text/visible.ts'
import { type Candidate, candidatesFor, type Known } from '../completion/candidates.ts'
import { type Shell, scripts } from '../completion/scripts.ts'
import { moment, shortId } from '../render/text.ts'
import { askKnownDaemon } from '../session/known-daemon.ts'
import { configOf } from '../session/session.ts'

/** Prints what a shell reads to complete the words of this program. */
export async function completion(shell: Shell): Promise<number> {
  standardOutput.print(printable(scripts[shell]))
  return 0
}

/** Prints what may stand in the place of the last word, for such a script. What cannot be found out is left out: a shell shows no errors. */
export async function complete(program: Command, words: readonly string[]): Promise<number> {
  const { files, candidates } = await candidatesFor(program, words, known)
  const lines = files ? [':files'] : candidates.map(lineOf)
  standardOutput.print(lines.map((line) => `${line}\n`).join(''))
  return 0
}

function lineOf({ word, about }: Candidate): string {
  return about === '' ? word : `${word}\t${visible(about)}`
}

const known: Known = {
  async connections(config) {
    try {
      return [
        ...(await configOf({ ...(config !== undefined && { config }) }, { secrets: 'when needed' })).connections.keys(),
      ]
    } catch {
      return []
    }
  },

  /** From a daemon that runs: opening the store would take longer than a person waits for a key. */
  async runs(config) {
    try {
      const { file } = findConfig({ given: config, env: process.env, workingDirectory: process.cwd() })
      const told = await askKnownDaemon(file, '/runs?limit=20')
      return isListOfRuns(told) ? told.data.map(runCandidate) : []
    } catch {
      return []
    }
  },
}

type ListedRun = {
  readonly id: string
  readonly connection: string
  readonly state: string
  readonly createdAt: string
}

function isListOfRuns(told: unknown): told is { readonly data: readonly ListedRun[] } {
  return typeof told === 'object' && told !== null && 'data' in told && Array.isArray(told.data)
}

function runCandidate({ id, connection, state, createdAt }: ListedRun): Candidate {
  return { word: shortId(id), about: `${connection}, ${state}, ${moment(createdAt)}` }
}
