import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Prints the bill of materials (CycloneDX) of what is installed to run Rollcall. npm makes it from a lock file without the development
// packages. Its own `--omit dev` would also leave out packages that Rollcall and a development package both need, such as zod.

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'rollcall-'))
try {
  const { devDependencies: _, ...own } = readJson('package.json')
  const lock = readJson('package-lock.json')
  const locked: [string, { dev?: boolean }][] = Object.entries(lock.packages)
  const packages = locked.filter(([, { dev }]) => !dev)
  const { devDependencies: __, ...top } = lock.packages['']
  writeJson('package.json', own)
  writeJson('package-lock.json', { ...lock, packages: { ...Object.fromEntries(packages), '': top } })
  const words = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only']
  const bom = JSON.parse(
    execFileSync('npm', words, {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 2 ** 25,
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  // npm names the top component after the folder.
  bom.metadata.component.name = own.name
  process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function readJson(file: string) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}

function writeJson(file: string, content: object): void {
  writeFileSync(join(folder, file), JSON.stringify(content))
}
