import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { licenseFiles, licenseOf, lockedPackages } from '../helpers/packages.ts'
import { thirdPartyPage } from '../helpers/pages/third-party.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

/** Programs of the linter and of DuckDB for other machines. They are development packages, and the registry that the lock was made with lacked them. */
const withoutIntegrity = [
  '@biomejs/cli-android-arm64',
  '@biomejs/cli-android-x64',
  '@biomejs/cli-darwin-arm64',
  '@biomejs/cli-darwin-x64',
  '@biomejs/cli-linux-arm64-musl',
  '@biomejs/cli-linux-x64-musl',
  '@biomejs/cli-win32-arm64',
  '@biomejs/cli-win32-x64',
  '@duckdb/node-bindings-darwin-arm64',
  '@duckdb/node-bindings-darwin-x64',
  '@duckdb/node-bindings-linux-arm64',
  '@duckdb/node-bindings-linux-arm64-musl',
  '@duckdb/node-bindings-win32-arm64',
  '@duckdb/node-bindings-win32-x64',
]

/** They build or fetch faster forms of what is there in JavaScript as well. */
const withInstallScripts = ['cpu-features', 'msgpackr-extract', 'protobufjs', 'ssh2']

/** Licences that ask for no more than their own words and the names of the authors. */
const permissive = [
  '0BSD',
  'Apache-2.0',
  // How htmx spells 0BSD, whose text it brings.
  'BSD-0-Clause',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
  '(MIT OR CC0-1.0)',
]

const Bom = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      purl: z.string(),
      hashes: z.array(z.object({ alg: z.string(), content: z.string() })).default([]),
    }),
  ),
})

test('every package that can be installed to run Rollcall has its integrity in the lock file', async () => {
  const packages = await lockedPackages()

  const unchecked = packages.filter(({ integrity, link }) => !link && !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))

  expect(unchecked.filter(({ dev }) => !dev).map(({ path }) => path)).toEqual([])
  expect(unchecked.map(({ name }) => name).sort()).toEqual(withoutIntegrity)
})

test('no package runs a script when it is installed', async () => {
  const packages = await lockedPackages()
  const settings = (await readFile(join(root, '.npmrc'), 'utf8')).split('\n')
  const image = await readFile(join(root, 'Dockerfile'), 'utf8')

  const scripted = new Set(packages.filter(({ hasInstallScript }) => hasInstallScript).map(({ name }) => name))

  expect([...scripted].sort()).toEqual(withInstallScripts)
  expect(settings).toContain('ignore-scripts=true')
  expect(image).toMatch(/npm ci --omit=dev --ignore-scripts /)
  // The package has no .npmrc, so the image needs the flag.
  expect(image.match(/npm (?:ci|install)/g)).toHaveLength(1)
})

test('every package that Rollcall runs with has a licence that may be used, and brings its words', async () => {
  const packages = (await lockedPackages()).filter(({ dev }) => !dev)

  const licenses = await Promise.all(packages.map(async (one) => [one.name, await licenseOf(one)] as const))
  const others = licenses.filter(([, license]) => !permissive.includes(license))

  expect(others).toEqual([['openpgp', 'LGPL-3.0+']])
  expect(await licenseFiles(packages.find(({ name }) => name === 'openpgp') ?? expect.fail())).toEqual(['LICENSE'])
})

test('the notices name every package that Rollcall runs with', async () => {
  await expect(await thirdPartyPage()).toMatchFileSnapshot('../../THIRD-PARTY-NOTICES.md')
})

test('the bill of materials names every package that Rollcall runs with, by the digest of the lock file', async () => {
  const packages = (await lockedPackages()).filter(({ dev }) => !dev)

  const { stdout } = await run(process.execPath, [join(root, 'test/packages/sbom.ts')], { maxBuffer: 2 ** 25 })

  const listed = Bom.parse(JSON.parse(stdout)).components.map(({ name, version, hashes }) => ({
    what: `${name}@${version}`,
    sha512: hashes.find(({ alg }) => alg === 'SHA-512')?.content,
  }))
  const desired = packages.map(({ name, version, integrity = '' }) => ({
    what: `${name}@${version}`,
    sha512: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex'),
  }))
  const distinct = (many: readonly object[]) => [...new Set(many.map((one) => JSON.stringify(one)))].sort()
  expect(distinct(listed)).toEqual(distinct(desired))
})

test('an older Node makes npm print no warnings, and what goes wrong is still said', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
  await copyFile(join(root, '.npmrc'), join(folder, '.npmrc'))
  // To a package that wants a Node to come, every Node is an older one.
  const desired = { name: 'old', version: '1.0.0', engines: { node: '>=999' } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(desired))
  const npm = (...words: string[]) => run('npm', [...words, '--dry-run', '--offline', '--no-audit'], { cwd: folder })

  const quiet = await npm('install')
  const loud = await npm('install', '--loglevel=warn')

  expect(loud.stderr).toContain('EBADENGINE')
  expect(quiet.stderr).toBe('')
  await expect(npm('ci')).rejects.toMatchObject({ stderr: expect.stringContaining('npm error code EUSAGE') })
})
