import { findProgram, install, whyNotInstall } from './programs.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const debianPackage = 'chromium'

/** The Chromium of this machine, or null. */
export async function findChromium(): Promise<string | null> {
  return process.env.ROLLCALL_TEST_CHROMIUM || (await findProgram(...names))
}

/** The Chromium of this machine, installed where that is possible and it is missing. */
export async function provideChromium(): Promise<string> {
  const program = await findChromium()
  if (program !== null) return program
  const reason = await install(debianPackage)
  const installed = reason === null ? await findChromium() : null
  if (installed !== null) return installed
  throw new Error(
    `there is no Chromium on this machine: none of ${names.join(', ')} is in PATH, and ${reason ?? 'installing brought none'}; install one (apt-get install ${debianPackage}), or name it in ROLLCALL_TEST_CHROMIUM`,
  )
}

/** Where the tests will take it from. */
export async function foreseeChromium(): Promise<string> {
  const program = await findChromium()
  if (program !== null) return `Chromium at ${program}`
  const reason = await whyNotInstall()
  return reason === null ? `Chromium, which apt will install (${debianPackage})` : `no Chromium (${reason})`
}
