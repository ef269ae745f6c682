import { findProgram, install } from './programs.ts'

/** A shell of this machine, installed where that is possible and it is missing. */
export async function shellProgram(name: 'bash' | 'zsh' | 'fish'): Promise<string> {
  const program = await findProgram(name)
  if (program !== null) return program
  const reason = await install(name)
  const installed = reason === null ? await findProgram(name) : null
  if (installed !== null) return installed
  throw new Error(
    `there is no ${name} in PATH, and ${reason ?? 'installing brought none'}; install it (apt-get install ${name})`,
  )
}
