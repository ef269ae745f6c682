import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An empty folder that is gone after the test. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
