import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { findProgram, install, whyNotInstall } from './programs.ts'

const run = promisify(execFile)

/** Programs of others that judge what we ship, each with the package of Debian that holds it. */
const packageOf = { kubectl: 'kubernetes-client', promtool: 'prometheus', 'systemd-analyze': 'systemd' } as const
export type Tool = keyof typeof packageOf

/** Runs a tool, installed where that is possible and it is missing. Answers what it prints; throws what it finds wrong. */
export async function tool(name: Tool, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await run(await provideTool(name), [...args])
  return `${stdout}${stderr}`
}

/** Where the tests will take it from. */
export async function foreseeTool(name: Tool): Promise<string> {
  const program = await findProgram(name)
  if (program !== null) return `${name} at ${program}`
  const reason = await whyNotInstall()
  return reason === null ? `${name}, which apt will install (${packageOf[name]})` : `no ${name} (${reason})`
}

async function provideTool(name: Tool): Promise<string> {
  const program = await findProgram(name)
  if (program !== null) return program
  const reason = await install(packageOf[name])
  const installed = reason === null ? await findProgram(name) : null
  if (installed !== null) return installed
  throw new Error(
    `there is no ${name} in PATH, and ${reason ?? 'installing brought none'}; install one (apt-get install ${packageOf[name]})`,
  )
}
